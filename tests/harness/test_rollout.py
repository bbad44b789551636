"""Work units to trajectories: plans, ids, lanes, scores, and what ends the whole."""

import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from environments.base import Session, Task
from environments.docqa import DocQA
from harness.models import open_host
from harness.models.http import HttpHost
from harness.models.scripted import ScriptedHost
from pipelines.rollout import (
    WorkUnit,
    collect,
    contract_id,
    interleave,
    plan,
    sampling_seed,
    trajectory_id,
)
from tests.harness.server import Answer, ModelServer, Request, chat, refusal
from tests.harness.support import (
    ENV,
    LAW,
    NOON,
    SEED,
    TASK,
    search,
    submit,
    with_middleware,
    with_spec,
)
from warehouse.errors import BadBundle
from warehouse.events import Event
from warehouse.events.trajectory import (
    ModelCalled,
    Scored,
    TrajectoryClosed,
    TrajectoryOpened,
)

TASKS = ENV.tasks("development", 22)
HOST = ScriptedHost("looper", 4)
UNIT = WorkUnit(TASK, SEED, 0, 1, "collect", 0.5)
OTHER: dict[str, object] = {
    "task": TASKS[1],
    "bundle": SEED.edited({"lessons/x.md": "x"}),
    "rollout": 1,
    "seed": 2,
    "purpose": "anchor",
    "temperature": 0.6,
    "adapter": "adapter-1",
    "line_id": "line",
    "round": 0,
    "batch_id": "batch",
    "candidate_id": "candidate",
    "attempt": 1,
}
"""For every field of a unit, another value than `UNIT` has."""


def units(n: int, **fields: object) -> list[WorkUnit]:
    """Return `n` units over the first tasks."""
    options = {"rollouts": n // len(TASKS) + 1, "seed": 0, "purpose": "collect", "temperature": 0.7}
    return plan(TASKS, SEED, **options, **fields)[:n]


def results(events: Sequence[list[Event]]) -> dict[str, list[str]]:
    """Return the ids of each trajectory's events, by stream."""
    found = {rows[0].stream_id: [event.event_id for event in rows] for rows in events}
    assert len(found) == len(events)
    return found


def facts(events: Sequence[list[Event]], kind: type) -> list[Any]:
    return [event.fact for rows in events for event in rows if isinstance(event.fact, kind)]


def at_noon() -> datetime:
    return NOON


class TestPlan:
    def test_passes_follow_one_another(self) -> None:
        planned = plan(TASKS[:2], SEED, rollouts=2, seed=0, purpose="anchor", temperature=0.0)
        assert [(u.rollout, u.task.task_id) for u in planned] == [
            (r, task.task_id) for r in (0, 1) for task in TASKS[:2]
        ]

    def test_every_field_is_passed_on(self) -> None:
        apart = {"task", "rollout", "attempt"}
        given = {name: value for name, value in OTHER.items() if name not in apart}
        bundle = given.pop("bundle")
        (unit,) = plan([TASK], bundle, rollouts=1, **given)
        for name, value in given.items():
            assert name == "seed" or getattr(unit, name) == value
        assert unit.bundle == bundle

    def test_sampling_seeds_differ_between_tasks_and_passes(self) -> None:
        planned = plan(
            ENV.tasks("development"), SEED, rollouts=3, seed=0, purpose="collect", temperature=0.0
        )
        assert len({unit.seed for unit in planned}) == len(planned) == 3 * 264

    def test_sampling_seeds_agree_between_cells(self) -> None:
        """Paired differences need the same luck on both sides."""
        one, other = units(30), units(30, adapter="adapter-1", batch_id="b", candidate_id="c")
        assert [unit.seed for unit in one] == [unit.seed for unit in other]

    def test_another_seed_is_another_luck(self) -> None:
        assert sampling_seed(0, TASK.task_id, 0) != sampling_seed(1, TASK.task_id, 0)

    @LAW
    @given(st.integers(), st.text(), st.integers(0, 1000))
    def test_sampling_seeds_have_31_bits(self, seed: int, task_id: str, rollout: int) -> None:
        assert 0 <= sampling_seed(seed, task_id, rollout) < 2**31


class TestInterleave:
    CELLS = st.lists(st.lists(st.integers()), max_size=5)

    @LAW
    @given(CELLS, st.integers(1, 9))
    def test_every_unit_is_kept_once(self, cells: list[list[int]], block: int) -> None:
        mixed = interleave(cells, block)
        assert Counter(mixed) == Counter(unit for cell in cells for unit in cell)

    @LAW
    @given(CELLS, st.integers(1, 9))
    def test_a_cells_own_order_is_kept(self, cells: list[list[int]], block: int) -> None:
        marked = [[(c, i) for i in range(len(cell))] for c, cell in enumerate(cells)]
        mixed = interleave(marked, block)
        for c, cell in enumerate(marked):
            assert [unit for unit in mixed if unit[0] == c] == cell

    @LAW
    @given(st.integers(2, 5), st.integers(1, 40), st.integers(1, 9))
    def test_cells_take_turns_block_by_block(self, n: int, length: int, block: int) -> None:
        mixed = interleave([[c] * length for c in range(n)], block)
        for at in range(len(mixed)):
            counts = Counter(mixed[:at])
            ahead = max(counts.values(), default=0) - min(counts[c] for c in range(n))
            assert ahead <= block, "no cell is ever more than a block ahead"
        assert mixed[: min(block, length)] == [0] * min(block, length)

    def test_by_example(self) -> None:
        assert "".join(interleave(["aaaaa", "bbb", ""], 2)) == "aabbaaba"


class TestIds:
    def test_equal_units_have_equal_ids(self) -> None:
        again = replace(UNIT, task=DocQA().tasks("development", 1)[0])
        assert trajectory_id(again, DocQA(), HOST) == trajectory_id(UNIT, ENV, HOST)
        assert replace(UNIT, temperature=1) == replace(UNIT, temperature=1.0)
        assert trajectory_id(replace(UNIT, temperature=1), ENV, HOST) == trajectory_id(
            replace(UNIT, temperature=1.0), ENV, HOST
        )

    def test_every_field_is_tried(self) -> None:
        assert set(OTHER) == {field.name for field in fields(WorkUnit)}

    @pytest.mark.parametrize("name", OTHER)
    def test_any_changed_field_changes_the_id(self, name: str) -> None:
        changed = replace(UNIT, **{name: OTHER[name]})
        assert changed != UNIT
        assert trajectory_id(changed, ENV, HOST) != trajectory_id(UNIT, ENV, HOST)

    def test_another_content_of_the_same_task_changes_the_id(self) -> None:
        changed = replace(UNIT, task=replace(TASK, content_id="b2:other"))
        assert trajectory_id(changed, ENV, HOST) != trajectory_id(UNIT, ENV, HOST)

    def test_contracts_hold_what_makes_results_comparable(self) -> None:
        free = ("rollout", "seed", "purpose", "line_id", "round", "batch_id", "candidate_id")
        pooled = {*free, "attempt"}
        for name, value in OTHER.items():
            same = contract_id(replace(UNIT, **{name: value}), ENV, HOST) == contract_id(
                UNIT, ENV, HOST
            )
            assert same == (name in pooled), name

    def test_another_host_changes_the_id_unless_it_is_the_same_load_of_the_same_model(self) -> None:
        base = trajectory_id(UNIT, ENV, HOST)
        assert trajectory_id(UNIT, ENV, ScriptedHost("looper", 4)) == base
        assert trajectory_id(UNIT, ENV, ScriptedHost("looper", 5)) != base
        assert trajectory_id(UNIT, ENV, ScriptedHost("clerk", 4)) != base

    def test_another_world_changes_the_id(self) -> None:
        assert trajectory_id(UNIT, DocQA(7), HOST) != trajectory_id(UNIT, ENV, HOST)

    def test_another_scorer_changes_the_id(self) -> None:
        class Stricter(DocQA):
            version = "2"

        assert trajectory_id(UNIT, Stricter(), HOST) != trajectory_id(UNIT, ENV, HOST)


class TestCollect:
    def test_results_do_not_depend_on_the_order(self) -> None:
        planned = units(40)
        forward = results(list(collect(planned, ENV, HOST, at_noon)))
        backward = results(list(collect(planned[::-1], ENV, HOST, at_noon)))
        assert forward == backward
        assert set(forward) == {f"trajectory/{trajectory_id(u, ENV, HOST)}" for u in planned}

    def test_results_do_not_depend_on_who_runs_beside_them(self) -> None:
        """Under a busy server, whose answers come back in another order than asked."""

        def respond(request: Request) -> Answer:
            time.sleep(0.02 * (int(request.body["seed"]) % 3))
            return chat(submit("x") if len(request.body["messages"]) > 3 else search("the"))

        planned = units(9)
        with ModelServer(respond=respond) as server, HttpHost("m", server.url, 3) as host:
            together = list(collect(planned, ENV, host, at_noon))
            alone = [next(iter(collect([unit], ENV, host, at_noon))) for unit in planned]
        shapes = [
            {rows[0].stream_id: [untimed(event) for event in rows] for rows in events}
            for events in (together, alone)
        ]
        assert shapes[0] == shapes[1]

    def test_two_hundred_rollouts_end(self) -> None:
        planned = units(200)
        collected = list(collect(planned, ENV, open_host("scripted:clerk"), at_noon))
        assert len(results(collected)) == 200
        assert len(facts(collected, TrajectoryClosed)) == len(facts(collected, Scored)) == 200

    def test_events_are_dense_and_in_context(self) -> None:
        planned = units(3, line_id="line", round=2, batch_id="batch", candidate_id="candidate")
        for rows in collect(planned, ENV, HOST, at_noon):
            assert [event.position for event in rows] == list(range(len(rows)))
            assert {(e.line_id, e.round, e.purpose) for e in rows} == {("line", 2, "collect")}
            assert {e.trajectory_id for e in rows} == {rows[0].stream_id.partition("/")[2]}
            opened = rows[0].fact
            assert isinstance(opened, TrajectoryOpened)
            assert (opened.batch_id, opened.candidate_id) == ("batch", "candidate")

    def test_the_opening_says_what_was_attempted(self) -> None:
        (rows,) = collect([UNIT], ENV, HOST, at_noon)
        opened = rows[0].fact
        assert opened == TrajectoryOpened(
            source="instar",
            format="instar",
            suite="docqa",
            task_id=TASK.task_id,
            family=TASK.family,
            split="development",
            harness_id=SEED.id,
            weights_id=HOST.base_id,
            model="scripted:looper",
            rollout=0,
            seed=1,
            contract_id=contract_id(UNIT, ENV, HOST),
            max_turns=6,
        )

    def test_lanes_are_bounded_and_used(self) -> None:
        """The first four requests wait for one another; a fifth must never be there."""
        first = threading.Barrier(4)
        seen = iter(range(10_000))

        def respond(request: Request) -> Answer:
            if next(seen) < 4:
                first.wait(20)
            return chat("hm")

        with ModelServer(respond=respond) as server, HttpHost("m", server.url, 4) as host:
            collected = list(collect(units(12), ENV, host, at_noon))
            assert server.greatest_in_flight == 4
        assert len(collected) == 12
        assert len(facts(collected, ModelCalled)) == 12 * 6

    def test_one_unit_needs_one_lane(self) -> None:
        with ModelServer(chat("hm")) as server, HttpHost("m", server.url, 4) as host:
            assert len(list(collect(units(1), ENV, host, at_noon))) == 1
            assert server.greatest_in_flight == 1

    def test_nothing_to_do_is_done(self) -> None:
        assert list(collect([], ENV, HOST, at_noon)) == []

    def test_a_generator_of_units_will_do(self) -> None:
        assert len(list(collect(iter(units(3)), ENV, HOST, at_noon))) == 3

    def test_the_seed_reaches_the_model(self) -> None:
        with ModelServer(chat("hm")) as server, HttpHost("m", server.url, 1) as host:
            list(collect([replace(UNIT, seed=100)], ENV, host, at_noon))
        assert [r.body["seed"] for r in server.requests] == [101, 102, 103, 104, 105, 106]
        assert {r.body["temperature"] for r in server.requests} == {0.5}

    def test_an_adapter_reaches_the_model(self) -> None:
        with ModelServer(chat("hm")) as server, HttpHost("m", server.url, 1) as host:
            (rows,) = collect([replace(UNIT, adapter="adapter-1")], ENV, host, at_noon)
        assert {r.body["model"] for r in server.requests} == {"adapter-1"}
        assert rows[0].fact.weights_id == "adapter-1"

    def test_events_carry_the_time_of_their_turn(self) -> None:
        """The hour moves on by a minute with every request, and not otherwise."""
        with ModelServer(chat("hm")) as server, HttpHost("m", server.url, 1) as host:
            (rows,) = collect(
                [UNIT], ENV, host, lambda: NOON + timedelta(minutes=len(server.requests))
            )
        minutes = {
            kind: [(e.occurred_at - NOON).seconds // 60 for e in rows if e.fact.kind == kind]
            for kind in ("trajectory_opened", "model_called", "trajectory_closed", "scored")
        }
        assert minutes == {
            "trajectory_opened": [0],
            "model_called": [1, 2, 3, 4, 5, 6],
            "trajectory_closed": [6],
            "scored": [6],
        }
        (closed,) = facts([rows], TrajectoryClosed)
        assert closed.duration_s == 360.0


class TestScores:
    def test_a_solved_task_scores_one_with_its_checks(self) -> None:
        turns = iter([search(c.arguments["pattern"]) for c in ENV.reference(TASK)[:-1]])
        answer = ENV.reference(TASK)[-1].arguments["answer"]

        def respond(request: Request) -> Answer:
            return chat(next(turns, submit(answer)))

        with ModelServer(respond=respond) as server, HttpHost("m", server.url, 1) as host:
            (rows,) = collect([UNIT], ENV, host, at_noon)
        scored = rows[-1].fact
        assert isinstance(scored, Scored)
        assert (scored.scorer, scored.value_num, scored.trustworthy) == ("docqa/1", 1.0, True)
        assert [c.name for c in scored.checks] == ["delivered", "value", "form", "evidence_read"]

    def test_infrastructure_is_no_zero(self) -> None:
        with ModelServer(refusal(401)) as server, HttpHost("m", server.url, 1) as host:
            (rows,) = collect([UNIT], ENV, host, at_noon)
        scored = rows[-1].fact
        assert isinstance(scored, Scored)
        assert (scored.value_num, scored.trustworthy) == (None, False)

    def test_a_harness_crash_is_a_zero(self) -> None:
        (rows,) = collect([replace(UNIT, bundle=with_middleware("1 / 0"))], ENV, HOST, at_noon)
        assert [type(e.fact) for e in rows] == [TrajectoryOpened, TrajectoryClosed, Scored]
        assert (rows[-1].fact.value_num, rows[-1].fact.trustworthy) == (0.0, True)

    def test_a_failed_rollout_spares_its_siblings(self) -> None:
        def respond(request: Request) -> Answer:
            return refusal(401) if int(request.body["seed"]) == 1001 else chat("hm")

        planned = [replace(unit, seed=1000 * i) for i, unit in enumerate(units(6))]
        with ModelServer(respond=respond) as server, HttpHost("m", server.url, 2) as host:
            collected = list(collect(planned, ENV, host, at_noon))
        ends = Counter(closed.termination_class for closed in facts(collected, TrajectoryClosed))
        assert ends == {"limit_steps": 5, "infra_error": 1}


class Broken(DocQA):
    """A world with a bug: its n-th task does not open."""

    def __init__(self, n: int, gate: threading.Event | None = None) -> None:
        super().__init__()
        self.n_opened = 0
        self.n = n
        self.gate = gate

    def open(self, task: Task) -> Session:
        self.n_opened += 1
        if self.n_opened == self.n:
            if self.gate is None:
                raise ZeroDivisionError("a bug")
            self.gate.wait(20)
        return super().open(task)


@pytest.fixture
def ended() -> Iterator[None]:
    """Every thread that a test starts has ended when it ends."""
    before = set(threading.enumerate())
    yield
    for thread in set(threading.enumerate()) - before:
        thread.join(20)
        assert not thread.is_alive()


@pytest.mark.timeout(60)
@pytest.mark.usefixtures("ended")
class TestBugs:
    @pytest.mark.parametrize("n", [1, 3, 12])
    def test_a_bug_is_raised_as_it_is(self, n: int) -> None:
        running = collect(units(12), Broken(n), ScriptedHost("looper", 1), at_noon)
        for _ in range(n - 1):
            assert next(running)
        with pytest.raises(ZeroDivisionError, match="a bug"):
            next(running)

    def test_a_bug_among_many_lanes_ends_them_all(self) -> None:
        with ModelServer(chat("hm")) as server, HttpHost("m", server.url, 4) as host:
            with pytest.raises(ZeroDivisionError):
                list(collect(units(40), Broken(9), host, at_noon))
            assert len(server.requests) < 40 * 6

    def test_a_manifest_that_cannot_be_read_is_bad_input(self) -> None:
        broken = replace(UNIT, bundle=SEED.edited({"harness.yaml": "a: ["}))
        with pytest.raises(BadBundle, match=r"harness\.yaml"):
            list(collect([UNIT, broken], ENV, HOST, at_noon))

    def test_a_bug_in_the_units_is_raised(self) -> None:
        def planned() -> Iterator[WorkUnit]:
            yield UNIT
            raise LookupError("no more")

        with pytest.raises(LookupError, match="no more"):
            list(collect(planned(), ENV, HOST, at_noon))

    def test_a_consumer_that_leaves_stops_the_rest(self) -> None:
        gate = threading.Event()
        env = Broken(2, gate)
        running = collect(units(40), env, ScriptedHost("silent", 1), at_noon)
        next(running)
        running.close()
        gate.set()
        for thread in threading.enumerate():
            if thread.name == "rollouts":
                thread.join(20)
        assert env.n_opened == 2, "the unit in progress ended, and no other began"

    def test_a_long_budget_does_not_stand_in_the_way(self) -> None:
        bundle = with_spec(SEED, loop={"max_turns": 200})
        (rows,) = collect([replace(UNIT, bundle=bundle)], ENV, HOST, at_noon)
        assert len(facts([rows], ModelCalled)) == 200


def untimed(event: Event) -> tuple[int, object]:
    """Return an event without what a server's pace decides."""
    fact = event.fact
    if isinstance(fact, ModelCalled):
        fact = fact.model_copy(update={"latency_s": None})
    return event.position, fact
