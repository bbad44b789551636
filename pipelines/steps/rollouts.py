"""Run rollouts and label them."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import polars as pl

from harness.models.host import ModelHost
from pipelines.label import label
from pipelines.rollout import WorkUnit, collect, trajectory_id
from pipelines.steps.bench import Bench
from warehouse.errors import Unavailable
from warehouse.events import Event
from warehouse.events.batch import BatchOpened
from warehouse.events.trajectory import TrajectoryClosed

COMMIT_EVERY_S = 2.0
GIVE_UP_AFTER = 8
"""So many infrastructure failures in a row (at least two per lane) are an outage."""


@dataclass(frozen=True, slots=True)
class Ran:
    """What stands for the units that were asked for: trajectory ids, and how many are new."""

    trajectories: Sequence[str]
    n_new: int


def run_units(bench: Bench, host: ModelHost, units: Sequence[WorkUnit], what: str) -> Ran:
    """Run the units that the lake does not hold yet.

    Finished trajectories are committed every few seconds, each as a whole: what was committed
    survives a kill, and nothing is run twice. A unit that the infrastructure failed is held, and
    tried anew the next time that it is asked for.

    Raises:
        Unavailable: the infrastructure fails rollout after rollout.
    """
    held, missing = _held(bench, host, units)
    done, total = len(held), len(held) + len(missing)
    bench.watch(what, done, total)
    for batch_id in sorted({unit.batch_id for unit in missing if unit.batch_id}):
        _open_session(bench, host, batch_id)
    waiting: list[Event] = []
    committed = time.monotonic()
    in_a_row = 0
    try:
        for events in collect(missing, bench.env, host, bench.lake.clock):
            waiting += events
            done += 1
            bench.watch(what, done, total)
            error = _outage(events)
            in_a_row = in_a_row + 1 if error else 0
            if in_a_row >= max(GIVE_UP_AFTER, 2 * host.lanes):
                raise Unavailable(
                    f"{what}: {in_a_row} rollouts in a row could not be run ({error}); repair the"
                    " serving and run the same command again, what was done is kept"
                )
            if time.monotonic() - committed > COMMIT_EVERY_S:
                bench.lake.append(waiting)
                waiting, committed = [], time.monotonic()
    finally:
        bench.lake.append(waiting)
    new = [trajectory_id(unit, bench.env, host) for unit in missing]
    return Ran([*held, *new], len(new))


def rows_of(bench: Bench, ran: Ran) -> pl.DataFrame:
    """Return the rows of `trajectories` that stand for the units, and no others."""
    return bench.fresh("trajectories", "list_contains(?, trajectory_id)", [list(ran.trajectories)])


def label_failures(bench: Bench) -> None:
    """Label the line's scored trajectories and those of no line; other lines keep their labels."""
    mine = "select trajectory_id from trajectories where line_id is null or line_id = ?"
    signals = bench.fresh("signals", f"trajectory_id in ({mine})", [bench.line])
    labels = label(signals, bench.experiment.taxonomy)
    bench.lake.update(
        "failure_labels",
        lambda held: pl.concat([held.join(signals, on="trajectory_id", how="anti"), labels]),
    )


def _held(
    bench: Bench, host: ModelHost, units: Sequence[WorkUnit]
) -> tuple[list[str], list[WorkUnit]]:
    """Return the trajectories that stand for units, and the units (at their attempt) to run."""
    held: list[str] = []
    missing: list[WorkUnit] = []
    asked = list(units)
    while asked:
        wanted = {trajectory_id(unit, bench.env, host): unit for unit in asked}
        begun = bench.lake.log.begun(f"trajectory/{name}" for name in wanted)
        failed = _failed(bench, wanted) if begun else set()
        asked = []
        for name, unit in wanted.items():
            if f"trajectory/{name}" not in begun:
                missing.append(unit)
            elif name in failed:
                asked.append(replace(unit, attempt=unit.attempt + 1))
            else:
                held.append(name)
    return held, missing


def _failed(bench: Bench, names: Iterable[str]) -> set[str]:
    """Return those of the trajectories that the infrastructure failed."""
    query = (
        "select trajectory_id from events where kind = 'trajectory_closed'"
        " and payload ->> '$.termination_class' = 'infra_error' and list_contains(?, trajectory_id)"
    )
    return set(bench.lake.query(query, [list(names)])["trajectory_id"])


def _outage(events: Sequence[Event]) -> str | None:
    """Return why the infrastructure failed a rollout, None where it did not."""
    for event in events:
        if isinstance(event.fact, TrajectoryClosed):
            failed = event.fact.termination_class == "infra_error"
            return (event.fact.error or "no reason told") if failed else None
    return None


def _open_session(bench: Bench, host: ModelHost, batch_id: str) -> None:
    known = bench.fresh("batches", "batch_id = ?", [batch_id])["session_id"].to_list()
    if host.session_id not in known:
        opened = BatchOpened(
            batch_id=batch_id,
            session_id=host.session_id,
            host=host.session_id.partition("#")[0],
            model=host.name,
            in_flight=host.lanes,
        )
        bench.tell(f"batch/{batch_id}", [opened])
