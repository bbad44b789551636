"""The gate, with Great Expectations itself: each poisoned row is refused for its own reason."""

from typing import Any

import polars as pl
import pytest

from pipelines import gate
from pipelines.assemble import split
from pipelines.gate import GateConfig, judge, limits_id, newest_verdicts, suites
from pipelines.train import require_open_gate
from warehouse.errors import GateClosed
from warehouse.quality import Expectation, Suite, Verdict, validate

CONFIG = GateConfig(max_tokens=100)
SOUND: dict[str, Any] = {
    "trajectory_id": "r0",
    "line_id": "main",
    "sample_id": "s0",
    "task_id": "task",
    "family": "ticket",
    "harness_id": "h",
    "candidate_id": "c",
    "messages": '[{"role": "user", "content": "Who?"}]',
    "tools": "[]",
    "n_tokens": 100,
    "n_trained_tokens": 1,
    "replay_score": 1.0,
    "n_lineage": 2,
    "first_user_chars": 1,
    "n_assistant_turns": 1,
    "n_unanswered": 0,
    "ends_with_assistant": True,
    "n_template_marks": 0,
    "is_test_task": False,
    "is_test_question": False,
    "is_duplicate": False,
}
POISON: dict[str, dict[str, Any]] = {
    "messages are there": {"messages": None},
    "the task is known": {"task_id": None},
    "the replay has the full score": {"replay_score": 0.5},
    "lineage to candidate and harness is complete": {"n_lineage": 1},
    "the first user turn says something": {"first_user_chars": 0},
    "the model says something": {"n_assistant_turns": 0},
    "every call is answered": {"n_unanswered": 1},
    "the model has the last word": {"ends_with_assistant": False},
    "it fits the training length": {"n_tokens": 101},
    "something is trained": {"n_trained_tokens": 0},
    "no template marks in the text": {"n_template_marks": 1},
    "the task is no test task": {"is_test_task": True},
    "the question is no test question": {"is_test_question": True},
    "no earlier row says the same": {"is_duplicate": True},
    "no credentials": {"messages": f"the key is sk-{'a1' * 12}"},
} | {f"{column} is known": {column: None} for column in gate._LOOKED_AT}
"""What is wrong with the one row that an expectation is there for."""

TWICE = "one row per trajectory"
EMPTY = "the set is not empty"


def frame(*changes: dict[str, Any]) -> pl.DataFrame:
    """Return one sound row per dict of what differs from it, each with ids of its own."""
    rows = [
        {**SOUND, "trajectory_id": f"r{i}", "sample_id": f"s{i}", **change}
        for i, change in enumerate(changes)
    ]
    return pl.DataFrame(rows, schema=pl.DataFrame([SOUND]).schema)


def judged(rows: pl.DataFrame, config: GateConfig = CONFIG) -> list[bool]:
    """Return whether each suite passes a table."""
    verdicts = [validate(rows, suite) for suite in suites(config)]
    kept, refused = split(rows, verdicts)
    sizes = {"n_examples": kept.height, "n_quarantined": refused.height}
    found = [judge(v, config, table="sft_examples", version=3, **sizes) for v in verdicts]
    assert {(j.table, j.table_version, j.n_in) for j in found} == {("sft_examples", 3, rows.height)}
    return [j.passed for j in found]


def test_every_expectation_has_its_poison() -> None:
    names = [e.name for suite in suites(CONFIG) for e in suite.expectations]
    assert len(set(names)) == len(names)
    assert set(names) == {*POISON, TWICE, EMPTY}


def test_each_poisoned_row_is_quarantined_with_exactly_the_reason_that_names_it() -> None:
    rows = frame({}, *POISON.values(), {"trajectory_id": "twin"}, {"trajectory_id": "twin"})
    verdicts = [validate(rows, suite) for suite in suites(CONFIG)]
    kept, refused = split(rows, verdicts)
    assert kept["trajectory_id"].to_list() == ["r0"]
    assert refused["failed_expectations"].to_list() == [
        *([name] for name in POISON),
        [TWICE],
        [TWICE],
    ]
    assert [v.batch for v in verdicts] == [(), (), ()]


def test_a_sound_set_passes_and_stays_whole() -> None:
    rows = frame({}, {}, {"n_tokens": 1, "n_lineage": 2})
    verdicts = [validate(rows, suite) for suite in suites(CONFIG)]
    assert [(v.rows, v.batch) for v in verdicts] == [({}, ())] * 3
    assert judged(rows) == [True, True, True]


def test_an_empty_set_fails() -> None:
    assert EMPTY in validate(frame(), suites(CONFIG)[0]).batch
    assert judged(frame()) == [False, False, False]


@pytest.mark.parametrize(("least", "passed"), [(2, True), (3, False)])
def test_a_set_below_the_least_number_of_examples_fails(least: int, passed: bool) -> None:
    config = GateConfig(max_tokens=100, min_examples=least)
    assert judged(frame({}, {}, {"n_unanswered": 1}), config) == [passed] * 3


@pytest.mark.parametrize(("share", "passed"), [(0.5, True), (0.49, False)])
def test_a_set_of_which_too_much_was_refused_fails(share: float, passed: bool) -> None:
    config = GateConfig(max_tokens=100, max_quarantined_share=share)
    rows = frame({}, {}, {"n_unanswered": 1}, {"is_duplicate": True})
    assert judged(rows, config) == [passed] * 3


def test_the_judgement_names_what_failed_and_how_much_went_in() -> None:
    verdict = Verdict("leakage", 4, {0: ["a"], 2: ["a", "b"]}, batch=["the whole"])
    config = GateConfig(min_examples=9, max_quarantined_share=0.25)
    found = judge(verdict, config, table="t", version=7, n_examples=2, n_quarantined=2)
    assert (found.suite, found.passed, found.n_in, found.n_quarantined) == ("leakage", False, 4, 2)
    assert found.failed_expectations == (
        "the whole",
        "at least 9 examples remain",
        "at most 25% of the rows are refused",
    )


def test_an_expectation_over_a_missing_column_fails_the_batch() -> None:
    rows = frame({}, {}).select("trajectory_id")
    for suite in suites(CONFIG):
        verdict = validate(rows, suite)
        blind = [e.name for e in suite.expectations if e.name not in {TWICE, EMPTY}]
        assert set(verdict.batch) == {f"{name} (could not be evaluated)" for name in blind}
        assert verdict.rows == {}


@pytest.mark.parametrize(
    "secret",
    [
        "sk-" + "Ab1" * 8,
        "AKIA" + "A1B2" * 4,
        "ghp_" + "a1B2c3" * 6,
        "-----BEGIN RSA PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----",
        "xoxb-1234567890-ab",
    ],
)
def test_shapes_of_credentials(secret: str) -> None:
    (leakage,) = [s for s in suites(CONFIG) if s.name == "leakage"]
    (only,) = [e for e in leakage.expectations if e.name == "no credentials"]
    rows = frame({"messages": f'[{{"content": "is it {secret}?"}}]'}, {"messages": "a sk-etch"})
    assert dict(validate(rows, Suite("one", [only])).rows) == {0: ["no credentials"]}


def test_the_training_length_is_the_one_that_is_set() -> None:
    (length,) = (
        e
        for suite in suites(GateConfig(max_tokens=50))
        for e in suite.expectations
        if isinstance(e, Expectation) and e.name == "it fits the training length"
    )
    rows = frame({"n_tokens": 50}, {"n_tokens": 51})
    assert list(validate(rows, Suite("one", [length])).rows) == [1]


def results(*rows: tuple[int, int, str, bool, str]) -> pl.DataFrame:
    schema = {
        "position": pl.Int64,
        "version": pl.Int64,
        "suite": pl.String,
        "passed": pl.Boolean,
        "limits_id": pl.String,
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


PASSED = results((0, 2, "contract", True, "x"), (1, 2, "leakage", True, "x"))


def test_training_may_read_a_version_that_every_suite_passed() -> None:
    require_open_gate(PASSED, "t", "x")


@pytest.mark.parametrize(
    ("verdicts", "limits", "says"),
    [
        (results(), "x", "t has no gate verdict; run `instar gate` first"),
        (PASSED, "y", "t was judged by other limits; run `instar gate` again"),
        (
            results((0, 1, "contract", False, "x"), (1, 1, "leakage", True, "x")),
            "x",
            r"t version 1 failed the suites \['contract'\]",
        ),
    ],
    ids=["none", "other limits", "refused"],
)
def test_training_may_read_nothing_else(verdicts: pl.DataFrame, limits: str, says: str) -> None:
    with pytest.raises(GateClosed, match=says):
        require_open_gate(verdicts, "t", limits)


def test_the_newest_verdicts_are_the_last_whatever_their_versions() -> None:
    older = [(0, 3, "contract", False, "x"), (1, 3, "leakage", True, "x")]
    newer = [(2, 1, "contract", True, "x"), (3, 1, "leakage", True, "x")]
    found = newest_verdicts(results(*newer, *older))
    assert found.rows() == newer
    assert newest_verdicts(results()).is_empty()


def test_other_limits_are_another_gate() -> None:
    ids = [limits_id(GateConfig()), limits_id(GateConfig(min_examples=9)), limits_id(GateConfig())]
    assert ids[0] == ids[2] != ids[1]
