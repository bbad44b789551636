"""Stream `source/<sha256>`: what was read from one imported file, and what was not."""

from typing import Literal

from warehouse.events.base import Fact


class IssueNoted(Fact):
    """A repair, a guess, a drop or an unknown found in a file; `location` is a line or a path."""

    kind: Literal["issue_noted"] = "issue_noted"
    severity: Literal["info", "warning", "error"]
    code: str
    location: str
    message: str


class RecordQuarantined(Fact):
    """A record that could not be read. Its bytes stay addressable by offset and length."""

    kind: Literal["record_quarantined"] = "record_quarantined"
    line: int
    byte_offset: int
    byte_length: int
    record_hash: str
    reason: str


class SourceLoaded(Fact):
    """A file was read to its end. The books balance: records = loaded + quarantined + skipped."""

    kind: Literal["source_loaded"] = "source_loaded"
    sha256: str
    path: str
    format: str
    producer: str | None
    size_bytes: int
    complete: bool
    n_records: int
    n_loaded: int
    n_quarantined: int
    n_skipped: int
    n_trajectories: int
    n_events: int
