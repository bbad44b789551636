"""Read trajectory files of other tools into events, with books that balance per file."""

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pipelines.formats import READERS
from pipelines.formats.lines import JsonLine, json_lines
from pipelines.formats.reader import Reader, Record
from warehouse.events import Event, Stream
from warehouse.events.base import Fact
from warehouse.events.source import IssueNoted, RecordQuarantined, SourceLoaded
from warehouse.events.trajectory import Location
from warehouse.ids import bare, bytes_id, content_id

PRODUCER = "instar 0.1"


@dataclass(frozen=True, slots=True)
class Loaded:
    """One file read to its end: its events by stream, and what became of it."""

    path: Path
    source: Sequence[Event]
    trajectories: Sequence[Sequence[Event]]
    book: SourceLoaded
    issues: Sequence[IssueNoted]

    @property
    def failed(self) -> bool:
        """Whether something of the file did not load."""
        return self.book.n_quarantined > 0 or self.book.format == "unknown"


def files_of(path: Path) -> list[Path]:
    """Return the files that a path means: itself, or all files below a directory, sorted."""
    if path.is_dir():
        return sorted(p for p in path.rglob("*") if p.is_file())
    return [path]


def load(path: Path, *, suite: str | None = None, split: str | None = None) -> Loaded:
    """Read one file. What cannot be read is quarantined and told; nothing is raised for content.

    A trajectory's id is its record's content (with a count, for equal records of one file), so the
    same record in a grown or moved file is the same trajectory.

    Raises:
        OSError: the file cannot be opened.
    """
    with path.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    lines = list(json_lines(path))
    reader = _reader(lines)
    issues: list[IssueNoted] = []
    quarantined: list[Fact] = []
    trajectories: list[list[Event]] = []
    seen: Counter[str] = Counter()
    n_skipped = 0
    for line in lines:
        where = f"{path}:{line.number}"
        if reader is None:
            n_skipped += 1
            continue
        record = _record(reader, line, where)
        if isinstance(record, str):
            issues.append(_issue("error", "broken_record", where, record))
            quarantined.append(_quarantined(line, record))
            continue
        issues += record.issues
        if line.repaired:
            message = "lone surrogate halves became U+FFFD"
            issues.append(_issue("warning", "lone_surrogate", where, message))
        record_hash = bytes_id(line.raw)
        opened = record.opened.model_copy(
            update={
                "suite": suite,
                "split": split,
                "location": _location(path, sha256, line, record_hash),
            }
        )
        name = bare(content_id(["import", record_hash, seen[record_hash]]))
        seen[record_hash] += 1
        stream = Stream(f"trajectory/{name}", _no_clock, purpose="import")
        trajectories.append(list(stream.all([opened, *record.facts])))
    if lines and lines[0].number == 1 and lines[0].offset > 0:
        message = "the byte order mark at the beginning of the file was skipped"
        issues.append(_issue("info", "byte_order_mark", str(path), message))
    if reader is None:
        known = ", ".join(READERS)
        message = f"no record is of a known format ({known}); nothing was loaded"
        if not lines:
            message = "the file is empty; nothing was loaded"
        issues.append(_issue("error", "unknown_format", str(path), message))
    book = SourceLoaded(
        sha256=sha256,
        path=str(path),
        format=reader.name if reader else "unknown",
        producer=PRODUCER,
        size_bytes=path.stat().st_size,
        complete=not quarantined and reader is not None,
        n_records=len(lines),
        n_loaded=len(trajectories),
        n_quarantined=len(quarantined),
        n_skipped=n_skipped,
        n_trajectories=len(trajectories),
        n_events=sum(len(events) for events in trajectories),
    )
    source = Stream(f"source/{sha256}/{bare(content_id(str(path)))}", _no_clock)
    return Loaded(path, list(source.all([*quarantined, *issues, book])), trajectories, book, issues)


def _reader(lines: Sequence[JsonLine]) -> Reader | None:
    """Return the reader of the first record that any reader recognizes."""
    return next(
        (
            reader
            for line in lines
            if line.error is None
            for reader in READERS.values()
            if reader.recognizes(line.value)
        ),
        None,
    )


def _record(reader: Reader, line: JsonLine, where: str) -> Record | str:
    """Return the record that a line holds, or the reason why there is none."""
    if line.error:
        return line.error
    try:
        recognized = reader.recognizes(line.value)
        return reader.read(line.value, where) if recognized else f"no {reader.name} record"
    except RecursionError:
        return "JSON nested too deeply"


def _location(path: Path, sha256: str, line: JsonLine, record_hash: str) -> Location:
    return Location(
        path=str(path),
        sha256=sha256,
        line=line.number,
        byte_offset=line.offset,
        byte_length=len(line.raw),
        record_hash=record_hash,
    )


def _quarantined(line: JsonLine, reason: str) -> RecordQuarantined:
    return RecordQuarantined(
        line=line.number,
        byte_offset=line.offset,
        byte_length=len(line.raw),
        record_hash=bytes_id(line.raw),
        reason=reason,
    )


def _issue(severity: str, code: str, location: str, message: str) -> IssueNoted:
    return IssueNoted.model_validate(
        {"severity": severity, "code": code, "location": location, "message": message}
    )


def _no_clock() -> None:
    """Chat rows do not say when they happened."""


def unreadable(path: Path, error: OSError) -> Iterator[Event]:
    """Yield the one fact about a file that cannot be opened."""
    message = f"cannot be read: {error.strerror or error}"
    source = Stream(f"source/unreadable/{bare(content_id([str(path), message]))}", _no_clock)
    yield source.add(_issue("error", "unreadable_file", str(path), message))
