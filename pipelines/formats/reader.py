"""What a reader of a foreign format offers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from warehouse.events.base import Fact
from warehouse.events.source import IssueNoted
from warehouse.events.trajectory import TrajectoryOpened


@dataclass(frozen=True, slots=True)
class Record:
    """One trajectory read from one record: how it opens, what follows, what was noticed."""

    opened: TrajectoryOpened
    facts: Sequence[Fact]
    issues: Sequence[IssueNoted]


@dataclass(frozen=True, slots=True)
class Reader:
    """A format: its name, how to know its records, how to read one.

    `read(record, location)` gets the location as text for its issues, and never raises on a record
    that `recognizes` accepted.
    """

    name: str
    recognizes: Callable[[Any], bool]
    read: Callable[[dict[str, Any], str], Record]
