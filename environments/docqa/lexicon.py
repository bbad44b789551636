"""Names and words for the document worlds. Splits draw from disjoint pools of entities."""

from collections.abc import Sequence
from itertools import product

from environments.base import SPLITS

_FIRST = (
    "Ana Ben Cora Dan Eva Finn Gita Hugo Iris Jon Kira Leo Mona Ned Olga Paul Quin Rosa Sven "
    "Tara Uma Vik Wes Yara Zane Arlo Bela Cleo Dario Enid Fay Gus"
).split()
_LAST = (
    "Moss Hale Kerr Lund Bose Rhee Diaz Ford Nash Pike Quon Reed Shaw Tran Voss West York Zorn "
    "Abbe Cole Dunn Egan Frost Gale Hart Ivers Jung Knox"
).split()
_PLACE = (
    "harbour canal river summit meadow station garden bridge market valley forest castle island"
).split()
_WORK = (
    "billing search login export ingest mailer cache router archive payroll survey catering "
    "transport training safety press"
).split()
_DEVICE = "pump valve fan heater sensor lift boiler motor mixer press scanner gate".split()
_THING = (
    "ladder lantern projector tent banner kettle drill camera printer speaker trolley generator"
    " toolbox cooler map whistle helmet rope"
).split()
_BIRD = (
    "Heron Falcon Plover Wren Osprey Curlew Lapwing Merlin Dunlin Siskin Linnet Avocet Gannet "
    "Petrel Kestrel Swift Teal Godwit"
).split()

CITIES = (
    "Oslo Lima Cairo Quito Perth Osaka Turin Delhi Accra Malmo Porto Kyoto Leeds Bern Riga Tunis"
).split()
WEEKDAYS = "Monday Tuesday Wednesday Thursday Friday".split()
STATES = "idle running stopped blocked cleaned sealed".split()
FIXES = (
    "the login page|the export button|the date picker|the search index|the upload limit|the "
    "dark theme|the print layout|the invite mail|the audit trail|the map view|the tag "
    "filter|the time zone list"
).split("|")
SETTINGS = "timeout retries workers buffer depth window quota backlog interval threshold".split()
FILLER = (
    "The team reviewed the schedule and noted no change.|Weather was mild and transport ran on "
    "time.|Minutes of the session were filed as usual.|No action is needed for this entry.|The "
    "committee will return to this point later.|Routine check completed without remarks.|The "
    "next review is planned for the coming quarter.|Visitors signed in at the front desk.|A "
    "short break followed.|The agenda was approved without discussion."
).split("|")


def share(pool: Sequence[str], split: str) -> list[str]:
    """Return the part of `pool` that belongs to a split; parts are disjoint and cover the pool."""
    return [word for i, word in enumerate(pool) if i % len(SPLITS) == SPLITS.index(split)]


def _pairs(left: Sequence[str], right: Sequence[str]) -> list[str]:
    # Rotating the second word by the first spreads both words over the splits' shares.
    n = len(right)
    return [f"{a} {right[(j + i) % n]}" for j, (i, a) in product(range(n), enumerate(left))]


PEOPLE = _pairs(_FIRST, _LAST)
FIRST_NAMES = tuple(_FIRST)
DEPARTMENTS = _pairs(_PLACE, _WORK)
DEVICES = tuple(_DEVICE)
THINGS = tuple(_THING)
DEPOTS = tuple(_BIRD)
