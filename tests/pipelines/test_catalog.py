"""Every known repair is a sound edit of the seed, made once, and does what it says when run."""

from collections.abc import Mapping, Sequence

import pytest

from environments.base import ToolSpec
from harness.bundle import MANIFEST, SURFACES, Bundle, changed_files
from harness.checks import static_checks
from harness.messages import ChatMessage
from pipelines.catalog import REPAIRS
from pipelines.catalog.repair import Context
from pipelines.group import SURFACES as SIGNALS
from tests.pipelines.runs import ENV, SEED, development_task, facts, run, search, solution, submit
from warehouse.events.trajectory import HarnessFired, MessageAdded, ToolReturned

TASK = development_task("ticket")
TOOLS = ENV.open(TASK).tools
PASSED = [
    ChatMessage("user", "Question: Who?"),
    ChatMessage("assistant", submit("Somebody")),
]
SAME = [search("the"), search("the")]

EVERY = pytest.mark.parametrize("name", list(REPAIRS))


def context(
    bundle: Bundle = SEED,
    tools: Sequence[ToolSpec] = TOOLS,
    passing: Sequence[Sequence[ChatMessage]] = (PASSED,),
) -> Context:
    return Context(bundle, tools, passing)


def repaired(name: str, bundle: Bundle = SEED) -> Bundle:
    changes = REPAIRS[name].apply(context(bundle))
    assert changes is not None
    return bundle.edited(changes)


@EVERY
def test_a_repair_of_the_seed_passes_the_static_checks(name: str) -> None:
    failed = [c for c in static_checks(repaired(name), TOOLS) if not c.passed]
    assert failed == []


@EVERY
def test_a_repair_that_was_made_has_nothing_left_to_do(name: str) -> None:
    assert REPAIRS[name].apply(context(repaired(name))) is None


@EVERY
def test_a_repair_touches_the_surfaces_only_and_removes_nothing(name: str) -> None:
    after = repaired(name)
    changed = changed_files(SEED, after)
    assert changed
    assert {path.partition("/")[0] for path in changed} <= {*SURFACES, MANIFEST}
    assert set(SEED.files) <= set(after.files)


@EVERY
def test_a_repair_leaves_the_limits_of_the_loop_and_the_prompts_alone(name: str) -> None:
    assert repaired(name).spec.loop == SEED.spec.loop
    assert repaired(name).spec.prompts == SEED.spec.prompts


@EVERY
def test_a_repair_answers_signals_that_exist(name: str) -> None:
    assert REPAIRS[name].answers <= SIGNALS.keys()
    assert REPAIRS[name].name == name


def test_all_repairs_together_are_a_sound_bundle() -> None:
    bundle = SEED
    for name in REPAIRS:
        bundle = repaired(name, bundle)
    assert all(check.passed for check in static_checks(bundle, TOOLS))


FIRES: Mapping[str, tuple[Sequence[str], str]] = {
    "worked_examples": ([], "changed"),
    "call_schema": ([], "changed"),
    "opening_search": ([], "changed"),
    "answer_check": ([submit("Nobody Knows")], "blocked"),
    "restate_task": ([search("the")], "changed"),
    "repeat_brake": (SAME, "blocked"),
    "budget_nudge": ([""] * SEED.spec.loop.max_turns, "changed"),
    "passing_examples": ([], "changed"),
}
"""What the model says where a repair should act, and what its component then does."""


@EVERY
def test_the_named_component_acts_where_it_should(name: str) -> None:
    turns, effect = FIRES[name]
    fired = facts(run(TASK, turns, repaired(name)), HarnessFired)
    effects = {f.effect for f in fired if f.component == REPAIRS[name].fires}
    assert effect in effects


@EVERY
def test_the_tag_of_a_repair_is_the_side_that_its_component_changes(name: str) -> None:
    turns, _ = FIRES[name]
    fired = facts(run(TASK, turns, repaired(name)), HarnessFired)
    tags = {f.tag for f in fired if f.component == REPAIRS[name].fires and f.effect != "none"}
    assert tags == {REPAIRS[name].tag}


@pytest.mark.parametrize("name", ["answer_check", "repeat_brake"])
def test_a_brake_leaves_a_sound_solution_alone(name: str) -> None:
    events = run(TASK, solution(TASK), repaired(name))
    fired = [f for f in facts(events, HarnessFired) if f.component == REPAIRS[name].fires]
    assert {f.effect for f in fired} <= {"none"}
    assert [r.error for r in facts(events, ToolReturned)] == [None, None]


def test_the_nudge_comes_in_the_last_turns_only() -> None:
    fired = facts(run(TASK, [""] * 6, repaired("budget_nudge")), HarnessFired)
    mine = [f for f in fired if f.component == "middleware/budget_nudge.py"]
    assert [f.turn for f in mine if f.effect == "changed"] == [5, 6]


def test_passing_examples_take_the_place_of_invented_ones() -> None:
    bundle = repaired("passing_examples", repaired("worked_examples"))
    copied = [m for m in facts(run(TASK, [], bundle), MessageAdded) if m.copied_context]
    assert [(m.role, m.content) for m in copied] == [(m.role, m.content) for m in PASSED]


def test_worked_examples_speak_in_the_harness_s_own_prompts() -> None:
    copied = [
        m
        for m in facts(run(TASK, [], repaired("worked_examples")), MessageAdded)
        if m.copied_context
    ]
    assert [m.role for m in copied] == ["user", "assistant"] * 4
    assert copied[0].content is not None
    assert copied[0].content.startswith("Question: ")
    assert copied[2].content is not None
    assert copied[2].content.startswith("Result:\n")


@pytest.mark.parametrize(
    ("name", "without"),
    [
        ("worked_examples", "search"),
        ("worked_examples", "submit"),
        ("opening_search", "search"),
        ("answer_check", "submit"),
        ("budget_nudge", "submit"),
    ],
)
def test_a_repair_stands_aside_where_the_tool_it_needs_is_missing(name: str, without: str) -> None:
    tools = [tool for tool in TOOLS if tool.name != without]
    assert REPAIRS[name].apply(context(tools=tools)) is None


def test_passing_examples_stand_aside_where_nothing_passed() -> None:
    assert REPAIRS["passing_examples"].apply(context(passing=())) is None
