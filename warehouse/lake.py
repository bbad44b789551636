"""The lake: the log, the tables and the views over them, under one root."""

import os
import re
import shutil
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
from filelock import FileLock

from warehouse import engine
from warehouse.clock import Clock, system_clock
from warehouse.errors import BadInput
from warehouse.events import Event
from warehouse.ids import content_id
from warehouse.log import SCHEMA, DeltaEventLog
from warehouse.project import Projection, projections
from warehouse.store import TableStore
from warehouse.tables import STAGE_TABLES, Table

VIEWS = "instar.duckdb"
_UNADDRESSABLE = re.compile(r"[\[\]^|?\\\x00-\x1f\x7f]|%[0-9A-Fa-f]{2}")
_READING = {
    duckdb.StatementType.SELECT,  # also from, values, describe, summarize and show
    duckdb.StatementType.EXPLAIN,
    duckdb.StatementType.MULTI,  # pivot
}
_DUCK_TYPES = {
    "string": "varchar",
    "large_string": "varchar",
    "string_view": "varchar",
    "int32": "integer",
    "int64": "bigint",
    "double": "double",
    "bool": "boolean",
    "timestamp[us, tz=UTC]": "timestamptz",
}


class Lake:
    """Everything Instar keeps, under one folder.

    `events/` is the log, `tables/` the derived tables, `adapters/` and `models/` hold weights, and
    `instar.duckdb` is a file of views that any DuckDB client opens, also while this process writes.
    """

    def __init__(self, root: Path | str, clock: Clock = system_clock) -> None:
        if "://" in str(root):
            raise BadInput(
                f"lake {str(root)!r}: only local folders are supported in this release;"
                " give a path, or set INSTAR_LAKE to one"
            )
        self.root = Path(root).absolute()
        if _UNADDRESSABLE.search(str(self.root)):
            raise BadInput(
                f"lake {str(self.root)!r}: its tables cannot be addressed by a path with [ ] ^ | ?"
                " \\, an escape like %20 or a control character; give another path, or set"
                " INSTAR_LAKE"
            )
        self.clock = clock
        try:
            self.root.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BadInput(
                f"lake {str(self.root)!r}: this folder cannot be made ({error.strerror}); give a"
                " folder, or a path where one can be made, or set INSTAR_LAKE to one"
            ) from error
        self.log = DeltaEventLog(self.root / "events", clock)
        self.store = TableStore(self.root / "tables")
        self._projecting = FileLock(self.root / ".tables.lock")
        self._published: dict[str, str] = {}

    def append(self, events: Iterable[Event]) -> int:
        """Append facts; return how many were new."""
        return self.log.append(events)

    def refresh(
        self, names: Sequence[str] | None = None, *, publish: bool = True
    ) -> dict[str, int]:
        """Project the SQL tables (default: all) from the log; return rows per table.

        A table whose query and inputs are those of its last projection is left alone. `publish`
        brings the file of views up to date as well.
        """
        wanted = set(projections() if names is None else names)
        for projection in reversed(list(projections().values())):
            if projection.name in wanted:
                wanted |= set(projection.deps) & projections().keys()
        counts: dict[str, int] = {}
        with self._projecting:
            version = self.log.version()  # before the files are listed: never claims too much
            with self.connect(tables=()) as connection:
                for projection in projections().values():
                    if projection.name in wanted:
                        counts[projection.name] = self._project(connection, projection, version)
        if publish:
            self.publish()
        return counts

    def write(
        self, name: str, frame: pl.DataFrame, where: Mapping[str, str | int] | None = None
    ) -> int:
        """Replace a stage's table, or the rows of it that equal `where`; return the new version.

        Raises:
            BrokenContract: the frame is not what the table promises.
        """
        table = STAGE_TABLES[name]
        rows = table.validate(frame).to_arrow()
        self.store.create(name, _schema(table))
        version = self.store.replace_partition(name, rows.cast(_schema(table)), where=where)
        self.publish()
        return version

    def update(self, name: str, change: Callable[[pl.DataFrame], pl.DataFrame]) -> int:
        """Replace a stage's table by what `change` makes of it; no other update comes between."""
        with self._projecting:
            return self.write(name, change(self.read(name)))

    def read(
        self, name: str, where: str | None = None, given: Sequence[object] = ()
    ) -> pl.DataFrame:
        """Return a table (or the rows of it that the SQL condition `where` keeps) as a frame."""
        condition = f" where {where}" if where else ""
        return self.query(f'select * from "{name}"{condition}', given)

    def query(self, query: str, given: Sequence[object] = ()) -> pl.DataFrame:
        """Run one read-only query over the lake's tables.

        Raises:
            BadInput: it is empty, or would do something other than read.
        """
        named = set(re.findall(r"\w+", query.lower()))
        # A query that names no table may ask which there are: it sees all of them.
        with self.connect(named & self.tables().keys() or None) as connection:
            kinds = {statement.type for statement in connection.extract_statements(query)}
            if not kinds or kinds - _READING:
                raise BadInput(
                    f"query {query!r:.60}: the lake is only read here; ask with select, from,"
                    " pivot, describe, summarize, show or explain"
                )
            frame: pl.DataFrame = connection.sql(query, params=list(given)).pl()
        return frame

    def counts(self) -> dict[str, int]:
        """Return how many rows every table has."""
        each = (f"select '{name}', count(*) from \"{name}\"" for name in self.tables())
        return dict(self.query(" union all ".join(each)).iter_rows())

    @contextmanager
    def connect(self, tables: Iterable[str] | None = None) -> Iterator[duckdb.DuckDBPyConnection]:
        """Yield an in-memory DuckDB connection that sees `events` and (by default) every table."""
        with engine.connection() as connection:
            for view in self._views(tables).values():
                connection.execute(f"create or replace temp view {view}")
            yield connection

    def publish(self) -> Path:
        """Bring the file of views up to date, beside the old one, and swap it in."""
        target = self.root / VIEWS
        views = self._views(None)
        known = self._published if target.exists() else {}
        changed = {n: v for n, v in views.items() if known.get(n) != v}
        if not changed:
            return target
        fresh = self.root / f".{VIEWS}.{os.getpid()}.{uuid.uuid4().hex[:8]}"
        if known:
            shutil.copyfile(target, fresh)
        with duckdb.connect(str(fresh)) as connection:
            for view in changed.values():
                connection.execute(f"create or replace view {view}")
        fresh.replace(target)
        self._published = views
        return target

    def tables(self) -> Mapping[str, str]:
        """Return every table's description by name."""
        projected = {p.name: p.description for p in projections().values()}
        staged = {t.name: t.description for t in STAGE_TABLES.values()}
        return {"events": "Every fact, append-only.", **projected, **staged}

    def _views(self, tables: Iterable[str] | None) -> dict[str, str]:
        """Return the definition of a view (`"name" as …`) by table, each after what it reads."""
        wanted = set(self.tables() if tables is None else tables)
        views: dict[str, str] = {}
        for name in reversed(list(self.tables())):  # dependants first, to collect what they read
            if name not in wanted or name == "events":
                continue
            files = self.store.files(name)
            if files:
                views[name] = _view(name, files, None)
            elif name in STAGE_TABLES:
                views[name] = _view(name, [], _schema(STAGE_TABLES[name]))
            elif self.store.exists(name):
                views[name] = _view(name, [], self.store.schema(name))
            else:  # never projected: the query itself
                views[name] = f'"{name}" as {projections()[name].query}'
                wanted |= set(projections()[name].deps)
        views["events"] = _view("events", self.log.files(), SCHEMA)
        return dict(reversed(views.items()))

    def _project(
        self, connection: duckdb.DuckDBPyConnection, projection: Projection, version: int
    ) -> int:
        name = projection.name
        mark = f"{version}:{_code_id(name)}"
        stamp = self.store.root / name / ".projected"
        if stamp.exists() and stamp.read_text(encoding="utf-8") == mark:
            view = _view(name, self.store.files(name), self.store.schema(name))
            connection.execute(f"create or replace temp view {view}")
        else:
            connection.execute(f'create temp table "{name}" as {projection.query}')
            rows = connection.table(name).to_arrow_reader(50_000)
            self.store.replace_partition(name, rows, where=None)
            stamp.write_text(mark, encoding="utf-8")
        counted = connection.execute(f'select count(*) from "{name}"').fetchone()
        return int(counted[0]) if counted else 0


def _view(name: str, files: Sequence[str], schema: pa.Schema | None) -> str:
    if files:
        listed = ", ".join("'" + file.replace("'", "''") + "'" for file in files)
        options = "union_by_name = true, hive_partitioning = false"  # the path holds no columns
        rows = f"select * from read_parquet([{listed}], {options})"
        return f'"{name}" as {rows}'
    # read_parquet([]) raises: an empty table is a typed select of no rows.
    columns = ", ".join(f'null::{_duck(field.type)} as "{field.name}"' for field in schema or [])
    return f'"{name}" as select {columns} where false'


def _code_id(name: str) -> str:
    """Return the content id of a table's query and of every query that it rests on."""
    projection = projections()[name]
    below = [_code_id(dep) for dep in projection.deps if dep in projections()]
    return content_id([projection.code_id, *below])


def _schema(table: Table) -> pa.Schema:
    return table.empty().to_arrow().schema


def _duck(kind: pa.DataType) -> str:
    """Return DuckDB's name for an Arrow type."""
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _duck(kind.value_type) + "[]"
    return _DUCK_TYPES[str(kind)]
