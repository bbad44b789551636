"""Measure harness × weights × split in one batch, and read off the next lever."""

from harness.models.host import ModelHost
from pipelines import cross_evaluate as crossing
from pipelines.diagnose import diagnose
from pipelines.steps.bench import Bench
from pipelines.steps.line import accepted_tags, current_harness, noise_floor
from pipelines.steps.rollouts import label_failures, run_units
from warehouse.ids import bare


def cross_evaluate(bench: Bench, host: ModelHost, adapters: dict[str, str]) -> None:
    """Measure the cells of {seed, evolved} × {base, adapters} × splits, then diagnose the last.

    `adapters` are adapter ids by the name of their cell. This is where held-out and out-of-domain
    tasks are run, and nothing decides by them afterwards.
    """
    config = bench.experiment.cross
    evolved = bench.bundle(current_harness(bench))
    harnesses = {"seed": bench.seed_bundle(), "evolved": evolved}
    if evolved.id == harnesses["seed"].id:
        del harnesses["evolved"]
    planned = crossing.cells(harnesses, {"base": None, **adapters}, config)
    batch_id = f"{bench.line}~cells~{bare(evolved.id)[:8]}"
    batch_id += "".join(f"~{bare(a)[:8]}" for a in adapters.values())
    if bench.fresh("cells", "batch_id = ?", [batch_id]).height:
        return
    units = crossing.units(
        planned,
        bench.env,
        config,
        seed=bench.experiment.seed + 2,  # neither the readings' seeds nor the samples'
        temperature=bench.experiment.measure.temperature,
        line_id=bench.line,
        batch_id=batch_id,
    )
    run_units(bench, host, units, f"{len(planned)} cells")
    label_failures(bench)
    cells = crossing.measure(
        planned,
        bench.fresh("trajectories", "batch_id = ?", [batch_id]),
        bench.fresh("failure_labels"),
        config,
        base_id=host.base_id,
        batch_id=batch_id,
        n_sessions=bench.fresh("batches", "batch_id = ?", [batch_id]).height,
    )
    last = next(c for c in reversed(cells) if c.split == "development" and c.harness == "seed")
    made = diagnose(
        last.reading,
        bench.experiment.rule,
        harness_id=last.harness_id,
        weights_id=last.weights_id,
        split=last.split,
        sigma=noise_floor(bench),
        pulled=["harness", "weights"] if adapters else ["harness"],
        accepted_tags=accepted_tags(bench),
    )
    bench.tell(f"batch/{batch_id}", [*cells, made])
