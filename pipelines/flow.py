"""The whole chain on one page, without Dagster."""

from harness.models import open_host
from harness.models.host import ModelHost
from pipelines.steps import evolution, internalization, line, readings
from pipelines.steps.bench import Bench
from pipelines.steps.evaluation import cross_evaluate
from pipelines.train import require_training_extra


def run(bench: Bench) -> None:
    """Evolve the harness, internalize it, and measure harness × weights × split."""
    require_training_extra()  # now, not after hours of rollouts
    with _host(bench) as host:
        evolve(bench, host)
        internalization.sample_best(bench, host)
    internalization.tailor_samples(bench)
    internalization.gate_dataset(bench)
    cross(bench)
    bench.lake.refresh()


def evolve(bench: Bench, host: ModelHost) -> None:
    """Run rounds until the budget is spent or the catalog has nothing left to propose."""
    line.open_line(bench, host)
    readings.measure_anchor(bench, host, 0)
    for number in range(1, bench.experiment.evolve.rounds + 1):
        evolution_round(bench, host, number)
        if bench.of_line("rounds", number)["outcome"][0] == "skipped":
            break


def cross(bench: Bench) -> None:
    """Measure seed and evolved harness × base and adapter × every split, in one batch.

    A model whose weights are not here has no adapter: then the harness alone is crossed.
    """
    adapters = (
        {"adapter": internalization.train_adapter(bench)} if internalization.trains(bench) else {}
    )
    with _host(bench, *adapters.values()) as host:
        cross_evaluate(bench, host, adapters)


def evolution_round(bench: Bench, host: ModelHost, number: int) -> None:
    """One round: failures → groups → spec → candidates → readings → verdicts → fresh anchor."""
    if bench.of_line("rounds", number).height:
        return
    evolution.open_round(bench, number)
    readings.explore(bench, host, number)
    evolution.group_failures(bench, number)
    evolution.diagnose_line(bench, number)
    evolution.specify(bench, number)
    evolution.propose(bench, number)
    readings.check_candidates(bench, host, number)
    readings.read_candidates(bench, host, number)
    evolution.judge_candidates(bench, number)
    evolution.close_round(bench, host, number)


def _host(bench: Bench, *adapters: str) -> ModelHost:
    files = {name: internalization.adapter_file(bench, name) for name in adapters}
    return open_host(bench.experiment.model, files, bench.experiment.in_flight)
