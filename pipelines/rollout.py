"""Run tasks under a harness: work units in, one trajectory's events per unit out."""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from queue import SimpleQueue
from threading import Event as Flag
from threading import Thread

from environments.base import Environment, Session, Task
from harness.bundle import Bundle
from harness.loop import run
from harness.messages import Model
from harness.models.host import ModelHost, weights_of
from warehouse.clock import Clock
from warehouse.events import Event, Stream
from warehouse.events.base import Purpose
from warehouse.events.trajectory import Scored, TrajectoryClosed, TrajectoryOpened
from warehouse.ids import bare, content_id


@dataclass(frozen=True, slots=True)
class WorkUnit:
    """One rollout to be done. Equal units are the same work: done once, never twice."""

    task: Task
    bundle: Bundle
    rollout: int
    seed: int
    purpose: Purpose
    temperature: float
    adapter: str | None = None
    line_id: str | None = None
    round: int | None = None
    batch_id: str | None = None
    candidate_id: str | None = None
    attempt: int = 0  # how often the infrastructure failed it before


def contract_id(unit: WorkUnit, env: Environment, host: ModelHost) -> str:
    """Return the id of all that must be equal for two results to be pooled.

    Bundle, scorer, task contents, model and adapter, sampling, and how many run at once.
    """
    return content_id(
        {
            "bundle": unit.bundle.id,
            "scorer": [env.name, env.version],
            "task": unit.task.content_id,
            "weights": weights_of(host.base_id, unit.adapter),
            "temperature": float(unit.temperature),
            "in_flight": host.lanes,
        }
    )


def trajectory_id(unit: WorkUnit, env: Environment, host: ModelHost) -> str:
    """Return the id under which a unit's trajectory is, or will be, found."""
    return bare(
        content_id(
            {
                "contract": contract_id(unit, env, host),
                "task": unit.task.task_id,
                "rollout": unit.rollout,
                "seed": unit.seed,
                "purpose": unit.purpose,
                "line": unit.line_id,
                "round": unit.round,
                "batch": unit.batch_id,
                "candidate": unit.candidate_id,
                **({"attempt": unit.attempt} if unit.attempt else {}),
            }
        )
    )


def plan(
    tasks: Sequence[Task],
    bundle: Bundle,
    *,
    rollouts: int,
    seed: int,
    purpose: Purpose,
    temperature: float,
    adapter: str | None = None,
    line_id: str | None = None,
    round: int | None = None,
    batch_id: str | None = None,
    candidate_id: str | None = None,
) -> list[WorkUnit]:
    """Return the units of `rollouts` passes over `tasks`, pass by pass.

    A unit's sampling seed follows from (seed, task, pass) and from nothing else: cells share seeds,
    tasks do not. One seed for a whole pass would make its luck common to all tasks.
    """
    return [
        WorkUnit(
            task=task,
            bundle=bundle,
            rollout=r,
            seed=sampling_seed(seed, task.task_id, r),
            purpose=purpose,
            temperature=temperature,
            adapter=adapter,
            line_id=line_id,
            round=round,
            batch_id=batch_id,
            candidate_id=candidate_id,
        )
        for r in range(rollouts)
        for task in tasks
    ]


def sampling_seed(seed: int, task_id: str, rollout: int) -> int:
    """Return a 31-bit seed for one rollout of one task."""
    return int(bare(content_id([seed, task_id, rollout]))[:8], 16) >> 1


def interleave(cells: Sequence[Sequence[WorkUnit]], block: int) -> list[WorkUnit]:
    """Return the cells' units in turns of `block`, so that all of them see the same load and hour.

    Blocks, not single units: neighbours that share a prompt prefix share its computation.
    """
    longest = max((len(cell) for cell in cells), default=0)
    return [
        unit for at in range(0, longest, block) for cell in cells for unit in cell[at : at + block]
    ]


def collect(
    units: Iterable[WorkUnit], env: Environment, host: ModelHost, clock: Clock
) -> Iterator[list[Event]]:
    """Run every unit; yield the events of each trajectory as it ends, in order of ending.

    A failed rollout is a trajectory like any other, closed with its error. An exception that is
    nobody's rollout (a bug, a full disk) ends the whole iteration and is raised here. A consumer
    that leaves early lets the units in flight end, and no other begins.
    """
    done: SimpleQueue[list[Event] | BaseException | None] = SimpleQueue()
    left = Flag()

    def work() -> None:
        try:
            asyncio.run(_run_lanes(list(units), env, host, clock, done.put, left))
        except BaseExceptionGroup as several:
            done.put(several.exceptions[0])
        except BaseException as broken:  # noqa: BLE001 - handed to the consumer
            done.put(broken)
        else:
            done.put(None)

    Thread(target=work, daemon=True, name="rollouts").start()
    try:
        while (item := done.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        left.set()


async def _run_lanes(
    units: list[WorkUnit],
    env: Environment,
    host: ModelHost,
    clock: Clock,
    put: Callable[[list[Event]], None],
    left: Flag,
) -> None:
    waiting = takewhile(lambda _: not left.is_set(), units)
    async with host.connect() as model_for, asyncio.TaskGroup() as group:

        async def lane(number: int) -> None:
            for unit in waiting:
                put(await _one(unit, env, host, model_for(number, unit.adapter), clock))

        for number in range(min(host.lanes, len(units))):
            group.create_task(lane(number))


async def _one(
    unit: WorkUnit, env: Environment, host: ModelHost, model: Model, clock: Clock
) -> list[Event]:
    """Run one unit and score it."""
    return await attempt(
        unit,
        env,
        model,
        clock,
        stream=trajectory_id(unit, env, host),
        contract=contract_id(unit, env, host),
    )


async def attempt(
    unit: WorkUnit,
    env: Environment,
    model: Model,
    clock: Clock,
    *,
    stream: str,
    contract: str | None,
    replay_of: str | None = None,
) -> list[Event]:
    """Run one unit with `model` in a fresh session; return its trajectory's events, scored."""
    events = Stream(
        f"trajectory/{stream}",
        clock,
        line_id=unit.line_id,
        round=unit.round,
        purpose=unit.purpose,
    )
    started = clock()
    session = env.open(unit.task)
    rows = [
        events.add(
            TrajectoryOpened(
                source="instar",
                format="instar",
                suite=unit.task.suite,
                task_id=unit.task.task_id,
                family=unit.task.family,
                split=unit.task.split,
                harness_id=unit.bundle.id,
                weights_id=model.weights_id,
                model=model.name,
                rollout=unit.rollout,
                seed=unit.seed,
                batch_id=unit.batch_id,
                contract_id=contract,
                candidate_id=unit.candidate_id,
                max_turns=unit.bundle.spec.loop.max_turns,
                replay_of=replay_of,
            )
        )
    ]
    async for fact in run(
        unit.task, session, unit.bundle, model, temperature=unit.temperature, seed=unit.seed
    ):
        if isinstance(fact, TrajectoryClosed):
            took = (clock() - started).total_seconds()
            rows.append(events.add(fact.model_copy(update={"duration_s": took})))
            rows.append(events.add(_score(env, session, fact)))
        else:
            rows.append(events.add(fact))
    return rows


def _score(env: Environment, session: Session, closed: TrajectoryClosed) -> Scored:
    """Score a finished session; a failure of the infrastructure is no score of 0 but none."""
    if closed.termination_class == "infra_error":
        return Scored(scorer=f"{env.name}/{env.version}", trustworthy=False)
    score = env.score(session)
    return Scored(
        scorer=f"{env.name}/{env.version}", value_num=score.value, checks=tuple(score.checks)
    )
