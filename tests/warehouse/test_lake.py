"""The lake: tables over the log, written under contracts, seen by any DuckDB client."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import duckdb
import polars as pl
import pytest

import warehouse.lake
from tests.warehouse import onlooker, story
from warehouse.errors import BadInput, BrokenContract
from warehouse.lake import VIEWS, Lake
from warehouse.project import projections
from warehouse.tables import STAGE_TABLES

LABELS = story.LABELS
N_ROUNDS = 6


def versions(lake: Lake) -> dict[str, int]:
    return {name: lake.store.version(name) for name in lake.tables() if lake.store.exists(name)}


def schemas(lake: Lake) -> dict[str, pl.Schema]:
    return {name: lake.read(name).schema for name in lake.tables()}


def outside(lake: Lake, query: str) -> list[tuple[object, ...]]:
    """Return what a client without this project reads from the file of views."""
    with duckdb.connect(str(lake.root / VIEWS), read_only=True) as connection:
        return connection.execute(query).fetchall()


def broken(lake: Lake, name: str, frame: pl.DataFrame) -> str:
    with pytest.raises(BrokenContract) as caught:
        lake.write(name, frame)
    return str(caught.value)


class TestTables:
    def test_an_empty_lake_has_every_table_without_rows(self, lake: Lake):
        assert {name: lake.read(name).height for name in lake.tables()} == dict.fromkeys(
            lake.tables(), 0
        )

    def test_columns_and_types_are_the_same_at_every_age(self, lake: Lake, told: Lake):
        """Never projected, projected without rows, projected with rows."""
        never = schemas(lake)
        lake.refresh()
        lake.write("samples", STAGE_TABLES["samples"].empty())
        assert schemas(lake) == never
        told.refresh()
        assert schemas(told) == never
        staged = {name: pl.Schema(t.columns) for name, t in STAGE_TABLES.items()}
        assert {name: never[name] for name in staged} == staged

    def test_a_table_reads_the_same_before_and_after_it_is_projected(self, told: Lake):
        def read() -> dict[str, list[tuple[object, ...]]]:
            return {name: sorted(told.read(name).rows(), key=repr) for name in told.tables()}

        before = read()
        counts = told.refresh()
        assert read() == before
        assert counts == {name: len(before[name]) for name in projections()}

    def test_an_unchanged_lake_is_left_alone(self, told: Lake):
        counts = told.refresh()
        before, file = versions(told), (told.root / VIEWS).stat().st_ino
        assert told.refresh() == counts
        assert told.append(story.events()) == 0
        assert told.refresh() == counts
        assert Lake(told.root).refresh(publish=False) == counts
        assert versions(told) == before
        assert (told.root / VIEWS).stat().st_ino == file

    def test_new_facts_are_projected(self, told: Lake):
        before = told.refresh()
        told.append(story.rollout("late"))
        after = told.refresh()
        assert after["trajectories"] == before["trajectories"] + 1
        assert after["tool_calls"] == before["tool_calls"] + 2
        assert told.read("trajectories", "trajectory_id = ?", ["late"])["score"].to_list() == [1.0]

    def test_a_named_table_comes_with_what_it_reads(self, told: Lake):
        counts = told.refresh(["scores", "trajectories"])
        assert counts.keys() == {"trajectories", "scores", "messages", "model_calls", "tool_calls"}
        assert versions(told).keys() - STAGE_TABLES.keys() == counts.keys()

    def test_a_changed_query_is_projected_anew_with_all_that_reads_it(
        self, told: Lake, monkeypatch: pytest.MonkeyPatch
    ):
        told.refresh()
        before = versions(told)
        changed = dict(projections())
        query = changed["tool_calls"].query
        changed["tool_calls"] = replace(
            changed["tool_calls"], query=f"select * replace ('x' as name) from ({query})"
        )
        monkeypatch.setattr(warehouse.lake, "projections", lambda: changed)
        told.refresh()
        moved = {name for name, version in versions(told).items() if version != before[name]}
        assert moved == {"tool_calls", "trajectories", "signals"}
        assert told.read("signals")["repeated_call"].str.starts_with("x {").all()


class TestWrite:
    def test_a_stages_table_is_replaced(self, lake: Lake):
        assert lake.write("failure_labels", LABELS) == 1
        assert lake.write("failure_labels", LABELS.head(1)) == 2
        assert lake.read("failure_labels").equals(LABELS.head(1))

    def test_only_the_rows_of_a_part_are_replaced(self, lake: Lake):
        groups = story.GROUPS
        for round in (1, 2):
            lake.write(
                "failure_groups",
                groups.with_columns(round=pl.lit(round)),
                {"line_id": story.LINE, "round": round},
            )
        lake.write("failure_groups", groups.head(0), {"line_id": story.LINE, "round": 1})
        assert lake.read("failure_groups")["round"].to_list() == [2]

    def test_a_part_may_have_any_name(self, lake: Lake):
        for line in ("it's", "' or 1=1 --", 'a "b"'):
            frame = story.EXAMPLES.with_columns(line_id=pl.lit(line), trajectory_id=pl.lit(line))
            lake.write("sft_examples", frame, {"line_id": line})
            lake.write("sft_examples", frame, {"line_id": line})
        assert lake.read("sft_examples").height == 3
        assert lake.read("sft_examples", "line_id = ?", ["it's"]).height == 1

    def test_a_wrong_column_is_named_with_its_table(self, lake: Lake):
        message = broken(lake, "failure_labels", LABELS.rename({"signal": "sign"}))
        assert "'failure_labels'" in message
        assert "missing columns ['signal'], unknown columns ['sign']" in message

    def test_a_wrong_type_is_named_with_its_table(self, lake: Lake):
        frame = story.EXAMPLES.with_columns(n_tokens=pl.lit(0.5))
        message = broken(lake, "sft_examples", frame)
        assert "'sft_examples'" in message
        assert "n_tokens is Float64, not Int64" in message

    def test_a_repeated_grain_is_named_with_its_table(self, lake: Lake):
        message = broken(lake, "failure_labels", pl.concat([LABELS, LABELS.head(1)]))
        assert "'failure_labels'" in message
        assert "('trajectory_id',) repeats" in message

    def test_a_refused_frame_changes_nothing(self, lake: Lake):
        lake.write("failure_labels", LABELS)
        broken(lake, "failure_labels", LABELS.drop("label"))
        broken(lake, "samples", LABELS)
        assert lake.read("failure_labels").equals(LABELS)
        assert versions(lake) == {"failure_labels": 1}

    def test_a_version_is_kept_by_its_number(self, lake: Lake):
        """What an adapter was trained on stays readable after the table moved on."""
        version = lake.write("sft_examples", story.EXAMPLES)
        lake.write("sft_examples", story.EXAMPLES.head(0))
        files = lake.store.files("sft_examples", version)
        assert pl.read_parquet(files).equals(story.EXAMPLES)


class TestQuery:
    def test_values_are_given_apart_from_the_text(self, told: Lake):
        found = told.query("select $1 as a, task_id from trajectories where task_id = $2", [1, "x"])
        assert found.schema.names() == ["a", "task_id"]
        assert found.is_empty()

    @pytest.mark.parametrize("name", ["trajectories", "Trajectories", '"TRAJECTORIES"'])
    def test_names_are_read_as_duckdb_reads_them(self, told: Lake, name: str):
        assert told.query(f"SELECT count(*) AS n FROM {name}")["n"].to_list() == [7]

    def test_an_unknown_table_is_an_error_that_names_it(self, lake: Lake):
        with pytest.raises(duckdb.CatalogException, match="nonsense"):
            lake.query("select * from nonsense")

    def test_moments_are_utc(self, told: Lake):
        stamps = told.query("select occurred_at::varchar as at from events")["at"].drop_nulls()
        assert stamps.str.ends_with("+00").all()

    def test_a_batch_may_hold_more_text_than_32_bit_offsets_reach(self, lake: Lake):
        """Arrow's plain strings end at 2 GB a batch; messages of many trajectories pass that."""
        with lake.connect(()) as connection:
            text = connection.sql("select payload from events").to_arrow_table().schema
        assert str(text.field("payload").type) == "large_string"


class TestPublish:
    def test_a_plain_client_sees_what_the_lake_sees(self, told: Lake):
        told.refresh()
        for name in told.tables():
            assert outside(told, f'select count(*) from "{name}"') == [(told.read(name).height,)]

    def test_the_file_holds_views_only(self, told: Lake):
        told.refresh()
        kinds = outside(told, "select distinct table_type from information_schema.tables")
        assert kinds == [("VIEW",)]
        assert (told.root / VIEWS).stat().st_size < 4_000_000

    def test_a_write_and_a_refresh_publish(self, lake: Lake):
        lake.append(story.rollout("one"))
        lake.refresh(["trajectories"])
        lake.write("failure_labels", LABELS)
        assert outside(lake, "select trajectory_id from trajectories") == [("one",)]
        assert outside(lake, "select count(*) from failure_labels") == [(3,)]
        # What was never projected is there as the query itself.
        assert outside(lake, "select count(*) from signals") == [(1,)]

    def test_a_lost_file_comes_back_whole(self, told: Lake):
        told.refresh()
        (told.root / VIEWS).unlink()
        assert told.publish() == told.root / VIEWS
        assert outside(told, "select count(*) from trajectories") == [(7,)]

    def test_another_process_finds_what_this_one_published(self, told: Lake):
        other = Lake(told.root, story.Clock())
        told.refresh()
        other.append(story.rollout("late"))
        other.refresh()
        assert outside(told, "select count(*) from trajectories") == [(8,)]
        told.write("failure_labels", LABELS.head(0))
        assert outside(told, "select count(*) from trajectories") == [(8,)]

    def test_nothing_half_built_stays_behind(self, told: Lake):
        told.refresh()
        told.write("failure_labels", LABELS.head(1))
        files = {path.name for path in told.root.iterdir()}
        assert files == {VIEWS, "events", "tables", ".events.lock", ".tables.lock"}

    def test_a_client_reads_while_this_process_writes(self, lake: Lake, tmp_path: Path):
        stop = tmp_path / "stop"
        lake.refresh()
        command = [sys.executable, onlooker.__file__, str(lake.root / VIEWS), str(stop)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as looking:
            assert looking.stdout.readline() == b"looking\n"
            for i in range(N_ROUNDS):
                lake.append(story.rollout(f"t{i}"))
                lake.refresh(["trajectories"])
                lake.write("failure_labels", LABELS.head(i % 3 + 1))
            stop.touch()
            told, error = looking.communicate(timeout=60)
        assert error == b""
        seen = json.loads(told)
        n_events = len(story.rollout("t"))
        assert len(seen) > 5
        assert seen == sorted(seen, key=lambda look: look[:2])  # never back in time
        assert seen[-1] == [N_ROUNDS * n_events, N_ROUNDS, 3]


class TestRoot:
    @pytest.mark.parametrize("folder", ["a b", "ü 😀", "round=1", "it's", "100% a+b,c#d*e{f}"])
    def test_any_folder_holds_a_lake(self, tmp_path: Path, folder: str):
        lake = story.tell(tmp_path / folder)
        never = lake.read("trajectories")
        lake.refresh()
        assert lake.read("trajectories").sort("trajectory_id").equals(never.sort("trajectory_id"))
        assert outside(lake, "select count(*) from trajectories") == [(7,)]
        columns = {name for (name, *_) in outside(lake, "describe failure_labels")}
        assert columns == set(STAGE_TABLES["failure_labels"].columns)

    @pytest.mark.parametrize("folder", ["a[1]", "a?b", "a|b", "a\\b", "a%20b", "a\nb", "a^b"])
    def test_a_folder_that_the_format_cannot_address_is_refused(self, tmp_path: Path, folder: str):
        with pytest.raises(BadInput, match="give another path, or set INSTAR_LAKE"):
            Lake(tmp_path / folder)
        assert not (tmp_path / folder).exists()

    def test_a_remote_lake_is_refused(self):
        with pytest.raises(BadInput, match="'s3://bucket/lake': only local folders"):
            Lake("s3://bucket/lake")

    def test_a_root_that_cannot_be_a_folder_is_refused(self, tmp_path: Path):
        file = tmp_path / "notes.txt"
        file.write_text("mine", encoding="utf-8")
        for root in (file, file / "lake", Path("/proc/nowhere/lake")):
            with pytest.raises(BadInput, match=r"cannot be made \(.+\); .*INSTAR_LAKE") as caught:
                Lake(root)
            assert repr(str(root)) in str(caught.value)
        assert file.read_text(encoding="utf-8") == "mine"

    def test_a_relative_root_stays_where_it_was(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.chdir(tmp_path)
        lake = Lake("lake")
        monkeypatch.chdir("/")
        lake.append(story.rollout("one"))
        lake.refresh(["trajectories"])
        assert lake.root == tmp_path / "lake"
        assert outside(lake, "select count(*) from trajectories") == [(1,)]
