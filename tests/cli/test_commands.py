"""The commands a user types: what they print, what they refuse, and with which exit code."""

import csv
import io
import json
from pathlib import Path

import duckdb
import pytest

from warehouse.lake import Lake

DATA = Path(__file__).parents[1] / "pipelines" / "data"
ROWS = DATA / "verifiers" / "results.jsonl"


@pytest.fixture
def rolled(instar):
    """The function, on a lake with a few scripted rollouts."""
    told = instar("rollout", "--model", "scripted:looper", "--limit", "3", "--json")
    assert told.code == 0, told.err
    return instar


def test_a_rollout_says_how_it_went(instar):
    told = instar("rollout", "--model", "scripted:silent", "--limit", "4", "--json")
    found = json.loads(told.out)
    assert (found["run_now"], found["n_rollouts"], found["mean"]) == (4, 4, 0.0)


def test_a_rollout_that_is_held_is_not_run_again(rolled):
    told = rolled("rollout", "--model", "scripted:looper", "--limit", "3", "--json")
    assert json.loads(told.out)["run_now"] == 0


def test_sql_counts_the_labels(rolled):
    told = rolled(
        "sql", "select label, count(*) as n from failure_labels group by 1", "--format", "json"
    )
    assert json.loads(told.out) == [{"label": "F3", "n": 3}]


def test_any_duckdb_client_reads_the_file_of_views(rolled, tmp_path):
    with duckdb.connect(str(tmp_path / "lake" / "instar.duckdb"), read_only=True) as connection:
        rows = connection.sql("select label, count(*) from failure_labels group by 1").fetchall()
    assert rows == [("F3", 3)]


def test_sql_shows_which_tables_there_are(rolled):
    told = rolled("sql", "show tables", "--format", "json")
    names = {row["name"] for row in json.loads(told.out)}
    assert {"events", "trajectories", "failure_labels", "sft_examples", "cells"} <= names


def test_sql_in_csv_is_csv(rolled):
    told = rolled("sql", "select 'a,\"b\"' as x, 1.5 as y", "--format", "csv")
    assert list(csv.reader(io.StringIO(told.out))) == [["x", "y"], ['a,"b"', "1.5"]]


def test_sql_in_csv_writes_what_is_nested_as_json(rolled):
    told = rolled("sql", "from failure_groups", "--format", "csv")
    assert told.code == 0
    struct = "{'a': 1.5::double, 'b': 'nan'::float}"
    query = f"select ['ä', null] as l, {struct} as s, null::int[] as n, 'x' as t"
    told = rolled("sql", query, "--format", "csv")
    (row,) = csv.DictReader(io.StringIO(told.out))
    assert row == {"l": '["ä", null]', "s": '{"a": 1.5, "b": null}', "n": "", "t": "x"}


@pytest.mark.parametrize("form", ["table", "json", "csv"])
def test_sql_shows_bytes_and_maps_in_every_form(instar, form):
    query = "select '\\xAA'::blob as b, map {date '2031-01-01': 1} as m"
    assert instar("sql", query, "--format", form).code == 0


def test_a_query_can_be_called_by_its_name(rolled):
    told = rolled("sql", "composition", "--format", "json")
    assert [row["label"] for row in json.loads(told.out)] == ["F3"]


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("select * from nowhere", "nowhere"),
        ("selec 1", "syntax"),
        ("select 1/", "syntax"),
        ("select interval 1 day", "interval"),
    ],
)
def test_a_query_that_fails_is_told_in_a_sentence(instar, query, says):
    told = instar("sql", query)
    assert told.code == 2
    assert told.err.startswith("instar: the query failed: ")
    assert says in told.err


@pytest.mark.parametrize(
    "query",
    [
        "drop view failure_labels",
        "create table x as select 1",
        "insert into failure_labels select * from failure_labels",
        "copy (select 1) to 'x.csv'",
        "set threads = 1",
        "select 1; drop view failure_labels",
        "",
    ],
)
def test_sql_only_reads(rolled, tmp_path, monkeypatch, query):
    monkeypatch.chdir(tmp_path)
    before = Lake(tmp_path / "lake").counts()
    told = rolled("sql", query)
    assert (told.code, told.out) == (2, "")
    assert told.err.startswith(f"instar: query {query!r}: the lake is only read here")
    assert Lake(tmp_path / "lake").counts() == before
    assert not (tmp_path / "x.csv").exists()


@pytest.mark.parametrize(
    "query",
    ["from failure_labels", "describe signals", "pivot failure_labels on label", "values (1)"],
)
def test_sql_reads_in_every_way(rolled, query):
    assert rolled("sql", query).code == 0


def test_an_unknown_format_is_refused(instar):
    told = instar("sql", "select 1", "--format", "xml")
    assert (told.code, "table, json or csv" in told.err) == (2, True)


def test_show_prints_a_transcript(rolled, tmp_path):
    name = Lake(tmp_path / "lake").read("trajectories")["trajectory_id"][0]
    told = rolled("show", name[:12])
    assert told.code == 0
    assert '"tool": "search"' in told.out
    assert "no tool call" not in told.err


@pytest.mark.parametrize("start", ["", "zzz"])
def test_show_wants_exactly_one(rolled, start):
    told = rolled("show", start)
    assert told.code == 2
    assert "trajectories have an id that starts with" in told.err


def test_a_shown_trajectory_cannot_steer_the_terminal(instar, tmp_path):
    path = tmp_path / "evil.jsonl"
    message = {"role": "user", "content": "\x1b]0;owned\x07 \u202etxt"}
    path.write_text(json.dumps({"messages": [message]}), encoding="utf-8")
    assert instar("ingest", path).code == 0
    told = instar("show", Lake(tmp_path / "lake").read("trajectories")["trajectory_id"][0])
    assert "owned" in told.out
    assert not {"\x1b", "\x07", "\u202e"} & set(told.out)


def test_ingest_loads_and_says_how_much(instar):
    told = instar("ingest", ROWS)
    assert told.code == 0
    assert told.out.startswith("1 files: 5 new trajectories")


def test_ingest_in_json_counts(instar, tmp_path):
    told = instar("ingest", ROWS, tmp_path / "missing.jsonl", "--json")
    found = json.loads(told.out)
    assert (told.code, found["files"], found["trajectories"], found["failed"]) == (1, 2, 5, 1)
    assert found["events"] > found["trajectories"]
    assert found["issues"] == len(found["failures"]) == 1


def test_ingest_twice_adds_nothing(instar):
    instar("ingest", ROWS)
    told = instar("ingest", ROWS, "--json")
    assert json.loads(told.out)["trajectories"] == 0


def test_a_broken_line_and_an_unknown_file_fail_the_command_and_nothing_else(instar, tmp_path):
    broken = tmp_path / "broken.jsonl"
    broken.write_bytes(ROWS.read_bytes() + b'{"messages": [{"role"\n')
    unknown = tmp_path / "notes.jsonl"
    unknown.write_text('{"a": 1}\n', encoding="utf-8")
    told = instar("ingest", broken, unknown, tmp_path / "missing.jsonl", ROWS)
    assert told.code == 1
    assert "Traceback" not in told.err
    assert sum(line.startswith("instar: ") for line in told.err.splitlines()) == 3
    lake = Lake(tmp_path / "lake")
    assert lake.read("trajectories").height == 5
    codes = sorted(lake.read("issues").filter(severity="error")["code"])
    assert codes == ["broken_record", "unknown_format", "unreadable_file"]


def test_diff_shows_what_another_bundle_changes(instar, tmp_path):
    from harness.bundle import Bundle

    folder = tmp_path / "mine"
    for path, text in Bundle.shipped("seed").texts().items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text.replace("nothing else", "no word more"), encoding="utf-8")
    told = instar("diff", "seed", folder)
    assert told.code == 0
    assert any(line.startswith("+") and "no word more" in line for line in told.out.splitlines())


def test_status_of_an_empty_lake_says_what_begins_it(instar):
    told = instar("status")
    assert (told.code, "instar evolve" in told.out) == (0, True)


def test_status_in_json_counts_rows_and_loads_none(rolled, tmp_path, monkeypatch):
    lake = Lake(tmp_path / "lake")
    held = {name: lake.read(name).height for name in lake.tables()}
    query, heights = Lake.query, []

    def measured(self, *given):
        frame = query(self, *given)
        heights.append(frame.height)
        return frame

    monkeypatch.setattr(Lake, "query", measured)
    assert json.loads(rolled("status", "--json").out)["rows"] == held
    assert max(heights) <= len(held) < held["events"]


def test_check_says_that_the_laws_hold(rolled):
    told = rolled("check")
    assert (told.code, "laws hold" in told.out) == (0, True)


def test_doctor_says_that_bundles_are_not_isolated(instar):
    told = instar("doctor", "--json")
    assert json.loads(told.out)["isolation"].startswith("none")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["rollout", "--model", "nonsense"], "nonsense"),
        (["rollout", "--model", "scripted:nobody"], "nobody"),
        (["rollout", "--model", "openai:m@http://127.0.0.1:9/v1"], "127.0.0.1:9"),
        (["rollout", "--suite", "nowhere", "--model", "scripted:clerk"], "nowhere"),
        (["rollout", "--split", "test", "--model", "scripted:clerk"], "test"),
        (["rollout", "--bundle", "b2:00", "--model", "scripted:clerk"], "b2:00"),
        (["rollout", "--bundle", "./nowhere", "--model", "scripted:clerk"], "nowhere"),
        (["flow", "--experiment", "nowhere.yaml"], "nowhere.yaml"),
        (["flow", "--line", "Not A Name"], "Not A Name"),
        (["diff", "seed", "b2:ff"], "b2:ff"),
    ],
)
def test_bad_input_is_named_in_one_sentence(instar, arguments, says):
    told = instar(*arguments)
    assert told.code == 2
    assert told.err.startswith("instar: ")
    assert says in told.err
    assert "Traceback" not in told.err


@pytest.mark.parametrize(
    ("tasks", "says"),
    [
        ("{held-out: 72}", "'development' is missing"),
        ("{development: 48, test: 9}", "'test': choose of development, held-out, out-of-domain"),
        ("{development: 0}", "greater than 0"),
        ("{}", "'development' is missing"),
    ],
)
def test_a_crossing_that_cannot_be_measured_is_refused_before_it_starts(
    instar, tmp_path, tasks, says
):
    path = tmp_path / "e.yaml"
    path.write_text(f"cross: {{tasks: {tasks}}}\n", encoding="utf-8")
    told = instar("cross-evaluate", "-e", path)
    assert told.code == 2
    assert told.err.startswith("instar: ")
    assert "cross.tasks" in told.err
    assert says in told.err
    assert len(told.err.splitlines()) == 1


@pytest.mark.parametrize("lake", ["/proc/nowhere/lake", __file__])
def test_a_lake_that_cannot_be_is_named_in_one_sentence(instar, monkeypatch, lake):
    monkeypatch.setenv("INSTAR_LAKE", lake)
    told = instar("status")
    assert told.code == 2
    assert told.err.startswith(f"instar: lake {lake!r}: this folder cannot be made")


def test_an_experiment_with_a_field_that_does_not_fit_names_it(instar, tmp_path):
    path = tmp_path / "e.yaml"
    path.write_text("measure: {tasks: 0}\nfoo: 1\n", encoding="utf-8")
    told = instar("evolve", "-e", path)
    assert told.code == 2
    assert "measure.tasks" in told.err
    assert "foo" in told.err
