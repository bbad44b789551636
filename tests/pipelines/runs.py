"""Real rollouts of docqa tasks whose model says what a test tells it to say."""

import asyncio
from collections.abc import Iterable, Sequence
from typing import TypeVar

from environments.base import Call, Environment, Task
from environments.docqa import DocQA
from harness.bundle import Bundle
from harness.calls import call_text
from harness.models.replay import ReplayModel
from pipelines.rollout import WorkUnit, attempt
from tests.conftest import StepClock
from warehouse.events import Event
from warehouse.events.base import Fact
from warehouse.events.trajectory import MessageAdded, ToolCalled, ToolReturned

ENV = DocQA()
SEED = Bundle.shipped("seed")
F = TypeVar("F", bound=Fact)


def search(pattern: str) -> str:
    """Return a reply that searches."""
    return call_text(Call("search", {"pattern": pattern}))


def submit(answer: str) -> str:
    """Return a reply that hands an answer in."""
    return call_text(Call("submit", {"answer": answer}))


def development_task(family: str, index: int = 0, env: Environment = ENV) -> Task:
    """Return the family's development task of that number."""
    name = f"{env.name}/development/{family}/{index}"
    return next(task for task in env.tasks("development") if task.task_id == name)


def solution(task: Task) -> list[str]:
    """Return the replies of an agent that solves the task without a detour."""
    return [call_text(call) for call in ENV.reference(task)]


def run(
    task: Task, turns: Sequence[str], bundle: Bundle = SEED, stream: str = "run"
) -> list[Event]:
    """Run one rollout in which the model replies with `turns`."""
    unit = WorkUnit(task=task, bundle=bundle, rollout=0, seed=0, purpose="collect", temperature=0.0)
    model = ReplayModel(turns, "w")
    return asyncio.run(attempt(unit, ENV, model, StepClock(), stream=stream, contract=None))


def facts(events: Iterable[Event], kind: type[F]) -> list[F]:
    """Return the facts of one kind, in order."""
    return [e.fact for e in events if isinstance(e.fact, kind)]


def observations(events: Sequence[Event]) -> list[tuple[str, str | None, str | None]]:
    """Return (call, what the environment said, what the agent was shown), probes left out."""
    returned = {r.call_key: r for r in facts(events, ToolReturned)}
    return [
        (
            f"{call.name} {call.arguments_json}",
            returned[call.call_key].env_output,
            returned[call.call_key].agent_view,
        )
        for call in facts(events, ToolCalled)
        if call.component is None
    ]


def shown(events: Sequence[Event]) -> list[tuple[str, str | None]]:
    """Return the conversation as the model saw it."""
    return [(m.role, m.content) for m in facts(events, MessageAdded)]
