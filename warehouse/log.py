"""The append-only event log: facts in, once; rows out, in order."""

import os
import uuid
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
from filelock import FileLock

from warehouse import engine
from warehouse.clock import Clock, system_clock
from warehouse.errors import StreamConflict
from warehouse.events import Event, read_fact
from warehouse.store import WRITER, local_files

SCHEMA = pa.schema(
    [
        pa.field("event_id", pa.string(), nullable=False),
        pa.field("stream_id", pa.string(), nullable=False),
        pa.field("position", pa.int64(), nullable=False),
        pa.field("kind", pa.string(), nullable=False),
        pa.field("version", pa.int32(), nullable=False),
        pa.field("recorded_at", pa.timestamp("us", "UTC"), nullable=False),
        pa.field("occurred_at", pa.timestamp("us", "UTC")),
        pa.field("trajectory_id", pa.string()),
        pa.field("line_id", pa.string()),
        pa.field("round", pa.int32()),
        pa.field("purpose", pa.string()),
        pa.field("payload", pa.large_string(), nullable=False),
    ]
)
COMPACT_ABOVE_FILES = 48


class EventLog(Protocol):
    """Append facts once; read them back in order."""

    def append(self, events: Iterable[Event]) -> int:
        """Append `events`; return how many were new. Re-appending is a no-op.

        Raises:
            StreamConflict: another fact holds a (stream_id, position), or a stream would get a gap.
        """
        ...

    def read(self, stream_id: str | None = None) -> Iterator[Event]:
        """Yield events ordered by (stream_id, position), of one stream or of all."""
        ...

    def head(self, stream_id: str) -> int:
        """Return the next free position of a stream, 0 for one that does not exist."""
        ...

    def begun(self, stream_ids: Iterable[str]) -> set[str]:
        """Return those of the streams that hold a fact."""
        ...


def _fresh(events: Sequence[Event], held: dict[tuple[str, int], str]) -> list[Event]:
    """Return the events that `held` lacks, checked against it and against gaps."""
    fresh: dict[tuple[str, int], Event] = {}
    for event in sorted(events, key=lambda e: (e.stream_id, e.position)):
        key = (event.stream_id, event.position)
        known = held.get(key) or (fresh[key].event_id if key in fresh else None)
        if known == event.event_id:
            continue
        if known is not None:
            raise StreamConflict(
                f"stream {key[0]!r} already holds another {event.fact.kind!r} fact at position"
                f" {key[1]}; read the stream again and append after its end"
            )
        before = (event.stream_id, event.position - 1)
        if event.position != 0 and before not in held and before not in fresh:
            raise StreamConflict(
                f"stream {key[0]!r} would get a gap: position {key[1]} without {before[1]}"
            )
        fresh[key] = event
    return list(fresh.values())


class MemoryEventLog:
    """An `EventLog` for tests and notebooks."""

    def __init__(self) -> None:
        self._facts: dict[tuple[str, int], Event] = {}

    def append(self, events: Iterable[Event]) -> int:
        """See `EventLog.append`."""
        fresh = _fresh(list(events), {key: e.event_id for key, e in self._facts.items()})
        self._facts |= {(e.stream_id, e.position): e for e in fresh}
        return len(fresh)

    def read(self, stream_id: str | None = None) -> Iterator[Event]:
        """See `EventLog.read`."""
        keys = sorted(k for k in self._facts if stream_id in {None, k[0]})
        return iter([self._facts[key] for key in keys])

    def head(self, stream_id: str) -> int:
        """See `EventLog.head`."""
        return sum(1 for stream, _ in self._facts if stream == stream_id)

    def begun(self, stream_ids: Iterable[str]) -> set[str]:
        """See `EventLog.begun`."""
        return set(stream_ids) & {stream for stream, _ in self._facts}


class DeltaEventLog:
    """An `EventLog` in one Delta table: append-only, one commit per batch.

    A commit carries (writer, batch number), so a writer that lost the answer to its commit can ask
    whether it landed. A file lock orders the look-before-append of writers on one machine.
    """

    def __init__(self, root: Path, clock: Clock = system_clock) -> None:
        self.root = root
        self.clock = clock
        self._writer = f"{os.uname().nodename}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
        self._batch = 0
        self._lock = FileLock(root.parent / f".{root.name}.lock")
        root.parent.mkdir(parents=True, exist_ok=True)
        if not DeltaTable.is_deltatable(str(root)):
            with self._lock:
                DeltaTable.create(
                    str(root),
                    SCHEMA,
                    mode="ignore",
                    description="Every fact, append-only.",
                    configuration={"delta.appendOnly": "true"},
                )
        self._table = DeltaTable(str(root))

    def files(self) -> list[str]:
        """Return the Parquet files of the newest version."""
        return local_files(self._newest())

    def version(self) -> int:
        """Return the newest version of the table."""
        return int(self._newest().version())

    def append(self, events: Iterable[Event]) -> int:
        """See `EventLog.append`."""
        batch = list(events)
        if not batch:
            return 0
        with self._lock:
            fresh = _fresh(batch, self._held({event.stream_id for event in batch}))
            if fresh:
                self._commit(self._rows(fresh))
        return len(fresh)

    def read(self, stream_id: str | None = None) -> Iterator[Event]:
        """See `EventLog.read`."""
        where, given = ("where stream_id = ?", [stream_id]) if stream_id is not None else ("", [])
        query = (
            "select stream_id, position, kind, version, occurred_at, trajectory_id, line_id,"
            f' round, purpose, payload from events {where} order by stream_id, "position"'
        )
        for batch in self._query(query, given):
            yield from map(_event, batch.to_pylist())

    def head(self, stream_id: str) -> int:
        """See `EventLog.head`."""
        rows = self._query("select count(*) as n from events where stream_id = ?", [stream_id])
        return int(next(iter(rows)).to_pylist()[0]["n"])

    def begun(self, stream_ids: Iterable[str]) -> set[str]:
        """See `EventLog.begun`."""
        query = (
            "select stream_id from events"
            ' where "position" = 0 and stream_id in (select unnest(?::varchar[]))'
        )
        batches = self._query(query, [sorted(set(stream_ids))])
        return {row["stream_id"] for batch in batches for row in batch.to_pylist()}

    def compact(self) -> None:
        """Merge small files. Readers of the older files are not disturbed."""
        with self._lock:
            self._newest().optimize.compact(writer_properties=WRITER)

    def _newest(self) -> DeltaTable:
        self._table.update_incremental()
        return self._table

    def _held(self, streams: set[str]) -> dict[tuple[str, int], str]:
        query = (
            "select stream_id, position, event_id from events"
            " where stream_id in (select unnest(?::varchar[]))"
        )
        batches = self._query(query, [sorted(streams)])
        rows = (row for batch in batches for row in batch.to_pylist())
        return {(row["stream_id"], row["position"]): row["event_id"] for row in rows}

    def _query(self, query: str, given: Sequence[object]) -> Iterator[pa.RecordBatch]:
        files = self.files()
        with engine.connection() as connection:
            if files:
                rows = connection.read_parquet(files, hive_partitioning=False)
                connection.register("events", rows)
            else:
                connection.register("events", SCHEMA.empty_table())
            yield from connection.sql(query, params=given).to_arrow_reader(10_000)

    def _rows(self, events: Sequence[Event]) -> pa.Table:
        now = self.clock()
        rows = [
            {
                "event_id": e.event_id,
                "stream_id": e.stream_id,
                "position": e.position,
                "kind": e.fact.kind,
                "version": e.fact.version,
                "recorded_at": now,
                "occurred_at": e.occurred_at,
                "trajectory_id": e.trajectory_id,
                "line_id": e.line_id,
                "round": e.round,
                "purpose": e.purpose,
                "payload": e.payload,
            }
            for e in events
        ]
        return pa.Table.from_pylist(rows, schema=SCHEMA)

    def _commit(self, rows: pa.Table) -> None:
        self._batch += 1
        mark = Transaction(self._writer, self._batch)
        try:
            write_deltalake(
                str(self.root),
                rows,
                mode="append",
                writer_properties=WRITER,
                commit_properties=CommitProperties(app_transactions=[mark], max_commit_retries=50),
            )
        except Exception:
            # The answer may be lost though the commit is not: ask before failing.
            landed = self._newest().transaction_version(self._writer)
            if landed is None or landed < self._batch:
                raise
        if len(self.files()) > COMPACT_ABOVE_FILES:
            self._newest().optimize.compact(writer_properties=WRITER)


def _event(row: dict[str, Any]) -> Event:
    fact = read_fact(row.pop("kind"), row.pop("version"), row.pop("payload"))
    return Event(fact=fact, **row)
