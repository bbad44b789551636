"""Tables on disk: one Delta table each, replaced part by part, read as plain Parquet files."""

import math
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
from deltalake import DeltaTable, WriterProperties, write_deltalake

WRITER = WriterProperties(compression="ZSTD", max_row_group_size=65_536)
KEEP = timedelta(hours=24)


class TableStore:
    """Delta tables under one folder.

    A replaced part leaves its old files in place, so a reader that holds them finishes;
    `vacuum` removes them later, except those of versions that something was trained on.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._open: dict[str, DeltaTable] = {}

    def create(self, name: str, schema: pa.Schema) -> None:
        """Create an empty table; one that exists stays as it is."""
        DeltaTable.create(self._uri(name), schema, mode="ignore")

    def exists(self, name: str) -> bool:
        """Say whether the table has been created."""
        return name in self._open or DeltaTable.is_deltatable(self._uri(name))

    def append(self, name: str, rows: pa.Table) -> int:
        """Append rows; return the new version."""
        write_deltalake(self._uri(name), rows, mode="append", writer_properties=WRITER)
        return self.version(name)

    def replace_partition(
        self,
        name: str,
        rows: pa.Table | pa.RecordBatchReader,
        *,
        where: Mapping[str, str | int] | None,
    ) -> int:
        """Replace the rows whose columns equal `where` (None: all rows); return the new version.

        Writing the same rows again gives the same table.
        """
        predicate = " and ".join(f"{k} = {_literal(v)}" for k, v in (where or {}).items())
        write_deltalake(
            self._uri(name),
            rows,
            mode="overwrite",
            predicate=predicate or None,
            schema_mode=None if predicate else "overwrite",
            writer_properties=WRITER,
        )
        return self.version(name)

    def files(self, name: str, version: int | None = None) -> list[str]:
        """Return the Parquet files of a version (default: newest); none if there is no table."""
        if not self.exists(name):
            return []
        table = self._newest(name)
        if version is not None:
            table = DeltaTable(self._uri(name), version=version)
        return local_files(table)

    def schema(self, name: str) -> pa.Schema:
        """Return the table's Arrow schema."""
        return pa.schema(self._newest(name).schema().to_arrow())

    def version(self, name: str) -> int:
        """Return the newest version number."""
        return int(self._newest(name).version())

    def compact(self, name: str) -> None:
        """Merge small files."""
        self._newest(name).optimize.compact(writer_properties=WRITER)

    def vacuum(self, name: str, *, keep: timedelta = KEEP, versions: Sequence[int] = ()) -> int:
        """Delete files that no version younger than `keep`, and none of `versions`, refers to."""
        gone = self._newest(name).vacuum(
            retention_hours=math.ceil(keep / timedelta(hours=1)),
            dry_run=False,
            enforce_retention_duration=False,
            keep_versions=list(versions) or None,
        )
        return len(gone)

    def _newest(self, name: str) -> DeltaTable:
        """Return the table at its newest version; an open handle only reads what is new."""
        if name in self._open:
            self._open[name].update_incremental()
        else:
            self._open[name] = DeltaTable(self._uri(name))
        return self._open[name]

    def _uri(self, name: str) -> str:
        return str(self.root / name)


def local_files(table: DeltaTable) -> list[str]:
    """Return the paths of a table's Parquet files; Delta itself names them by escaped URIs."""
    return [unquote(str(uri).removeprefix("file://")) for uri in table.file_uris()]


def _literal(value: str | int) -> str:
    return str(value) if isinstance(value, int) else "'" + value.replace("'", "''") + "'"
