"""Run rollouts and label them."""

import time
from collections.abc import Sequence

from harness.models.host import ModelHost
from pipelines.label import label
from pipelines.rollout import WorkUnit, collect, trajectory_id
from pipelines.steps.bench import Bench
from warehouse.events import Event
from warehouse.events.batch import BatchOpened

COMMIT_EVERY_S = 2.0


def run_units(bench: Bench, host: ModelHost, units: Sequence[WorkUnit], what: str) -> int:
    """Run the units that the lake does not hold yet; return how many were run.

    Finished trajectories are committed every few seconds, each as a whole: what was committed
    survives a kill, and nothing is run twice.
    """
    wanted = {f"trajectory/{trajectory_id(unit, bench.env, host)}": unit for unit in units}
    held = bench.lake.log.begun(wanted)
    missing = [unit for name, unit in wanted.items() if name not in held]
    done = len(wanted) - len(missing)
    bench.watch(what, done, len(wanted))
    if not missing:
        return 0
    for batch_id in sorted({unit.batch_id for unit in missing if unit.batch_id}):
        _open_session(bench, host, batch_id)
    waiting: list[Event] = []
    committed = time.monotonic()
    try:
        for events in collect(missing, bench.env, host, bench.lake.clock):
            waiting += events
            done += 1
            bench.watch(what, done, len(wanted))
            if time.monotonic() - committed > COMMIT_EVERY_S:
                bench.lake.append(waiting)
                waiting, committed = [], time.monotonic()
    finally:
        bench.lake.append(waiting)
    return len(missing)


def label_failures(bench: Bench) -> None:
    """Label every trajectory of the lake that has a trustworthy score."""
    labels = label(bench.fresh("signals"), bench.experiment.taxonomy)
    bench.lake.write("failure_labels", labels)


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
