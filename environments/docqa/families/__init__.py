"""Task families by name, and the splits they live in."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from environments.docqa.families import (
    counting,
    elsewhere,
    faithfulness,
    hops,
    instructions,
    lookup,
    tables,
    tracking,
)
from environments.docqa.world import Family

Home = Literal["both", "held-out", "out-of-domain"]


@dataclass(frozen=True, slots=True)
class Entry:
    """A family, its group, and where it lives.

    `both` is development and held-out (other seeds, other entities); a `held-out` family is held
    out whole; nothing else touches an `out-of-domain` one.
    """

    group: str
    home: Home
    make: Family


FAMILIES: Mapping[str, Entry] = {
    "directory": Entry("look-up", "both", lookup.directory),
    "ledger": Entry("look-up", "both", lookup.ledger),
    "ticket": Entry("look-up", "both", lookup.ticket),
    "dialogue": Entry("look-up", "both", lookup.dialogue),
    "correction": Entry("tracking", "both", tracking.correction),
    "inventory": Entry("table reasoning", "both", tables.inventory),
    "extreme": Entry("table reasoning", "both", tables.extreme),
    "two_hop": Entry("multi-hop", "both", hops.two_hop),
    "count": Entry("aggregation", "both", counting.count),
    "formatted": Entry("instruction following", "both", instructions.formatted),
    "unstated": Entry("faithfulness", "both", faithfulness.unstated),
    "status_log": Entry("tracking", "held-out", tracking.status_log),
    "cross_file": Entry("multi-hop", "held-out", hops.cross_file),
    "changelog": Entry("release notes", "out-of-domain", elsewhere.changelog),
    "settings_file": Entry("configuration", "out-of-domain", elsewhere.settings_file),
    "glossary": Entry("definitions", "out-of-domain", elsewhere.glossary),
}


def families_of(split: str) -> list[str]:
    """Return the names of the families that a split draws from."""
    homes = {
        "development": {"both"},
        "held-out": {"both", "held-out"},
        "out-of-domain": {"out-of-domain"},
    }
    return [name for name, entry in FAMILIES.items() if entry.home in homes[split]]
