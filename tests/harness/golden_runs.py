"""A handful of rollouts whose every event is written down in `golden/`."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from environments.base import Task
from harness.bundle import Bundle
from harness.calls import call_text
from harness.messages import Model
from harness.models.replay import ReplayModel
from harness.models.scripted import ScriptedHost, ScriptedModel
from pipelines.rollout import attempt, contract_id, plan, trajectory_id
from tests.harness.support import ENV, NOON, SEED, search, submit, with_middleware, with_spec
from warehouse.clock import Clock

FOLDER = Path(__file__).with_name("golden")
EXAMPLES = """\
- - role: user
    content: 'Question: Where does Tom Fox live?'
  - role: assistant
    content: '{"tool": "search", "args": {"pattern": "Tom Fox"}}'
"""


@dataclass(frozen=True)
class Run:
    """Which task, under which bundle, by which model: a scripted one's name, or its turns."""

    task: Task
    bundle: Bundle
    model: str | tuple[str, ...]


def ticking() -> Clock:
    """Return a clock that advances a second per reading."""
    readings = iter(range(1_000_000))
    return lambda: _at(next(readings))


def _at(seconds: int) -> datetime:
    return NOON + timedelta(seconds=seconds)


def task(split: str, family: str) -> Task:
    """Return the first task of a family in a split."""
    return next(task for task in ENV.tasks(split) if task.family == family)


def reference(solved: Task) -> tuple[str, ...]:
    """Return the turns of a model that solves a task."""
    return tuple(call_text(call) for call in ENV.reference(solved))


def _everything() -> Bundle:
    """The seed with worked examples, constrained calls and every component."""
    parts: Mapping[str, Mapping[str, Any]] = {
        "opening_search": {"tool": "search", "argument": "pattern"},
        "answer_check": {"times": 2, "text": "Error: the answer must be words from a result."},
        "restate_task": {"lead": "Question: "},
        "repeat_brake": {"text": "Error: that call was already made."},
        "budget_nudge": {"turns_left": 2, "text": "This is one of the last turns."},
    }
    bundle = with_spec(
        SEED.edited({"policies/examples.yaml": EXAMPLES}),
        examples=["policies/examples.yaml"],
        calls={"constrained": True},
    )
    for name, parameters in parts.items():
        bundle = with_middleware(name, parameters, bundle)
    return bundle


DIRECTORY, TWO_HOP = task("development", "directory"), task("held-out", "cross_file")
CRASHING = with_middleware(
    "from harness.hooks import Middleware\n\n"
    "class Crashing(Middleware):\n"
    "    def after_tool(self, view, call, state):\n"
    "        raise ValueError(f'turn {state.turn}')\n"
)
RUNS: Mapping[str, Run] = {
    "seed_silent": Run(DIRECTORY, SEED, "silent"),
    "seed_looper": Run(DIRECTORY, SEED, "looper"),
    "seed_solved": Run(TWO_HOP, SEED, reference(TWO_HOP)),
    "everything_clerk": Run(DIRECTORY, _everything(), "clerk"),
    "everything_stubborn": Run(
        DIRECTORY,
        _everything(),
        (search("Nobody Here"), search("Nobody Here"), *[submit("Atlantis")] * 3),
    ),
    "crashing": Run(DIRECTORY, CRASHING, (search("the"),)),
}


def record(run: Run) -> str:
    """Return a run's events as JSON text."""
    (unit,) = plan(
        [run.task], run.bundle, rollouts=1, seed=0, purpose="collect", temperature=0.0,
        line_id="golden", round=1, batch_id="batch",
    )  # fmt: skip
    host = ScriptedHost(run.model if isinstance(run.model, str) else "silent", lanes=1)
    model: Model = (
        ScriptedModel(run.model, host.base_id)
        if isinstance(run.model, str)
        else ReplayModel(run.model, host.base_id)
    )
    events = asyncio.run(
        attempt(
            unit, ENV, model, ticking(),
            stream=trajectory_id(unit, ENV, host), contract=contract_id(unit, ENV, host),
        )
    )  # fmt: skip
    rows = [event.model_dump(mode="json") for event in events]
    return json.dumps(rows, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
