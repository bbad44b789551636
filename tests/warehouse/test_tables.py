"""Contracts of the tables that Python stages produce."""

import polars as pl
import pytest

from warehouse.errors import BrokenContract
from warehouse.tables import STAGE_TABLES, Table

TABLE = Table(
    "things",
    "One row per thing.",
    ("name", "round"),
    {
        "name": pl.String,
        "round": pl.Int64,
        "mean": pl.Float64,
        "kept": pl.Boolean,
        "tags": pl.List(pl.String),
    },
    "pipelines.imagine",
)
GOOD = pl.DataFrame(
    {
        "name": ["a", "b"],
        "round": [1, 1],
        "mean": [0.5, None],
        "kept": [True, False],
        "tags": [["x"], []],
    }
)


def broken(frame: pl.DataFrame) -> str:
    with pytest.raises(BrokenContract) as caught:
        TABLE.validate(frame)
    message = str(caught.value)
    assert message.startswith("table 'things' from pipelines.imagine: ")
    return message


def test_a_good_frame_comes_back_in_the_contracts_order():
    shuffled = GOOD.select("tags", "kept", "mean", "round", "name")
    assert TABLE.validate(shuffled).equals(GOOD)


def test_an_empty_table_has_the_columns_and_passes():
    assert TABLE.empty().schema == pl.Schema(TABLE.columns)
    assert TABLE.validate(TABLE.empty()).equals(TABLE.empty())


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("round", pl.Series([1, 2], dtype=pl.UInt32)),
        ("round", pl.Series([1, 2], dtype=pl.Int8)),
        ("mean", pl.Series([1, 2], dtype=pl.Int64)),
        ("mean", pl.Series([0.5, 1.5], dtype=pl.Float32)),
        ("mean", pl.Series([None, None])),
        ("kept", pl.Series([None, None])),
        ("tags", pl.Series([[], []])),
        ("tags", pl.Series([None, ["y"]])),
    ],
    ids=lambda v: v if isinstance(v, str) else str(v.dtype),
)
def test_values_that_a_cast_keeps_are_taken(column, values):
    typed = TABLE.validate(GOOD.with_columns(values.alias(column)))
    assert typed.schema == pl.Schema(TABLE.columns)
    assert typed[column].to_list() == values.to_list()


def test_missing_and_unknown_columns_are_named():
    message = broken(GOOD.rename({"mean": "average"}))
    assert "missing columns ['mean']" in message
    assert "unknown columns ['average']" in message


@pytest.mark.parametrize(
    ("column", "values", "says"),
    [
        ("round", [1.5, 2.0], "round is Float64, not Int64"),
        ("round", ["1", "2"], "round is String, not Int64"),
        ("round", [True, False], "round is Boolean, not Int64"),
        ("name", [1, 2], "name is Int64, not String"),
        ("mean", ["0.5", "x"], "mean is String, not Float64"),
        ("kept", [1, 0], "kept is Int64, not Boolean"),
        ("kept", ["true", "x"], "kept is String, not Boolean"),
        ("tags", ["x", "y"], "tags is String, not List(String)"),
        ("tags", [[1], [2]], "tags is List(Int64), not List(String)"),
    ],
)
def test_wrong_types_are_named(column, values, says):
    assert says in broken(GOOD.with_columns(pl.Series(column, values)))


def test_a_number_too_large_is_refused():
    large = pl.Series("round", [2**63, 1], dtype=pl.UInt64)
    assert "round" in broken(GOOD.with_columns(large))


def test_a_repeated_grain_is_refused():
    assert "('name', 'round') repeats" in broken(pl.concat([GOOD, GOOD.head(1)]))
    TABLE.validate(pl.concat([GOOD, GOOD.head(1).with_columns(round=pl.lit(2, pl.Int64))]))


@pytest.mark.parametrize("table", STAGE_TABLES.values(), ids=STAGE_TABLES)
def test_stage_tables_are_sound(table: Table):
    assert table.grain
    assert set(table.grain) <= set(table.columns)
    assert table.description.endswith(".")
    assert table.validate(table.empty()).is_empty()
