"""Measure harness × weights × split in one batch, and read off the next lever."""

from harness.models.host import ModelHost
from pipelines import cross_evaluate as crossing
from pipelines.diagnose import diagnose
from pipelines.steps.bench import Bench
from pipelines.steps.line import accepted_tags, current_harness, draw, noise_floor, open_line
from pipelines.steps.rollouts import label_failures, rows_of, run_units
from warehouse.errors import Unavailable
from warehouse.ids import bare, content_id


def cross_evaluate(bench: Bench, host: ModelHost, adapters: dict[str, str]) -> None:
    """Measure the cells of {seed, evolved} × {base, adapters} × splits, then diagnose the last.

    `adapters` are adapter ids by the name of their cell. This is where held-out and out-of-domain
    tasks are run, and nothing decides by them afterwards.
    """
    open_line(bench, host)
    config = bench.experiment.cross
    evolved = bench.bundle(current_harness(bench))
    harnesses = {"seed": bench.seed_bundle(), "evolved": evolved}
    if evolved.id == harnesses["seed"].id:
        del harnesses["evolved"]
    planned = crossing.cells(harnesses, {"base": None, **adapters}, config)
    asked = [evolved.id, harnesses["seed"].id, adapters, host.base_id, config.model_dump()]
    batch_id = f"{bench.line}~cells~{bare(content_id(asked))[:12]}"
    if bench.fresh("cells", "batch_id = ?", [batch_id]).height:
        return
    units = crossing.units(
        planned,
        bench.env,
        config,
        seed=draw(bench, "cells", 0),
        temperature=bench.experiment.measure.temperature,
        line_id=bench.line,
        batch_id=batch_id,
    )
    ran = run_units(bench, host, units, f"{len(planned)} cells")
    label_failures(bench)
    cells = crossing.measure(
        planned,
        rows_of(bench, ran),
        bench.fresh("failure_labels"),
        bench.fresh("signals"),
        config,
        repeats=bench.experiment.taxonomy.repeated_calls,
        base_id=host.base_id,
        batch_id=batch_id,
        n_sessions=bench.fresh("batches", "batch_id = ?", [batch_id]).height,
    )
    least = min(cell.reading.coverage for cell in cells)
    if least < bench.experiment.select.min_coverage:
        raise Unavailable(
            f"only {least:.0%} of a cell's rollouts could be run; repair the serving and run the"
            " same command again"
        )
    # With an adapter the seed harness is what is served; without one, the evolved harness is.
    served = "seed" if adapters else planned[-1].harness
    pulled = {"harness": "evolved" in harnesses, "weights": bool(adapters)}
    last = next(c for c in reversed(cells) if c.split == "development" and c.harness == served)
    made = diagnose(
        last.reading,
        bench.experiment.rule,
        harness_id=last.harness_id,
        weights_id=last.weights_id,
        split=last.split,
        sigma=noise_floor(bench),
        pulled=[lever for lever, done in pulled.items() if done],
        accepted_tags=accepted_tags(bench),
    )
    bench.tell(f"batch/{batch_id}", [*cells, made])
