"""Rewrite a trajectory so that the seed harness could have produced it, and prove it by replay.

Edits are sparse and only of existing agent steps; observations are never edited, they come from the
replay in a fresh session under the seed harness. Source: EvoIn §3, A.3, A.5.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from environments.base import Environment, Task
from harness.bundle import Bundle
from harness.calls import call_text, parse_call
from harness.models.replay import ReplayModel
from pipelines.rollout import WorkUnit, attempt
from warehouse.clock import Clock
from warehouse.events import Event
from warehouse.events.dataset import Check, Edit, TrajectoryRefused, TrajectoryTailored
from warehouse.events.trajectory import (
    MessageAdded,
    Scored,
    ToolCalled,
    ToolReturned,
    TrajectoryClosed,
)
from warehouse.ids import bare, content_id


@dataclass(frozen=True, slots=True)
class AgentStep:
    """One assistant message of the original, with the result of the call it holds."""

    position: int
    text: str
    author: str
    result: str | None
    error: str | None


@dataclass(frozen=True, slots=True)
class Sample:
    """One trajectory to convert: its task, its steps, the answer it handed in."""

    trajectory_id: str
    task: Task
    answer: str
    steps: Sequence[AgentStep]


@dataclass(frozen=True, slots=True)
class Tailored:
    """The outcome for one sample: the replay's events, and the fact that accepts or refuses it."""

    replay: Sequence[Event]
    fact: TrajectoryTailored | TrajectoryRefused


def agent_steps(messages: pl.DataFrame, tool_calls: pl.DataFrame) -> list[AgentStep]:
    """Return the agent's steps of one trajectory, in order, without the harness's own probes."""
    visible = tool_calls.filter(pl.col("component").is_null())
    results = {row["turn"]: row for row in visible.iter_rows(named=True)}
    said = messages.filter((pl.col("role") == "assistant") & ~pl.col("copied_context"))
    return [
        AgentStep(
            position=row["position"],
            text=row["content_text"] or "",
            author=row["author"],
            result=results.get(row["turn"], {}).get("result_text"),
            error=results.get(row["turn"], {}).get("error"),
        )
        for row in said.sort("position").iter_rows(named=True)
    ]


def rewrite(steps: Sequence[AgentStep]) -> tuple[list[str], list[Edit]]:
    """Return the turns to replay and the edits that lead to them, by rule.

    Dropped: a step without a call, a blocked or failed call, a call made before. Rephrased: a call
    with anything around it. Remapped: a call that a component of the evolved harness wrote in the
    agent's place becomes the agent's own.
    """
    turns: list[str] = []
    edits: list[Edit] = []
    made: list[object] = []
    for step in steps:
        parsed = parse_call(step.text)
        why = _why_drop(step, parsed is not None and parsed.call in made)
        if parsed is None or why:
            reason = why or "it holds no tool call"
            edits.append(_edit(step, "drop", reason, None))
            continue
        made.append(parsed.call)
        text = call_text(parsed.call)
        if step.author == "harness":
            reason = "the evolved harness wrote this call; the seed's tools allow it to the agent"
            edits.append(_edit(step, "tool_remap", reason, text))
        elif text != step.text:
            edits.append(_edit(step, "rephrase", "the call alone, as the seed prompt asks", text))
        turns.append(text)
    return turns, edits


async def tailor(
    sample: Sample, env: Environment, seed: Bundle, evolved: Bundle, line_id: str, clock: Clock
) -> Tailored:
    """Rewrite, replay and check one sample; what fails in the first replay is repaired once."""
    turns, edits = rewrite(sample.steps)
    replay = await _replay(sample, turns, env, seed, line_id, clock)
    failed = _failed_turns(replay)
    if failed:
        kept = [turn for i, turn in enumerate(turns) if i not in failed]
        edits += [_repair(sample.steps, turns[i]) for i in sorted(failed)]
        turns, replay = kept, await _replay(sample, kept, env, seed, line_id, clock)
    checks = check(sample, replay, turns, seed, evolved)
    refused = [c for c in checks if not c.passed]
    replay_id = replay[0].trajectory_id or ""
    if refused:
        reasons = "; ".join(f"{c.name}: {c.detail}" for c in refused)
        return Tailored(
            replay,
            TrajectoryRefused(
                sample_id=sample.trajectory_id,
                replay_id=replay_id,
                edits=tuple(edits),
                checks=tuple(checks),
                reason=reasons,
            ),
        )
    return Tailored(
        replay,
        TrajectoryTailored(
            sample_id=sample.trajectory_id,
            replay_id=replay_id,
            seed_harness_id=seed.id,
            edits=tuple(edits),
            checks=tuple(checks),
            replay_digest=_digest(replay),
            replay_score=_score(replay),
        ),
    )


def check(
    sample: Sample, replay: Sequence[Event], turns: Sequence[str], seed: Bundle, evolved: Bundle
) -> list[Check]:
    """Return every deterministic check of a replayed rewriting."""
    calls = [e.fact for e in replay if isinstance(e.fact, ToolCalled)]
    returns = [e.fact for e in replay if isinstance(e.fact, ToolReturned)]
    closed = next(e.fact for e in replay if isinstance(e.fact, TrajectoryClosed))
    originals = {step.result for step in sample.steps}
    delivered = closed.termination_class == "success"
    new = [r.env_output for r in returns if r.ok and r.env_output not in originals]
    failed = [r.error for r in returns if r.error]
    repeated = len(calls) - len({(c.name, c.arguments_json) for c in calls})
    unbacked = unbacked_words(sample.answer, sample.task.prompt, returns)
    residual = residual_words(replay, seed, evolved)
    silent = [turn for turn in turns if parse_call(turn) is None]
    value = _score(replay)
    return [
        _check("score", value >= 1.0, f"the replay scores {value:g}"),
        _check("every_step_calls", not silent, f"steps without a tool call: {silent}"),
        _check("closing_step", delivered, f"the replay ended with {closed.termination_raw!r}"),
        _check("budget", len(turns) <= seed.spec.loop.max_turns, f"{len(turns)} turns"),
        _check("same_observations", not new, f"{len(new)} results differ from the original's"),
        _check("no_failed_call", not failed, f"failed calls: {failed}"),
        _check("no_repeated_call", repeated == 0, f"{repeated} calls are repeated"),
        _check("evidence", not unbacked, f"seen in no earlier result: {unbacked}"),
        _check("residual_wording", not residual, f"words of the evolved harness only: {residual}"),
        _check("answer_kept", _answer(turns) == sample.answer, "the answer changed"),
    ]


def unbacked_words(answer: str, prompt: str, returns: Sequence[ToolReturned]) -> list[str]:
    """Return the words of an answer that no successful, untruncated earlier result shows.

    Words that the task itself gives are backed, except numbers.
    """
    shown = _words(" ".join(r.agent_view or "" for r in returns if r.ok and not r.truncated))
    given = {word for word in _words(prompt) if not word.isdecimal()}
    return sorted(_words(answer) - shown - given)


def residual_words(replay: Sequence[Event], seed: Bundle, evolved: Bundle) -> list[str]:
    """Return words of the agent's turns that only the evolved harness could have taught.

    They stand in the evolved bundle's files and not in the seed's, and in no message that the seed
    harness showed the agent before: a result that repeats the agent's own word backs nothing.
    """
    taught = _bundle_words(evolved) - _bundle_words(seed)
    shown: set[str] = set()
    residual: set[str] = set()
    for message in (e.fact for e in replay if isinstance(e.fact, MessageAdded)):
        words = _words(message.content or "")
        if message.role == "assistant":
            residual |= (words & taught) - shown
        else:
            shown |= words
    return sorted(residual)


def _bundle_words(bundle: Bundle) -> set[str]:
    """Return the words that a bundle can show: a component's texts are its parameters, not code."""
    shown = (text for path, text in bundle.texts().items() if not path.startswith("middleware/"))
    return _words(" ".join(shown))


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+(?:[.-]\w+)*", text.casefold()))


def _why_drop(step: AgentStep, repeated: bool) -> str:
    if step.error == "blocked":
        return "the evolved harness blocked it"
    if step.error:
        return f"it failed: {step.error}"
    return "the same call was made before" if repeated else ""


def _edit(step: AgentStep, action: str, reason: str, after: str | None) -> Edit:
    return Edit.model_validate(
        {
            "position": step.position,
            "action": action,
            "reason": reason,
            "before": step.text,
            "after": after,
        }
    )


def _repair(steps: Sequence[AgentStep], turn: str) -> Edit:
    step = next(s for s in steps if (p := parse_call(s.text)) and call_text(p.call) == turn)
    return _edit(step, "drop", "repair: it failed in the replay", None)


async def _replay(
    sample: Sample,
    turns: Sequence[str],
    env: Environment,
    seed: Bundle,
    line_id: str,
    clock: Clock,
) -> list[Event]:
    """Run the turns under the seed harness in a fresh session."""
    unit = WorkUnit(
        task=sample.task,
        bundle=seed,
        rollout=0,
        seed=0,
        purpose="replay",
        temperature=0.0,
        line_id=line_id,
    )
    stream = content_id(["replay", sample.trajectory_id, seed.id, list(turns)])
    return await attempt(
        unit,
        env,
        ReplayModel(turns, "replay"),
        clock,
        stream=bare(stream),
        contract=None,
        replay_of=sample.trajectory_id,
    )


def _failed_turns(replay: Sequence[Event]) -> set[int]:
    """Return the 0-based turns whose call failed."""
    return {e.fact.turn - 1 for e in replay if isinstance(e.fact, ToolReturned) and e.fact.error}


def _score(replay: Sequence[Event]) -> float:
    scored = next(e.fact for e in replay if isinstance(e.fact, Scored))
    return scored.value_num if scored.value_num is not None else 0.0


def _answer(turns: Sequence[str]) -> str | None:
    parsed = parse_call(turns[-1]) if turns else None
    values = list(parsed.call.arguments.values()) if parsed else []
    return str(values[0]).strip() if len(values) == 1 else None


def _digest(replay: Sequence[Event]) -> str:
    """Return the id of what the model would see: every message of the replay."""
    return content_id(
        [[e.fact.role, e.fact.content] for e in replay if isinstance(e.fact, MessageAdded)]
    )


def _check(name: str, passed: bool, detail: str) -> Check:
    return Check(name=name, passed=passed, detail="" if passed else detail)
