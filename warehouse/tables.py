"""Table contracts: name, grain, columns, and the one producer of each table.

Tables that a file in `sql/tables/` produces state their contract there (first line, `-- grain:`,
casts). Tables that a Python stage produces state it here.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl
from polars.datatypes import DataTypeClass

from warehouse.errors import BrokenContract

Columns = Mapping[str, "pl.DataType | type[pl.DataType]"]


@dataclass(frozen=True, slots=True)
class Table:
    """What a table promises its readers."""

    name: str
    description: str
    grain: tuple[str, ...]
    columns: Columns
    producer: str

    def empty(self) -> pl.DataFrame:
        """Return a frame with the right columns and no row."""
        return pl.DataFrame(schema=dict(self.columns))

    def validate(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return `frame` in the contract's column order and types.

        Raises:
            BrokenContract: a column is missing, unknown or of another type, or the grain repeats.
        """
        missing = [c for c in self.columns if c not in frame.columns]
        unknown = [c for c in frame.columns if c not in self.columns]
        if missing or unknown:
            raise BrokenContract(
                f"table {self.name!r} from {self.producer}: missing columns {missing},"
                f" unknown columns {unknown}"
            )
        wrong = [
            f"{c} is {frame[c].dtype}, not {t}"
            for c, t in self.columns.items()
            if not _fits(frame[c].dtype, t)
        ]
        if wrong:
            raise BrokenContract(f"table {self.name!r} from {self.producer}: {', '.join(wrong)}")
        try:
            typed = frame.select(pl.col(c).cast(t) for c, t in self.columns.items())
        except pl.exceptions.PolarsError as broken:
            raise BrokenContract(f"table {self.name!r} from {self.producer}: {broken}") from broken
        if typed.select(self.grain).is_duplicated().any():
            raise BrokenContract(
                f"table {self.name!r} from {self.producer}: {self.grain} repeats; each row of the"
                " table must have its own"
            )
        return typed


def _fits(given: pl.DataType | DataTypeClass, promised: pl.DataType | DataTypeClass) -> bool:
    """Say whether a cast keeps the values: the same type, nulls, integers, or a number as float."""
    if isinstance(given, pl.List) and isinstance(promised, pl.List):
        return _fits(given.inner, promised.inner)
    if promised.is_float():
        return given.is_numeric() or given == pl.Null
    return given in (promised, pl.Null) or (given.is_integer() and promised.is_integer())


_S, _I, _F, _B = pl.String, pl.Int64, pl.Float64, pl.Boolean

_TABLES = (
    Table(
        "failure_labels",
        "One row per judged trajectory: healthy, or the first failure signal that fires (F1-F4).",
        ("trajectory_id",),
        {
            "trajectory_id": _S,
            "label": _S,
            "signal": _S,
            "evidence": _S,
            "taxonomy_version": _S,
            "labeller": _S,
        },
        "pipelines.label",
    ),
    Table(
        "failure_groups",
        "One row per failure pattern and round: how many trajectories and tasks share it.",
        ("group_id", "line_id", "round"),
        {
            "group_id": _S,
            "line_id": _S,
            "round": _I,
            "harness_id": _S,
            "pattern": _S,
            "label": _S,
            "signal": _S,
            "n_trajectories": _I,
            "n_tasks": _I,
            "recurring": _B,
            "examples": pl.List(_S),
            "suspected_surface": _S,
            "failed_checks": pl.List(_S),
        },
        "pipelines.group",
    ),
    Table(
        "samples",
        "One row per trajectory kept for internalization: full score under the evolved harness.",
        ("trajectory_id",),
        {
            "trajectory_id": _S,
            "line_id": _S,
            "task_id": _S,
            "family": _S,
            "harness_id": _S,
            "score": _F,
            "n_turns": _I,
            "rank": _I,
        },
        "pipelines.sample",
    ),
    Table(
        "sft_examples",
        "One row per training example that passed the quality gate, in TRL's messages + tools.",
        ("trajectory_id",),
        {
            "trajectory_id": _S,
            "line_id": _S,
            "sample_id": _S,
            "task_id": _S,
            "family": _S,
            "harness_id": _S,
            "candidate_id": _S,
            "messages": _S,
            "tools": _S,
            "n_tokens": _I,
            "n_trained_tokens": _I,
        },
        "pipelines.assemble",
    ),
    Table(
        "sft_quarantine",
        "One row per trajectory refused by the quality gate, with every reason.",
        ("trajectory_id",),
        {
            "trajectory_id": _S,
            "line_id": _S,
            "sample_id": _S,
            "task_id": _S,
            "reason": _S,
            "failed_expectations": pl.List(_S),
        },
        "pipelines.assemble",
    ),
)
STAGE_TABLES: Mapping[str, Table] = {table.name: table for table in _TABLES}
"""Every table that a Python stage produces, by name."""
