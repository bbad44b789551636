"""Files of other tools come in whole: every record accounted for, every byte addressable, once."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pipelines.formats.lines import json_lines
from pipelines.ingest import files_of, load
from pipelines.label import Taxonomy, label
from pipelines.steps.ingestion import Summary, ingest
from tests.conftest import StepClock
from warehouse.events.source import RecordQuarantined
from warehouse.ids import bytes_id
from warehouse.lake import Lake
from warehouse.project import checks

DATA = Path(__file__).parent / "data"
VERIFIERS = DATA / "verifiers"
CASES = DATA / "cases"
GOOD = '{"id": "r1", "messages": [{"role": "user", "content": "fine"}]}'
OTHER = GOOD.replace("r1", "r2")


def case(name: str) -> Path:
    (path,) = CASES.glob(f"{name}_*.jsonl")
    return path


TALK = [{"role": "user", "content": "Go."}]
HIDDEN = r'{"q": "\ud83d"}'
CRAFTED = [
    r'{"id": "pair", "messages": [{"role": "user", "content": "\ud83d\ude00 \ud83d"}]}',
    json.dumps(
        {
            "id": "hidden",
            "messages": [
                {
                    "role": "assistant",
                    "tool_calls": [{"function": {"name": "f", "arguments": HIDDEN}}],
                }
            ],
        }
    ),
    *(
        json.dumps({"id": f"score {x}", "messages": TALK, "score": x})
        for x in (float("nan"), -float("inf"), 0.5)
    ),
    *(
        json.dumps({**json.loads(line), "messages": TALK})
        for line in case("21").read_text(encoding="utf-8").splitlines()
    ),
]
"""What the files lack: lone halves elsewhere, scores that are no numbers, ends with a talk."""


@dataclass(frozen=True)
class Corpus:
    """Every file of ours, ingested once."""

    lake: Lake
    crafted: Path
    paths: list[Path]
    told: Summary

    def rows(self, path: Path, table: str, columns: str) -> dict[str, list[Any]]:
        """Return a table's rows of one file per native id, in order."""
        order = "t.source_line" if table == "trajectories" else "t.source_line, x.position"
        found: dict[str, list[Any]] = {}
        for name, *row in self.lake.query(
            f"select t.native_id, {columns} from {table} as x"
            " join trajectories as t on x.trajectory_id = t.trajectory_id"
            f" where t.source_path = ? order by {order}",
            [str(path)],
        ).iter_rows():
            found.setdefault(name, []).append(row[0] if len(row) == 1 else tuple(row))
        return found

    def opened(self, path: Path, field: str) -> dict[str, Any]:
        """Return a JSON field of how the file's trajectories opened, per native id."""
        rows = self.lake.query(
            "select payload ->> '$.native_id', payload ->> ? from events"
            " where kind = 'trajectory_opened' and payload ->> '$.location.path' = ?",
            [f"$.{field}", str(path)],
        )
        return {name: json.loads(text) if text else None for name, text in rows.iter_rows()}

    def issues(self, path: Path) -> list[tuple[str, str, str]]:
        """Return (severity, code, where in the file) of a file's issues."""
        query = (
            "select severity, code, replace(location, ?, '') from issues"
            " where starts_with(location, ?) order by all"
        )
        return self.lake.query(query, [str(path)] * 2).rows()

    def failed(self, path: Path) -> list[str]:
        """Return why something of a file did not load, without the path."""
        return [
            reason.removeprefix(str(path)) for reason in self.told.failed if str(path) in reason
        ]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    folder = tmp_path_factory.mktemp("corpus")
    lake = Lake(folder / "lake", StepClock())
    crafted = folder / "crafted.jsonl"
    crafted.write_text("\n".join(CRAFTED), encoding="utf-8")
    told = ingest(lake, [VERIFIERS], suite="arithmetic", split="eval")
    more = ingest(lake, [CASES, crafted])
    told.files += more.files
    told.trajectories += more.trajectories
    told.events += more.events
    told.failed += more.failed
    return Corpus(lake, crafted, [*VERIFIERS.iterdir(), *CASES.iterdir(), crafted], told)


def test_every_law_of_the_lake_holds_after_an_import(corpus: Corpus) -> None:
    broken = {name: corpus.lake.query(law.query).height for name, law in checks().items()}
    assert broken == dict.fromkeys(checks(), 0)


def test_01_lone_surrogates_become_a_replacement_each_and_are_noted(corpus: Corpus) -> None:
    found = corpus.rows(case("01"), "messages", "content_text")
    assert found == {"r1": ["byte \ufffd and half an emoji \ufffd"], "r2": ["fine"]}
    assert ("warning", "lone_surrogate", ":1") in corpus.issues(case("01"))


def test_01_a_pair_of_halves_is_one_character(corpus: Corpus) -> None:
    found = corpus.rows(corpus.crafted, "messages", "content_text")
    assert found["pair"] == ["\U0001f600 \ufffd"]


def test_01_halves_hidden_in_the_text_of_arguments_load_too(corpus: Corpus) -> None:
    columns = "arguments_raw, arguments_json, arguments_state"
    found = corpus.rows(corpus.crafted, "tool_calls", columns)
    assert found == {"hidden": [(HIDDEN, '{"q": "\ufffd"}', "string")]}


@pytest.mark.parametrize("name", ["02", "21"])
def test_a_file_without_conversations_is_refused_in_a_sentence(corpus: Corpus, name: str) -> None:
    assert corpus.failed(case(name)) == [
        ": no record is of a known format (chat); nothing was loaded"
    ]
    query = "select format, complete, n_records = n_skipped from source_files where path = ?"
    assert corpus.lake.query(query, [str(case(name))]).rows() == [("unknown", False, True)]


def test_02_a_score_that_is_no_number_stays_what_it_is_and_is_not_trusted(corpus: Corpus) -> None:
    columns = "isnan(x.score), isinf(x.score), x.reward_trustworthy"
    found = corpus.rows(corpus.crafted, "trajectories", columns)
    assert found["score nan"] == [(True, False, False)]
    assert found["score -inf"] == [(False, True, False)]
    assert found["score 0.5"] == [(False, False, True)]
    assert ("warning", "non_finite_score", ":3") in corpus.issues(corpus.crafted)


def test_02_only_a_trusted_score_is_labelled(corpus: Corpus) -> None:
    labelled = label(corpus.lake.read("signals"), Taxonomy())
    trusted = corpus.lake.read("trajectories", "reward_trustworthy")
    assert sorted(labelled["trajectory_id"]) == sorted(trusted["trajectory_id"])
    assert trusted["score"].is_finite().all()


def test_06_odd_characters_survive_exactly_and_the_mark_is_noted(corpus: Corpus) -> None:
    assert corpus.rows(case("06"), "messages", "content_text") == {
        "r1": ["a\x00b\r\n\x1b[31mred\x1b[0m"]
    }
    assert corpus.rows(case("06"), "messages", "length(content_text)") == {"r1": [17]}
    assert ("info", "byte_order_mark", "") in corpus.issues(case("06"))


def test_07_an_id_that_comes_again_pairs_inside_its_turn(corpus: Corpus) -> None:
    found = corpus.rows(case("07"), "tool_calls", "arguments_json, result_text, pairing_rule")
    assert found == {"r1": [('{"q": "red"}', "red: 3", "id"), ('{"q": "blue"}', "blue: 5", "id")]}


def test_08_shared_and_missing_ids_pair_by_position_and_by_name(corpus: Corpus) -> None:
    assert corpus.rows(case("08"), "tool_calls", "x.name, result_text, pairing_rule") == {
        "r1": [("ls", "a.txt", "position"), ("pwd", "/w", "position")],
        "r2": [("ls", "a.txt", "name"), ("pwd", "/w", "name")],
    }


def test_09_completion_order_an_unanswered_call_and_an_orphan(corpus: Corpus) -> None:
    assert corpus.rows(case("09"), "tool_calls", "x.name, answered, result_text") == {
        "r1": [("slow", True, "slow done"), ("fast", True, "fast done"), ("never", False, None)]
    }
    orphans = corpus.rows(case("09"), "events", "kind, payload ->> '$.env_output'")
    assert ("tool_returned", "whose?") in orphans["r1"]
    assert corpus.issues(case("09")) == [
        ("warning", "orphan_result", ":1"),
        ("warning", "unanswered_call", ":1"),
    ]


def test_15_every_shape_of_arguments_has_its_state(corpus: Corpus) -> None:
    columns = "arguments_raw, arguments_json, arguments_state"
    assert corpus.rows(case("15"), "tool_calls", columns) == {
        "r0": [('{"city": "Oslo"}', '{"city": "Oslo"}', "object")],
        "r1": [('{"city": "Oslo"}', '{"city": "Oslo"}', "string")],
        "r2": [('"{\\"city\\":\\"Oslo\\"}"', '{"city": "Oslo"}', "string2")],
        "r3": [("", "{}", "empty")],
        "r4": [('{"cmd": "echo unfin', None, "unparsed")],
        "r5": [('["Oslo"]', None, "non_object")],
        "r6": [(None, None, "null")],
        "r7": [(None, None, "missing")],
    }


def test_16_arguments_come_back_without_padding(corpus: Corpus) -> None:
    found = corpus.rows(case("16"), "tool_calls", "arguments_json")
    assert {name: json.loads(text) for name, (text,) in found.items()} == {
        "r1": {"city": "Oslo"},
        "r2": {"path": "/w/a", "limit": 5},
        "r3": {"path": ["/w/a", "/w/b"]},
    }


def test_17_an_empty_object_is_neither_null_nor_missing(corpus: Corpus) -> None:
    found = corpus.rows(case("17"), "tool_calls", "arguments_json, arguments_state")
    assert found == {"r1": [("{}", "object")]}
    (tool,) = corpus.opened(case("17"), "tools")["r1"]
    assert tool["function"]["parameters"]["properties"] == {}


def test_19_every_shape_of_content_is_kept(corpus: Corpus) -> None:
    columns = "content_state, content_text, content_json"
    found = corpus.rows(case("19"), "messages", columns)["r1"]
    assert [state for state, _, _ in found] == (
        ["parts", "null", "parts", "empty", "empty", "missing", "text"]
    )
    assert (found[0][1], found[-1][1]) == ("what is on it?", "A cat.")
    images = [p for _, _, parts in found if parts for p in json.loads(parts) if "text" not in p]
    assert [image["type"] for image in images] == ["image_url", "image"]
    assert len(corpus.rows(case("19"), "tool_calls", "x.name")["r1"]) == 3


def test_20_reasoning_is_a_column_or_stays_in_the_content(corpus: Corpus) -> None:
    columns = "reasoning_text, content_text, content_json"
    found = corpus.rows(case("20"), "messages", columns)
    assert (found["r1"][-1][0], found["r4"][-1][0]) == ("add", "add")
    assert json.loads(found["r2"][-1][2])[0]["thinking"] == "add"
    assert found["r3"][-1][1] == "<think>add</think>4"
    assert corpus.failed(case("20")) == [":5: no chat record"]


def test_21_an_infrastructure_failure_is_no_zero(corpus: Corpus) -> None:
    columns = "x.termination_class, x.score, x.reward_trustworthy"
    found = corpus.rows(corpus.crafted, "trajectories", columns)
    assert {name: found[name] for name in "abcde"} == {
        "a": [("unknown", 0.0, True)],
        "b": [("infra_error", 0.0, False)],
        "c": [("infra_error", None, False)],
        "d": [("infra_error", 0.0, False)],
        "e": [("unknown", 1.0, True)],
    }


def test_23_a_cut_off_reply_is_never_a_success(corpus: Corpus) -> None:
    found = corpus.rows(case("23"), "trajectories", "x.termination_class")
    assert "success" not in {*found["a"], *found["b"]}
    kept = corpus.opened(case("23"), "extra")
    assert kept["b"]["finish_reason"] == "tool_calls"
    assert kept["a"]["usage"] == {"input_tokens": 630, "output_tokens": 32000}


def test_verifiers_rollouts_keep_task_reward_metrics_and_their_place(corpus: Corpus) -> None:
    sources = [
        (str(path), number, json.loads(line))
        for path in sorted(VERIFIERS.iterdir())
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
    ]
    runs = corpus.lake.query(
        "select source_path, source_line, task_id, score, termination_class, split"
        " from trajectories where suite = 'arithmetic' order by 1, 2"
    )
    assert runs.rows() == [
        (path, line, str(row["example_id"]), row["reward"], "success", "eval")
        for path, line, row in sources
    ]
    metrics = corpus.lake.query("select key, value_num from scores where not is_primary")
    assert sorted(metrics.rows()) == sorted(
        item for _, _, row in sources for item in row["metrics"].items()
    )


def test_verifiers_calls_are_paired_in_the_order_of_the_conversation(corpus: Corpus) -> None:
    path = VERIFIERS / "multi_turn_rollout.jsonl"
    columns = "x.name, result_text, pairing_rule, arguments_json"
    ((name, text, rule, arguments),) = corpus.rows(path, "tool_calls", columns)[None]
    assert (name, text, rule) == ("python", "55", "id")
    assert json.loads(arguments) == {"code": "print(sum(i*i for i in range(1, 6)))"}
    assert corpus.rows(path, "messages", "role, turn")[None] == [
        ("user", 0),
        ("assistant", 1),
        ("tool", 1),
        ("assistant", 2),
    ]


def test_every_record_s_bytes_can_be_found_again(corpus: Corpus) -> None:
    for path in corpus.paths:
        data = path.read_bytes()
        for where in corpus.opened(path, "location").values():
            raw = data[where["byte_offset"] : where["byte_offset"] + where["byte_length"]]
            assert bytes_id(raw) == where["record_hash"]
            assert "role" in str(json.loads(raw))


def test_the_books_of_every_file_balance(corpus: Corpus) -> None:
    books = corpus.lake.read("source_files")
    assert books.height == len(corpus.paths) == corpus.told.files
    for book in books.iter_rows(named=True):
        there = sum(1 for _ in json_lines(Path(book["path"])))
        counted = book["n_loaded"] + book["n_quarantined"] + book["n_skipped"]
        assert book["n_records"] == counted == there
    assert books["n_trajectories"].sum() == corpus.told.trajectories == 9 + 27 + 10


def test_ingesting_again_changes_nothing(corpus: Corpus) -> None:
    before = corpus.lake.query("select count(*) from events").row(0)
    again = ingest(corpus.lake, [VERIFIERS, CASES, corpus.crafted])
    assert (again.trajectories, again.events) == (0, 0)
    assert (again.files, again.failed) == (corpus.told.files, corpus.told.failed)
    assert (
        corpus.lake.query("select count(*) from events").row(0) == before == (corpus.told.events,)
    )


def test_the_same_record_in_a_grown_or_moved_file_is_the_same_trajectory(
    lake: Lake, tmp_path: Path
) -> None:
    (tmp_path / "a").write_text(GOOD)
    assert ingest(lake, [tmp_path / "a"]).trajectories == 1
    (tmp_path / "a").write_text(f"{GOOD}\n{OTHER}\n")
    assert ingest(lake, [tmp_path / "a"]).trajectories == 1
    (tmp_path / "b").write_text(GOOD)
    found = ingest(lake, [tmp_path / "b"])
    assert (found.trajectories, found.events) == (0, 1)
    assert lake.read("source_files").height == 3


def test_equal_records_of_one_file_are_trajectories_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "f").write_text(f"{GOOD}\n{GOOD}\n{OTHER}")
    streams = [events[0].stream_id for events in load(tmp_path / "f").trajectories]
    assert len(set(streams)) == 3
    (tmp_path / "f").write_text(f"{OTHER}\n{GOOD}\n{GOOD}")
    assert {e[0].stream_id for e in load(tmp_path / "f").trajectories} == set(streams)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b'{"id": "torn", "messages": [{"role"', "no JSON: "),
        (b"\xff\xfe{}", "no UTF-8 text: "),
        (b"[1, 2]", "no chat record"),
        (b'{"id": "x", "messages": "all of it"}', "no chat record"),
        (b'{"messages": [{"role": "u"}], "n": ' + b"1" * 5_000 + b"}", "no JSON that can be held"),
        (b'{"messages": [{"role": "u", "content": ' + b"[" * 99_999, "nested too deeply"),
        (b'{"messages": [{"role": "u", "content": %s}]}' % (b"[" * 960 + b"]" * 960), "too deeply"),
    ],
    ids=["torn", "bytes", "shape", "no messages", "huge number", "deep", "nearly too deep"],
)
def test_a_broken_line_is_one_issue_and_the_rest_loads(
    tmp_path: Path, line: bytes, says: str
) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"\n".join([GOOD.encode(), line, b"", OTHER.encode()]))
    found = load(path)
    assert found.failed
    assert (found.book.n_loaded, found.book.n_quarantined, found.book.complete) == (2, 1, False)
    (issue,) = found.issues
    assert (issue.severity, issue.code, issue.location) == ("error", "broken_record", f"{path}:2")
    assert says in issue.message
    assert "\n" not in issue.message
    (where,) = (e.fact for e in found.source if isinstance(e.fact, RecordQuarantined))
    data = path.read_bytes()[where.byte_offset : where.byte_offset + where.byte_length]
    assert data == line
    assert (where.record_hash, where.line) == (bytes_id(line), 2)


UNKNOWN = "no record is of a known format (chat); nothing was loaded"
EMPTY = "the file is empty; nothing was loaded"


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", EMPTY),
        (b"\n \n", EMPTY),
        (b'{"rows": []}\n', UNKNOWN),
        (b"just words\n", UNKNOWN),
        (bytes(range(256)) * 9, UNKNOWN),
        (GOOD.encode("utf-16"), UNKNOWN),
    ],
    ids=["empty", "blank", "unknown", "text", "binary", "utf-16"],
)
def test_a_file_that_cannot_be_used_is_one_clear_issue(
    tmp_path: Path, data: bytes, says: str
) -> None:
    (tmp_path / "f").write_bytes(data)
    found = load(tmp_path / "f")
    assert found.failed
    assert [(i.code, i.location, i.message) for i in found.issues] == [
        ("unknown_format", str(tmp_path / "f"), says)
    ]
    assert found.book.n_records == found.book.n_skipped


def test_a_missing_file_is_a_clear_sentence_again_and_again(lake: Lake, tmp_path: Path) -> None:
    path = tmp_path / "a" / "b.jsonl"
    for events in (1, 0):
        found = ingest(lake, [path])
        assert found.failed == [f"{path}: cannot be read: No such file or directory"]
        assert found.events == events
    (tmp_path / "a").write_text("a file now")  # unreadable for another reason than before
    assert ingest(lake, [path]).failed == [f"{path}: cannot be read: Not a directory"]
    codes = lake.query("select code from issues")["code"].to_list()
    assert codes == ["unreadable_file"] * 2


def test_one_bad_file_never_stops_a_directory(lake: Lake, tmp_path: Path) -> None:
    folder = tmp_path / "files"
    (folder / "deep").mkdir(parents=True)
    (folder / "a.bin").write_bytes(b"\x00\xff")
    (folder / "b.jsonl").write_text("")
    (folder / "c.jsonl").write_text(f"{GOOD}\n{{")
    (folder / "deep" / "d.jsonl").write_text(OTHER)
    (folder / "deep" / "dangling").symlink_to(tmp_path / "nowhere")
    told: list[tuple[str, int, int]] = []
    found = ingest(lake, [folder, tmp_path / "nowhere"], watch=lambda *seen: told.append(seen))
    assert (found.files, found.trajectories, found.errors) == (5, 2, 4)
    assert [reason.partition(": ")[0] for reason in found.failed] == [
        str(folder / "a.bin"),
        str(folder / "b.jsonl"),
        f"{folder / 'c.jsonl'}:2",
        str(tmp_path / "nowhere"),
    ]
    assert told == [("ingest", done, 5) for done in range(6)]


def test_a_directory_is_its_files_in_order(tmp_path: Path) -> None:
    for name in ("b", "a", "c/d"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    assert [str(p.relative_to(tmp_path)) for p in files_of(tmp_path)] == ["a", "b", "c/d"]
    assert files_of(tmp_path / "a") == [tmp_path / "a"]


def test_lines_may_end_as_on_windows_and_the_last_one_without_an_end(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b'\xef\xbb\xbf{"a": 1}\r\n\r\n  \n{"b": 2}\n{"c": 3}')
    found = [(line.number, line.offset, line.raw, line.value) for line in json_lines(path)]
    assert found == [
        (1, 3, b'{"a": 1}', {"a": 1}),
        (4, 18, b'{"b": 2}', {"b": 2}),
        (5, 27, b'{"c": 3}', {"c": 3}),
    ]
