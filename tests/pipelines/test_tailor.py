"""A trajectory is rewritten sparsely, replayed for real, and refused for every planted defect."""

import asyncio
from collections.abc import Sequence

import pytest

from environments.base import Call, Task
from harness.bundle import Bundle
from harness.calls import call_text
from pipelines.catalog import REPAIRS
from pipelines.catalog.repair import Context
from pipelines.tailor import (
    AgentStep,
    Sample,
    Tailored,
    agent_steps,
    check,
    rewrite,
    tailor,
    unbacked_words,
)
from tests.conftest import StepClock
from tests.pipelines.frames import calls, messages
from tests.pipelines.runs import (
    ENV,
    SEED,
    development_task,
    facts,
    observations,
    run,
    search,
    shown,
    solution,
    submit,
)
from warehouse.events import Event
from warehouse.events.dataset import Check, TrajectoryRefused, TrajectoryTailored
from warehouse.events.trajectory import (
    Delivered,
    MessageAdded,
    Scored,
    ToolCalled,
    ToolReturned,
    TrajectoryClosed,
    TrajectoryOpened,
)

TASK = development_task("ticket")
SOLVED = solution(TASK)
ANSWER = ENV.reference(TASK)[-1].arguments["answer"]
FAMILIES = (
    "directory ledger ticket dialogue correction inventory two_hop formatted unstated"
).split()


def repaired(*names: str) -> Bundle:
    bundle = SEED
    for name in names:
        changes = REPAIRS[name].apply(Context(bundle, ENV.open(TASK).tools, ()))
        assert changes is not None
        bundle = bundle.edited(changes)
    return bundle


EVOLVED = repaired("worked_examples", "opening_search", "repeat_brake", "restate_task")


def sampled(turns: Sequence[str], task: Task = TASK, bundle: Bundle = SEED) -> Sample:
    """Run the turns for real and take the trajectory as a sample."""
    return taken(run(task, turns, bundle), task)


def taken(events: Sequence[Event], task: Task = TASK) -> Sample:
    """Return a trajectory as a sample."""
    called = {c.turn: c.call_key for c in facts(events, ToolCalled) if c.component is None}
    returned = {r.call_key: r for r in facts(events, ToolReturned)}
    steps = [
        AgentStep(
            position=event.position,
            text=event.fact.content or "",
            author=event.fact.author,
            result=returned[called[event.fact.turn]].env_output
            if event.fact.turn in called
            else None,
            error=returned[called[event.fact.turn]].error if event.fact.turn in called else None,
        )
        for event in events
        if isinstance(event.fact, MessageAdded)
        and event.fact.role == "assistant"
        and not event.fact.copied_context
    ]
    answers = [fact.answer for fact in facts(events, Delivered)]
    return Sample("sample", task, answers[0] if answers else "", steps)


def tailored(sample: Sample, evolved: Bundle = EVOLVED) -> Tailored:
    return asyncio.run(tailor(sample, ENV, SEED, evolved, "main", StepClock()))


def edits(outcome: Tailored) -> list[tuple[str, str]]:
    return [(edit.action, edit.reason) for edit in outcome.fact.edits]


@pytest.mark.parametrize("family", FAMILIES)
def test_a_straight_solution_is_kept_as_it_is(family: str) -> None:
    task = development_task(family)
    original = run(task, solution(task))
    outcome = tailored(taken(original, task))
    assert isinstance(outcome.fact, TrajectoryTailored)
    assert outcome.fact.replay_score == 1.0
    assert outcome.fact.edits == ()
    assert all(c.passed and not c.detail for c in outcome.fact.checks)
    assert observations(outcome.replay) == observations(original)
    assert shown(outcome.replay) == shown(original)


def test_the_replay_is_a_trajectory_of_its_own_under_the_seed() -> None:
    outcome = tailored(sampled(SOLVED, bundle=EVOLVED))
    (opened,) = facts(outcome.replay, TrajectoryOpened)
    assert (opened.harness_id, opened.replay_of) == (SEED.id, "sample")
    assert {(e.purpose, e.line_id) for e in outcome.replay} == {("replay", "main")}
    assert outcome.fact.replay_id == outcome.replay[0].trajectory_id
    assert not any(m.copied_context for m in facts(outcome.replay, MessageAdded))
    assert [c.termination_class for c in facts(outcome.replay, TrajectoryClosed)] == ["success"]
    assert [s.value_num for s in facts(outcome.replay, Scored)] == [1.0]


def test_tailoring_again_gives_the_same_but_for_the_time() -> None:
    sample = sampled(SOLVED, bundle=EVOLVED)
    first, second = tailored(sample), tailored(sample)
    assert first.fact == second.fact
    assert [e.stream_id for e in first.replay] == [e.stream_id for e in second.replay]


DETOURS: list[tuple[str, str]] = [
    ("Let me think.", "it holds no tool call"),
    (search("no such text anywhere"), "it failed: no_match"),
    (call_text(Call("peek", {})), "it failed: unknown_tool"),
]


@pytest.mark.parametrize(("detour", "reason"), DETOURS)
def test_a_detour_is_dropped_with_its_reason(detour: str, reason: str) -> None:
    outcome = tailored(sampled([detour, *SOLVED]))
    assert isinstance(outcome.fact, TrajectoryTailored)
    assert edits(outcome) == [("drop", reason)]
    (edit,) = outcome.fact.edits
    assert (edit.before, edit.after) == (detour, None)
    assert observations(outcome.replay) == observations(run(TASK, SOLVED))


def test_a_repeated_call_is_dropped() -> None:
    outcome = tailored(sampled([SOLVED[0], *SOLVED]))
    assert edits(outcome) == [("drop", "the same call was made before")]
    assert isinstance(outcome.fact, TrajectoryTailored)


def test_a_blocked_call_is_dropped() -> None:
    sample = sampled([SOLVED[0], SOLVED[0], SOLVED[-1]], bundle=repaired("repeat_brake"))
    outcome = tailored(sample)
    assert edits(outcome) == [("drop", "the evolved harness blocked it")]
    assert isinstance(outcome.fact, TrajectoryTailored)


def test_words_around_a_call_are_rephrased_away() -> None:
    chatty = f"I will search now.\n{SOLVED[0]}\nThen I answer."
    outcome = tailored(sampled([chatty, SOLVED[-1]]))
    assert edits(outcome) == [("rephrase", "the call alone, as the seed prompt asks")]
    (edit,) = outcome.fact.edits
    assert (edit.before, edit.after) == (chatty, SOLVED[0])
    assert [m for m in shown(outcome.replay) if m[0] == "assistant"] == [
        ("assistant", turn) for turn in SOLVED
    ]


def test_another_spelling_of_a_call_is_rephrased_into_the_one_that_is_taught() -> None:
    spelled = SOLVED[0].replace('"tool"', '"name"').replace('"args"', '"arguments"')
    outcome = tailored(sampled([spelled, SOLVED[-1]]))
    assert [e.after for e in outcome.fact.edits] == [SOLVED[0]]


def test_a_call_that_the_harness_wrote_becomes_the_agent_s_own() -> None:
    sample = sampled([SOLVED[-1]], bundle=repaired("opening_search"))
    outcome = tailored(sample)
    assert isinstance(outcome.fact, TrajectoryTailored)
    assert [action for action, _ in edits(outcome)] == ["tool_remap"]
    assert sample.steps[0].author == "harness"
    said = [m for m in facts(outcome.replay, MessageAdded) if m.role == "assistant"]
    assert {m.author for m in said} == {"model"}


def test_edits_name_the_position_of_the_step_they_change() -> None:
    sample = sampled(["Hm.", f"So: {SOLVED[0]}", SOLVED[0], SOLVED[-1]])
    outcome = tailored(sample)
    positions = [step.position for step in sample.steps]
    assert [(e.position, e.action) for e in outcome.fact.edits] == [
        (positions[0], "drop"),
        (positions[1], "rephrase"),
        (positions[2], "drop"),
    ]


def with_a_call_that_only_seemed_to_work(turns: Sequence[str], which: int = 0) -> Sample:
    """Return a sample in which a failed call is recorded as if it had succeeded."""
    sample = sampled(turns)
    steps = list(sample.steps)
    broken = steps[which]
    steps[which] = AgentStep(broken.position, broken.text, broken.author, broken.result, None)
    return Sample(sample.trajectory_id, sample.task, sample.answer, steps)


def test_what_fails_in_the_replay_is_repaired_once() -> None:
    outcome = tailored(with_a_call_that_only_seemed_to_work([search("no such text"), *SOLVED]))
    assert isinstance(outcome.fact, TrajectoryTailored)
    assert edits(outcome) == [("drop", "repair: it failed in the replay")]
    assert observations(outcome.replay) == observations(run(TASK, SOLVED))


def test_a_trajectory_that_rests_on_what_fails_in_the_replay_is_refused() -> None:
    sample = with_a_call_that_only_seemed_to_work([search("no such text"), submit(ANSWER)])
    outcome = tailored(sample)
    assert isinstance(outcome.fact, TrajectoryRefused)
    assert failed(outcome.fact.checks) == {"evidence"}


def test_a_trajectory_without_any_usable_step_is_refused() -> None:
    outcome = tailored(Sample("sample", TASK, ANSWER, [AgentStep(1, "Hm.", "model", None, None)]))
    assert isinstance(outcome.fact, TrajectoryRefused)
    assert {"score", "closing_step", "answer_kept"} <= failed(outcome.fact.checks)


def test_a_refusal_keeps_the_checks_the_edits_and_the_replay() -> None:
    outcome = tailored(sampled(["Hm.", submit(ANSWER)]))
    assert isinstance(outcome.fact, TrajectoryRefused)
    assert outcome.fact.reason.startswith("evidence: seen in no earlier result: [")
    assert edits(outcome) == [("drop", "it holds no tool call")]
    assert outcome.fact.replay_id == outcome.replay[0].trajectory_id


def failed(checks: Sequence[Check]) -> set[str]:
    return {c.name for c in checks if not c.passed}


def planted(
    turns: Sequence[str],
    *,
    sample: Sample | None = None,
    task: Task = TASK,
    evolved: Bundle = EVOLVED,
) -> dict[str, str]:
    """Check a rewriting that no rule would make; return the failed checks with their details."""
    original = sample or sampled(SOLVED if task is TASK else solution(task), task)
    found = check(original, run(task, turns), turns, SEED, evolved)
    return {c.name: c.detail for c in found if not c.passed}


def test_a_sound_rewriting_has_no_defect() -> None:
    assert planted(SOLVED) == {}


def test_an_answer_that_was_not_shown() -> None:
    found = planted([submit(ANSWER)])
    assert list(found) == ["evidence"]
    assert all(word in found["evidence"] for word in ANSWER.lower().split())


def test_a_number_from_nowhere() -> None:
    task = development_task("ledger")
    answer = ENV.reference(task)[-1].arguments["answer"]
    found = planted([search("REPORT"), submit(answer)], task=task)
    assert found["evidence"] == f"seen in no earlier result: ['{answer}']"


def test_a_number_of_the_task_is_no_evidence_but_its_words_are() -> None:
    assert unbacked_words("Room 12", "What is in room 12?", []) == ["12"]


def result(text: str, error: str | None = None, *, truncated: bool = False) -> ToolReturned:
    return ToolReturned(
        turn=1,
        call_key="call-1",
        env_output=text,
        agent_view=text,
        ok=error is None,
        error=error,
        truncated=truncated,
    )


@pytest.mark.parametrize(
    ("seen", "unbacked"),
    [
        (result("Ana Moss works in Oslo."), []),
        (result("ANA-MOSS works in Oslo"), ["ana", "moss"]),
        (result("Anatol Mossman"), ["ana", "moss"]),
        (result("Ana Moss", truncated=True), ["ana", "moss"]),
        (result("Ana Moss", "no_match"), ["ana", "moss"]),
    ],
)
def test_only_whole_words_of_whole_successful_results_back_an_answer(
    seen: ToolReturned, unbacked: list[str]
) -> None:
    assert unbacked_words("Ana Moss", "Who works in Oslo?", [seen]) == unbacked


def cut_search() -> tuple[Task, str]:
    """Return a task and a search whose result is cut after it has shown the answer."""
    for task in ENV.tasks("development"):
        answer = ENV.reference(task)[-1].arguments["answer"]
        for pattern in ("is owned by", "took over ticket", "works in", "is based in"):
            (_, text, _), *_ = observations(run(task, [search(pattern)]))
            if text and "... " in text and answer in text:
                return task, pattern
    raise AssertionError("no development task has such a search")


def test_evidence_in_a_truncated_result() -> None:
    task, pattern = cut_search()
    turns = [search(pattern), solution(task)[-1]]
    assert list(planted(turns, sample=sampled(turns, task), task=task)) == ["evidence"]


def test_a_changed_answer() -> None:
    found = planted([SOLVED[0], submit("Somebody Else")])
    assert found["answer_kept"] == "the answer changed"
    assert "score" in found


def test_over_budget() -> None:
    patterns = ["Ticket", "T-", "TICKET", "ticket ", "Ticket T", "icket"]
    turns = [*(search(p) for p in patterns), *SOLVED]
    found = planted(turns, sample=sampled(turns))
    assert found["budget"] == "8 turns"
    assert "closing_step" in found


def test_a_missing_submit() -> None:
    found = planted(SOLVED[:-1])
    assert found["closing_step"] == "the replay ended with 'max_turns'"


def test_a_repeated_call_that_was_kept() -> None:
    assert planted([SOLVED[0], *SOLVED]) == {"no_repeated_call": "1 calls are repeated"}


def test_a_failed_call_that_was_kept() -> None:
    found = planted([search("no such text"), *SOLVED])
    assert found == {"no_failed_call": "failed calls: ['no_match']"}


def test_a_result_that_the_original_never_had() -> None:
    found = planted([search("TICKET LIST"), *SOLVED])
    assert found == {"same_observations": "1 results differ from the original's"}


def test_a_word_that_only_the_evolved_harness_could_have_taught() -> None:
    evolved = SEED.edited({"lessons/a.md": "First look for the title: TICKET LIST."})
    turns = [search("TICKET LIST"), *SOLVED]
    assert planted(turns, sample=sampled(turns), evolved=evolved) == {
        "residual_wording": "words of the evolved harness only: ['list']"
    }


def test_a_word_that_a_result_showed_before_was_not_only_taught() -> None:
    evolved = SEED.edited({"lessons/a.md": "First look for the title: TICKET LIST."})
    turns = [call_text(Call("scan", {})), search("TICKET LIST"), *SOLVED]
    assert planted(turns, sample=sampled(turns), evolved=evolved) == {}


@pytest.mark.parametrize("turn", ["Let me think.", '{"tool": "search", "args": {'])
def test_a_step_that_no_longer_parses(turn: str) -> None:
    found = planted([turn, *SOLVED])
    assert found == {"every_step_calls": f"steps without a tool call: {[turn]}"}


def test_rewriting_leaves_a_plain_call_as_it_is() -> None:
    turns, made = rewrite(sampled(SOLVED).steps)
    assert (turns, made) == (SOLVED, [])


def test_agent_steps_are_the_agent_s_own_in_order_with_their_results() -> None:
    said = messages(
        {"position": 1, "role": "assistant", "copied_context": True, "content_text": "shown"},
        {"position": 9, "turn": 2, "role": "assistant", "author": "model", "content_text": "b"},
        {"position": 4, "turn": 1, "role": "assistant", "author": "harness", "content_text": "a"},
        {"position": 7, "turn": 1, "role": "user", "content_text": "result"},
        {"position": 12, "turn": 3, "role": "assistant", "author": "model"},
    )
    made = calls(
        {"turn": 1, "component": "probe", "result_text": "a probe's"},
        {"turn": 1, "result_text": "one"},
        {"turn": 2, "result_text": "two", "error": "no_match"},
        {"turn": 2, "component": "probe", "result_text": "a probe's"},
    )
    assert agent_steps(said, made) == [
        AgentStep(4, "a", "harness", "one", None),
        AgentStep(9, "b", "model", "two", "no_match"),
        AgentStep(12, "", "model", None, None),
    ]
