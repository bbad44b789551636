"""The evidence shows development and no gold; repairs are chosen by what they answer."""

from typing import Any

import polars as pl
import pytest

from pipelines.catalog import REPAIRS
from pipelines.catalog.repair import Context
from pipelines.specify import (
    EvidenceConfig,
    choose,
    package,
    passing_conversations,
    specification,
)
from tests.pipelines.frames import a_reading, messages, score_checks
from tests.pipelines.runs import ENV, SEED, development_task

TOOLS = ENV.open(development_task("ticket")).tools
GROUPS = pl.Schema(
    {
        "group_id": pl.String,
        "pattern": pl.String,
        "label": pl.String,
        "signal": pl.String,
        "n_trajectories": pl.Int64,
        "n_tasks": pl.Int64,
        "recurring": pl.Boolean,
        "examples": pl.List(pl.String),
        "suspected_surface": pl.String,
    }
)


def a_group(signal: str, n: int = 4, *, calls: str = "calls_ok", **given: Any) -> dict[str, Any]:
    plain = {
        "group_id": signal,
        "pattern": f"F3 | {signal} | {calls} | success | value",
        "label": "F3",
        "signal": signal,
        "n_trajectories": n,
        "n_tasks": 2,
        "recurring": True,
        "examples": [],
        "suspected_surface": "prompts",
    }
    return {**plain, **given}


def groups(*rows: dict[str, Any]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=GROUPS)


def chosen(*rows: dict[str, Any], tried: tuple[str, ...] = (), n: int = 9) -> list[str]:
    """Return the names of the repairs chosen for the seed harness, best first."""
    context = Context(SEED, TOOLS, passing=())
    return [r.name for r, _ in choose(groups(*rows), context, tried, n)]


def test_a_repair_is_chosen_for_a_signal_that_it_answers() -> None:
    assert chosen(a_group("repeated_call")) == ["opening_search", "repeat_brake"]
    assert chosen(a_group("terminated")) == []
    assert chosen() == []


def test_the_repair_that_answers_more_failures_comes_first() -> None:
    # opening_search answers all of them, restate_task the eight, repeat_brake the three.
    found = chosen(a_group("none", 8), a_group("repeated_call", 3))
    assert found == ["opening_search", "restate_task", "repeat_brake"]


def test_recurring_groups_weigh_more_than_any_auxiliary_one() -> None:
    rare = a_group("none", 50, recurring=False)
    found = chosen(rare, a_group("budget", 1))
    assert found.index("repeat_brake") < found.index("restate_task")


def test_auxiliary_groups_break_ties() -> None:
    rare = a_group("unbacked_claims", 1, recurring=False)
    found = chosen(a_group("none", 2), rare)
    assert found == ["opening_search", "restate_task", "answer_check"]


def test_of_equals_the_catalog_s_order_decides() -> None:
    found = chosen(a_group("budget"))
    assert found == [name for name in REPAIRS if name in found]
    assert len(found) == 4


def test_replies_without_a_call_call_for_calls_and_for_nothing_else() -> None:
    found = chosen(a_group("budget", calls="no_call"))
    assert found == ["worked_examples", "call_schema"]


def test_what_was_tried_on_this_harness_stands_aside() -> None:
    tried = REPAIRS["opening_search"].title
    assert chosen(a_group("repeated_call"), tried=(tried,)) == ["repeat_brake"]


def test_what_has_nothing_to_do_stands_aside() -> None:
    changes = REPAIRS["repeat_brake"].apply(Context(SEED, TOOLS, ()))
    assert changes is not None
    there = Context(SEED.edited(changes), TOOLS, ())
    found = choose(groups(a_group("repeated_call")), there, (), 9)
    assert [r.name for r, _ in found] == ["opening_search"]


def test_at_most_n_are_chosen() -> None:
    assert chosen(a_group("budget"), n=2) == chosen(a_group("budget"))[:2]


def test_a_choice_comes_with_the_patterns_it_answers() -> None:
    rows = groups(a_group("none", 8), a_group("repeated_call", 3))
    found = choose(rows, Context(SEED, TOOLS, ()), (), 9)
    patterns = {r.name: p for r, p in found}
    assert patterns["opening_search"] == rows["pattern"].to_list()
    assert patterns["repeat_brake"] == [rows["pattern"][1]]


def test_the_specification_names_patterns_and_changes() -> None:
    rows = groups(a_group("none", 8), a_group("repeated_call", 3))
    spec = specification(choose(rows, Context(SEED, TOOLS, ()), (), 2))
    assert spec["failure_patterns"] == sorted(rows["pattern"])
    assert [change["repair"] for change in spec["proposed_changes"]] == [
        "opening_search",
        "restate_task",
    ]


SAID = messages(
    {"position": 0, "role": "system", "content_text": "You are."},
    {"position": 1, "role": "user", "content_text": "An example?", "copied_context": True},
    {"position": 2, "role": "assistant", "content_text": "Shown.", "copied_context": True},
    {"position": 3, "role": "user", "content_text": "Question: Who?"},
    {"position": 5, "turn": 1, "role": "user", "content_text": "Result: Ana."},
    {"position": 4, "turn": 1, "role": "assistant", "content_text": "search"},
).with_columns(trajectory_id=pl.lit("t0"))
NO_EARLIER = pl.DataFrame(schema={"title": pl.String, "outcome": pl.String, "reason": pl.String})
NO_PASSING = pl.DataFrame(schema={"trajectory_id": pl.String, "family": pl.String})


def packaged(config: EvidenceConfig | None = None, **given: pl.DataFrame) -> dict[str, Any]:
    frames = {
        "groups": groups(a_group("none", examples=["t0"])),
        "messages": SAID,
        "score_checks": score_checks(),
        "passing": NO_PASSING,
        "earlier": NO_EARLIER,
        **given,
    }
    return package(a_reading(mean=0.25), **frames, config=config or EvidenceConfig())


def test_the_package_holds_the_reading_and_what_earlier_edits_did() -> None:
    earlier = pl.DataFrame({"title": ["T"], "outcome": ["rejected"], "reason": ["why"], "x": [1]})
    found = packaged(earlier=earlier)
    assert found["reading"]["mean"] == 0.25
    assert found["earlier_edits"] == [{"title": "T", "outcome": "rejected", "reason": "why"}]


def test_failed_checks_are_shares_of_where_they_apply_worst_first() -> None:
    found = packaged(
        score_checks=score_checks(
            ("t0", "value", False),
            ("t1", "value", True),
            ("t0", "form", False),
            ("t1", "form", None),
            ("t0", "delivered", True),
        )
    )
    assert list(found["failed_checks"].items()) == [("form", 1.0), ("value", 0.5), ("delivered", 0)]


def test_an_excerpt_is_what_happened_after_the_task_in_order() -> None:
    (group,) = packaged()["groups"]
    assert group["excerpts"] == [
        {"trajectory_id": "t0", "text": "assistant: search\nuser: Result: Ana."}
    ]


def test_a_long_excerpt_is_cut_and_says_by_how_much() -> None:
    long = SAID.with_columns(
        pl.when(pl.col("position") == 5)
        .then(pl.lit("x" * 100))
        .otherwise("content_text")
        .alias("content_text")
    )
    (group,) = packaged(EvidenceConfig(excerpt_chars=40), messages=long)["groups"]
    text = group["excerpts"][0]["text"]
    whole = len("assistant: search\nuser: ") + 100
    assert text.endswith(f"x\n[{whole - 40} more characters cut]")


def test_how_much_is_shown_can_be_set() -> None:
    many = groups(*(a_group(signal) for signal in ("none", "budget", "repeated_call")))
    passing = pl.DataFrame({"trajectory_id": ["p0", "p1"], "family": ["a", "b"]})
    found = packaged(EvidenceConfig(groups=2, passing=1), groups=many, passing=passing)
    assert [g["signal"] for g in found["groups"]] == ["none", "budget"]
    assert found["passing"] == [{"trajectory_id": "p0", "family": "a"}]


def test_passing_conversations_begin_at_the_task() -> None:
    passing = pl.DataFrame({"trajectory_id": ["t0", "gone"], "family": ["a", "b"]})
    (talk,) = passing_conversations(passing, SAID, 1)
    assert [(m.role, m.content) for m in talk] == [
        ("user", "Question: Who?"),
        ("assistant", "search"),
        ("user", "Result: Ana."),
    ]


@pytest.mark.parametrize("n", [0, 1])
def test_no_more_conversations_than_asked_for(n: int) -> None:
    passing = pl.DataFrame({"trajectory_id": ["t0", "t0"], "family": ["a", "b"]})
    assert len(passing_conversations(passing, SAID, n)) == n
