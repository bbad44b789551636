"""The meaning of every SQL table, as cases: given these events, expect these rows.

A file of `sql_cases/` is named after its table. An event is its fact's fields with `kind`, its
stream, and the rest of its envelope where that matters; positions count up. Expected rows come in
the order of the table's grain and name the columns that the case is about.
"""

import math
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from warehouse.events import Event
from warehouse.lake import Lake
from warehouse.project import projections

FOLDER = Path(__file__).parent / "sql_cases"
FILES = {path.stem: yaml.safe_load(path.read_text("utf-8")) for path in FOLDER.glob("*.yaml")}
CASES = [(table, case) for table, file in sorted(FILES.items()) for case in file["cases"]]
ENVELOPE = ("stream_id", "occurred_at", "line_id", "round", "purpose")


def events(given: list[dict[str, Any]]) -> Iterator[Event]:
    """Yield what a case gives, numbered per stream."""
    positions: Counter[str] = Counter()
    for fact in given:
        stream = fact["stream_id"]
        kind, _, name = stream.partition("/")
        envelope = {key: fact.get(key) for key in ENVELOPE}
        envelope |= {"trajectory_id": name if kind == "trajectory" else None}
        body = {key: value for key, value in fact.items() if key not in ENVELOPE}
        yield Event.model_validate(envelope | {"position": positions[stream], "fact": body})
        positions[stream] += 1


def plain(value: Any) -> Any:
    """Return a value that equals itself, and no value of another type."""
    if isinstance(value, datetime):
        return value.timestamp()
    if isinstance(value, list):
        return [plain(item) for item in value]
    return (type(value), "NaN" if isinstance(value, float) and math.isnan(value) else value)


def test_every_table_has_a_case_and_every_case_a_table():
    assert FILES.keys() == projections().keys()
    assert all(file["cases"] for file in FILES.values())


@pytest.mark.parametrize(
    ("table", "case"), CASES, ids=[f"{table}: {case['name']}" for table, case in CASES]
)
def test_sql_case(lake: Lake, table: str, case: dict[str, Any]):
    lake.append(events(case["given"]))
    lake.refresh([table], publish=False)
    rows = lake.read(table).sort(projections()[table].grain).to_dicts()
    assert len(rows) == len(case["expect"])
    for row, expected in zip(rows, case["expect"], strict=True):
        found = {column: row[column] for column in expected}
        assert {c: plain(v) for c, v in found.items()} == {
            c: plain(v) for c, v in expected.items()
        }, found
