"""Projections: read from SQL files, and the same tables from the same facts, however they came."""

import shutil
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.warehouse.story import Clock
from tests.warehouse.strategies import FACTS, TEXT, batches, models, stream
from warehouse.events import FACT_TYPES, Event
from warehouse.events.base import Fact
from warehouse.events.trajectory import (
    Delivered,
    HarnessFired,
    ModelCalled,
    Scored,
    ToolCalled,
    ToolReturned,
    TrajectoryOpened,
)
from warehouse.lake import Lake
from warehouse.project import checks, projections, queries

TABLES = [*projections()]
RECORDED = {"source_files": "loaded_at"}
"""Columns that say when a fact was recorded, which is no content."""


def read(lake: Lake, names: list[str]) -> dict[str, list[str]]:
    """Return the rows of tables as text, in which NaN equals itself."""
    found = {}
    with lake.connect(names) as connection:
        for name in names:
            columns = f"* exclude {RECORDED[name]}" if name in RECORDED else "*"
            rows = connection.sql(f'select {columns} from "{name}"').fetchall()
            found[name] = sorted(map(repr, rows))
    return found


def kept(batches: list[list[Event]], names: list[str]) -> dict[str, list[str]]:
    """Return what tables say after facts were appended batch by batch."""
    with tempfile.TemporaryDirectory() as folder:
        lake = Lake(Path(folder) / "lake", Clock())
        assert sum(map(lake.append, batches)) == len({e.event_id for b in batches for e in b})
        return read(lake, names)


EVERY_KIND = st.tuples(*map(models, FACT_TYPES))


@settings(max_examples=5)
@given(st.data(), EVERY_KIND, st.lists(FACTS, max_size=6))
def test_tables_do_not_depend_on_batching(data, every, more):
    streams = [stream("trajectory/a", every, line_id="l", round=1), stream("trajectory/b", more)]
    whole = [[event for events in streams for event in events]]
    assert kept(data.draw(batches(streams)), TABLES) == kept(whole, TABLES)


@settings(max_examples=3)
@given(EVERY_KIND)
def test_projecting_twice_gives_the_same_tables(every):
    with tempfile.TemporaryDirectory() as folder:
        lake = Lake(Path(folder) / "lake", Clock())
        lake.append(stream("trajectory/a", every, line_id="l", round=1))
        never = read(lake, TABLES)
        lake.refresh(publish=False)
        once = read(lake, TABLES)
        shutil.rmtree(lake.store.root)
        anew = Lake(lake.root, Clock())
        anew.refresh(publish=False)
        assert never == once == read(anew, TABLES)


@st.composite
def trajectories(draw: st.DrawFn) -> list[list[Fact]]:
    """Return trajectories whose calls, errors and firings tie: who comes first must not matter."""
    names, errors = st.sampled_from(["scan", "search"]), st.sampled_from([None, "late", "lost"])
    found = []
    for _ in range(draw(st.integers(1, 3))):
        facts: list[Fact] = [TrajectoryOpened(source="instar", format="instar", max_turns=3)]
        for i in range(draw(st.integers(0, 6))):
            error = draw(errors)
            facts += [
                ToolCalled(
                    turn=i,
                    call_key=f"c{i}",
                    name=draw(names),
                    arguments_raw=None,
                    arguments_json=draw(st.sampled_from(["{}", '{"q": 1}'])),
                    arguments_state="object",
                ),
                ToolReturned(
                    turn=i,
                    call_key=f"c{i}",
                    env_output="alpha",
                    agent_view=draw(st.sampled_from(["alpha", "beta"])),
                    ok=error is None,
                    error=error,
                ),
                ModelCalled(turn=i, response_key=f"r{i}", model=None, finish_reason=None),
            ]
        fired = st.builds(
            HarnessFired,
            turn=st.just(1),
            component=st.just("gate"),
            hook=st.just("exit"),
            effect=st.sampled_from(["unlocked", "blocked", "terminated"]),
            tag=st.just("does"),
            detail=st.sampled_from([None, "one", "two"]),
            n_unresolved=st.integers(0, 1),
        )
        scored = st.builds(Scored, scorer=TEXT, value_num=st.sampled_from([None, 0.0, 1.0]))
        facts += draw(st.lists(fired | scored, max_size=4))
        found.append([*facts, Delivered(answer=draw(st.sampled_from(["alpha gamma", "delta x"])))])
    return found


@settings(max_examples=15)
@given(st.data(), trajectories())
def test_signals_do_not_depend_on_batching(data, facts):
    streams = [stream(f"trajectory/{i}", some) for i, some in enumerate(facts)]
    whole = [[event for events in streams for event in events]]
    assert kept(data.draw(batches(streams)), ["signals"]) == kept(whole, ["signals"])


def test_every_projection_comes_after_what_it_reads():
    seen = {"events"}
    for name, projection in projections().items():
        assert set(projection.deps) <= seen, name
        seen.add(name)


def test_a_projection_is_read_from_its_file():
    signals = projections()["signals"]
    assert signals.description.startswith("One row per trajectory: the process signals")
    assert signals.grain == ("trajectory_id",)
    # Tables, not the names of its own parts.
    assert set(signals.deps) == {"tool_calls", "interventions", "trajectories"}
    assert projections()["gate_results"].grain == ("line_id", "position")


def test_a_code_id_changes_with_the_query_and_with_nothing_else():
    ids = [p.code_id for p in [*projections().values(), *checks().values(), *queries().values()]]
    assert len(set(ids)) == len(ids)
    assert ids[0] == next(iter(projections().values())).code_id
