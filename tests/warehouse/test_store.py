"""Tables on disk: parts are replaced, versions are kept, files are what readers hold."""

import itertools
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake.exceptions import DeltaError
from hypothesis import given, settings
from hypothesis import strategies as st

from warehouse.store import TableStore

SCHEMA = pa.schema([("line", pa.string()), ("round", pa.int64()), ("x", pa.float64())])


def rows(*values: tuple[str, int, float]) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(SCHEMA.names, v, strict=True)) for v in values], SCHEMA)


def held(store: TableStore, version: int | None = None) -> list[tuple[str, int, float]]:
    files = store.files("t", version)
    return sorted(tuple(row.values()) for f in files for row in pq.read_table(f).to_pylist())


@pytest.fixture
def store(tmp_path: Path) -> TableStore:
    return TableStore(tmp_path / "tables")


@pytest.fixture
def filled(store: TableStore) -> TableStore:
    store.create("t", SCHEMA)
    store.append("t", rows(("a", 1, 0.1), ("a", 2, 0.2), ("b", 1, 0.3)))
    return store


def test_what_was_never_created_has_no_files(store: TableStore):
    assert not store.exists("t")
    assert store.files("t") == []


def test_created_tables_are_empty_and_stay_when_created_again(store: TableStore):
    store.create("t", SCHEMA)
    assert store.exists("t")
    assert (store.files("t"), store.version("t")) == ([], 0)
    store.append("t", rows(("a", 1, 0.1)))
    store.create("t", pa.schema([("other", pa.string())]))
    assert held(store) == [("a", 1, 0.1)]
    assert store.version("t") == 1
    assert store.schema("t").names == SCHEMA.names


def test_appending_returns_the_new_version(filled: TableStore):
    assert filled.append("t", rows(("c", 1, 0.4))) == 2
    assert held(filled) == [("a", 1, 0.1), ("a", 2, 0.2), ("b", 1, 0.3), ("c", 1, 0.4)]


def test_only_the_named_part_is_replaced(filled: TableStore):
    part = {"line": "a", "round": 1}
    assert filled.replace_partition("t", rows(("a", 1, 9.0), ("a", 1, 8.0)), where=part) == 2
    assert held(filled) == [("a", 1, 8.0), ("a", 1, 9.0), ("a", 2, 0.2), ("b", 1, 0.3)]


def test_a_part_can_become_empty_and_a_new_one_can_come(filled: TableStore):
    filled.replace_partition("t", rows(), where={"line": "a"})
    filled.replace_partition("t", rows(("z", 1, 0.0)), where={"line": "z"})
    assert held(filled) == [("b", 1, 0.3), ("z", 1, 0.0)]


def test_no_part_means_all_rows(filled: TableStore):
    filled.replace_partition("t", rows(("c", 1, 0.4)), where=None)
    assert held(filled) == [("c", 1, 0.4)]


def test_the_same_again_gives_the_same_table(filled: TableStore):
    part = {"line": "a", "round": 2}
    filled.replace_partition("t", rows(("a", 2, 7.0)), where=part)
    once = held(filled)
    filled.replace_partition("t", rows(("a", 2, 7.0)), where=part)
    assert held(filled) == once


def test_rows_of_another_part_are_refused(filled: TableStore):
    before = held(filled)
    with pytest.raises(DeltaError, match="1 rows failed validation"):
        filled.replace_partition("t", rows(("b", 1, 7.0)), where={"line": "a"})
    assert held(filled) == before


def test_all_rows_may_take_another_shape(filled: TableStore):
    """A projection whose query gained a column replaces its table as a whole."""
    filled.replace_partition("t", pa.table({"line": ["a"], "new": [True]}), where=None)
    assert filled.schema("t").names == ["line", "new"]


def test_batches_are_written_as_they_come(filled: TableStore):
    table = rows(("c", 1, 0.4), ("c", 2, 0.5))
    reader = pa.RecordBatchReader.from_batches(SCHEMA, table.to_batches(max_chunksize=1))
    filled.replace_partition("t", reader, where=None)
    assert held(filled) == [("c", 1, 0.4), ("c", 2, 0.5)]


def test_values_with_quotes_name_their_part(tmp_path: Path):
    count = itertools.count()
    odd = ["it's", "''", '"', "a' or 'a'='a", "; drop table t --", "\\", "\\'", "%", "a\nb", "é😀"]
    texts = st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=6)

    @settings(max_examples=15)
    @given(st.sampled_from(odd), st.sampled_from(odd) | texts)
    def holds(one, other):
        store = TableStore(tmp_path / str(next(count)))
        store.create("t", SCHEMA)
        store.append("t", rows((one, 1, 0.0), (other, 2, 0.0)))
        store.replace_partition("t", rows((one, 3, 1.0)), where={"line": one})
        assert held(store) == sorted([(one, 3, 1.0), *([(other, 2, 0.0)] if other != one else [])])

    holds()


def test_older_versions_stay_readable(filled: TableStore):
    filled.replace_partition("t", rows(("c", 1, 0.4)), where=None)
    assert held(filled, 0) == []
    assert held(filled, 1) == [("a", 1, 0.1), ("a", 2, 0.2), ("b", 1, 0.3)]
    assert held(filled, 2) == held(filled) == [("c", 1, 0.4)]


def test_two_stores_see_each_other(filled: TableStore):
    other = TableStore(filled.root)
    assert other.version("t") == 1
    filled.append("t", rows(("c", 1, 0.4)))
    assert other.version("t") == 2
    assert held(other) == held(filled)


def test_compacting_merges_files_and_keeps_rows(filled: TableStore):
    for i in range(4):
        filled.append("t", rows(("c", i, 0.0)))
    before, files = held(filled), filled.files("t")
    filled.compact("t")
    assert len(files) == 5
    assert len(filled.files("t")) == 1
    assert held(filled) == before
    assert all(Path(file).exists() for file in files)


class TestVacuum:
    """Replaced files go when nobody may need them: not too young, of no kept version."""

    @pytest.fixture
    def replaced(self, filled: TableStore) -> TableStore:
        for i in range(3):
            filled.replace_partition("t", rows(("v", i, 0.0)), where=None)
        return filled

    def test_the_newest_version_stays(self, replaced: TableStore):
        old = [f for version in (1, 2, 3) for f in replaced.files("t", version)]
        assert replaced.vacuum("t", keep=timedelta(0)) == 3
        assert not any(Path(file).exists() for file in old)
        assert held(replaced) == [("v", 2, 0.0)]

    def test_kept_versions_stay(self, replaced: TableStore):
        assert replaced.vacuum("t", keep=timedelta(0), versions=[1, 3]) == 1
        assert held(replaced, 1) == [("a", 1, 0.1), ("a", 2, 0.2), ("b", 1, 0.3)]
        assert held(replaced, 3) == [("v", 1, 0.0)]
        assert not any(Path(file).exists() for file in replaced.files("t", 2))

    @pytest.mark.parametrize("keep", [timedelta(hours=24), timedelta(minutes=1)], ids=str)
    def test_young_files_stay(self, replaced: TableStore, keep: timedelta):
        assert replaced.vacuum("t", keep=keep) == 0
        assert held(replaced, 2) == [("v", 0, 0.0)]

    def test_the_default_keeps_a_day(self, replaced: TableStore):
        assert replaced.vacuum("t") == 0
