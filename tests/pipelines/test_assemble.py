"""What the gate looks at is read from the lineage and the conversation; refusals keep reasons."""

import json
from collections.abc import Sequence
from typing import Any

import polars as pl
import pytest

from pipelines.assemble import card, dataset_id, rows, split
from tests.pipelines.frames import calls, messages, trajectories
from warehouse.quality import Verdict
from warehouse.tables import STAGE_TABLES

TAILORED = pl.Schema(
    {
        "trajectory_id": pl.String,
        "line_id": pl.String,
        "sample_id": pl.String,
        "replay_score": pl.Float64,
    }
)
TALK = [("system", "You are."), ("user", "Question: Who?"), ("assistant", '{"tool": "submit"}')]


def words(talk: Sequence[dict[str, str]]) -> tuple[int, int]:
    """Count words: all of them, and the assistant's."""
    counts = [(m["role"], len(m["content"].split())) for m in talk]
    return sum(n for _, n in counts), sum(n for role, n in counts if role == "assistant")


def assembled(
    *talks: list[tuple[str, str | None]],
    unanswered: tuple[str, ...] = (),
    test_tasks: tuple[str, ...] = (),
    test_questions: tuple[str, ...] = (),
    candidate_of: dict[str, str] | None = None,
) -> pl.DataFrame:
    """Assemble replays r0, r1, … of samples s0, s1, …; each replay has a conversation."""
    names = range(len(talks))
    runs: list[dict[str, Any]] = [
        {"trajectory_id": f"r{i}", "task_id": f"task{i}", "harness_id": "seed"} for i in names
    ]
    runs += [
        {"trajectory_id": f"s{i}", "task_id": f"task{i}", "harness_id": "evolved"} for i in names
    ]
    said = [
        {"trajectory_id": f"r{i}", "position": at, "role": role, "content_text": text}
        for i, talk in enumerate(talks)
        for at, (role, text) in reversed(list(enumerate(talk)))
    ]
    tailored = pl.DataFrame(
        [
            {"trajectory_id": f"r{i}", "line_id": "main", "sample_id": f"s{i}", "replay_score": 1.0}
            for i in names
        ],
        schema=TAILORED,
    )
    return rows(
        tailored,
        trajectories(*runs),
        messages(*said),
        calls(
            *({"trajectory_id": f"r{i}"} for i in names),
            *({"trajectory_id": name, "answered": False} for name in unanswered),
        ),
        candidate_of={"evolved": "c1"} if candidate_of is None else candidate_of,
        tools="[]",
        test_tasks=test_tasks,
        test_questions=test_questions,
        count_tokens=words,
    )


def the_row(*talks: list[tuple[str, str | None]], **given: Any) -> dict[str, Any]:
    return assembled(*talks, **given).row(-1, named=True)


def test_an_example_is_the_replay_with_the_lineage_of_its_sample() -> None:
    row = the_row(TALK)
    assert json.loads(row["messages"]) == [{"role": r, "content": t} for r, t in TALK]
    assert (row["trajectory_id"], row["sample_id"], row["task_id"]) == ("r0", "s0", "task0")
    assert (row["harness_id"], row["candidate_id"], row["n_lineage"]) == ("evolved", "c1", 2)
    assert (row["n_tokens"], row["n_trained_tokens"]) == (6, 2)
    assert (row["family"], row["tools"], row["replay_score"]) == ("ticket", "[]", 1.0)


def test_a_sound_conversation_has_nothing_to_refuse() -> None:
    row = the_row(TALK)
    assert {k: row[k] for k in ("n_unanswered", "n_template_marks")} == {
        "n_unanswered": 0,
        "n_template_marks": 0,
    }
    assert (row["first_user_chars"], row["n_assistant_turns"]) == (14, 1)
    assert row["ends_with_assistant"] is True
    assert not (row["is_test_task"])
    assert not (row["is_test_question"])
    assert not (row["is_duplicate"])


def test_a_harness_that_no_candidate_brought_is_a_gap_in_the_lineage() -> None:
    row = the_row(TALK, candidate_of={"another": "c1"})
    assert (row["harness_id"], row["candidate_id"], row["n_lineage"]) == ("evolved", None, 1)


@pytest.mark.parametrize(
    ("talk", "figure", "value"),
    [
        ([("user", " \n"), TALK[2]], "first_user_chars", 0),
        ([("user", None), TALK[2]], "first_user_chars", 0),
        ([("system", "You are."), TALK[2]], "first_user_chars", 0),
        ([TALK[1]], "n_assistant_turns", 0),
        ([TALK[2], TALK[1]], "ends_with_assistant", False),
        ([TALK[1], ("assistant", "<|im_end|> <|im_start|>")], "n_template_marks", 2),
    ],
)
def test_what_is_wrong_with_a_conversation_has_a_figure(
    talk: list[tuple[str, str | None]], figure: str, value: object
) -> None:
    counted = [(role, text or "") for role, text in talk]
    assert the_row(counted)[figure] == value


def test_unanswered_calls_are_counted_per_trajectory() -> None:
    found = assembled(TALK, [*TALK, TALK[2]], unanswered=("r1", "r1"))
    assert found["n_unanswered"].to_list() == [0, 2]


def test_test_tasks_and_test_questions_are_recognized() -> None:
    assert the_row(TALK, test_tasks=("task0",))["is_test_task"] is True
    assert the_row(TALK, test_questions=("Who?",))["is_test_question"] is True
    assert the_row(TALK, test_questions=("Whose?",))["is_test_question"] is False


def test_the_second_of_two_equal_conversations_is_the_duplicate() -> None:
    found = assembled(TALK, TALK, [*TALK, TALK[2]])
    assert found["is_duplicate"].to_list() == [False, True, False]


def test_a_row_that_breaks_anything_is_refused_with_every_reason() -> None:
    frame = assembled(TALK, [*TALK, TALK[2]], [*TALK, TALK[1], TALK[2]])
    verdicts = [
        Verdict("a", 3, {1: ["first"]}),
        Verdict("b", 3, {1: ["second"], 2: ["third"]}, batch=["the whole"]),
    ]
    kept, refused = split(frame, verdicts)
    assert kept["trajectory_id"].to_list() == ["r0"]
    assert refused.select("sample_id", "reason", "failed_expectations").rows() == [
        ("s1", "first; second", ["first", "second"]),
        ("s2", "third", ["third"]),
    ]


def test_examples_and_refusals_fit_their_tables_also_when_there_are_none() -> None:
    for frame, verdicts in (
        (assembled(TALK, [*TALK, TALK[2]]), [Verdict("a", 2, {0: ["x"]})]),
        (assembled(), []),
    ):
        kept, refused = split(frame, verdicts)
        STAGE_TABLES["sft_examples"].validate(kept)
        STAGE_TABLES["sft_quarantine"].validate(refused)


def test_a_dataset_is_its_conversations_and_their_origin_in_no_order() -> None:
    frame, _ = split(assembled(TALK, [*TALK, TALK[2]]), [])
    assert dataset_id(frame) == dataset_id(frame.reverse())
    assert dataset_id(frame) != dataset_id(frame.head(1))
    assert dataset_id(frame) != dataset_id(frame.with_columns(trajectory_id=pl.lit("x")))


def test_the_card_balances() -> None:
    frame = assembled(TALK, [*TALK, TALK[2]], [*TALK, TALK[1], TALK[2]])
    kept, refused = split(frame, [Verdict("a", 3, {2: ["too long", "no task"]})])
    infeasible = pl.DataFrame({"reason": ["evidence: x; budget: 8 turns", "evidence: y"]})
    found = card(kept, refused, 3, infeasible)
    assert (found["n_samples"], found["n_tailored"], found["n_infeasible"]) == (5, 3, 2)
    assert (found["n_quarantined"], found["n_examples"], found["n_tasks"]) == (1, 2, 2)
    assert found["n_tailored"] == found["n_quarantined"] + found["n_examples"]
    assert found["infeasible_reasons"] == {"budget": 1, "evidence": 2}
    assert found["quarantine_reasons"] == {"no task": 1, "too long": 1}
    assert found["families"] == {"ticket": 2}
    assert found["tokens"] == {"total": 14, "trained": 6, "longest": 8}


def test_the_card_of_nothing() -> None:
    kept, refused = split(assembled(), [])
    found = card(kept, refused, 0, pl.DataFrame(schema={"reason": pl.String}))
    assert (found["n_examples"], found["tokens"]["longest"]) == (0, 0)
