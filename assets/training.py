"""From samples of the evolved harness to a trained adapter, a step per table."""

from collections.abc import Iterator

import dagster as dg

from assets.lake import table_metadata
from assets.partitions import LINE
from assets.resources import ModelServer, Workbench
from pipelines.gate import newest_verdicts
from pipelines.steps import internalization
from pipelines.steps.bench import Bench

Result = dg.MaterializeResult[None]


def _result(bench: Bench, name: str) -> Result:
    bench.lake.refresh()
    return dg.MaterializeResult(asset_key=name, metadata=table_metadata(bench.lake, name))


def _specs(deps: list[str], **described: str) -> list[dg.AssetSpec]:
    return [
        dg.AssetSpec(name, group_name="training", deps=deps, description=text, kinds={"parquet"})
        for name, text in described.items()
    ]


@dg.asset(group_name="training", partitions_def=LINE, deps=["rounds"], kinds={"polars"}, pool="llm")
def samples(context: dg.AssetExecutionContext, workbench: Workbench, server: ModelServer) -> Result:
    """Full-score trajectories under the line's harness, the best few of each development task."""
    bench = workbench.bench(context.partition_key)
    internalization.sample_best(bench, server.host(bench.experiment))
    return _result(bench, "samples")


@dg.multi_asset(
    specs=_specs(
        ["samples"],
        tailored="Trajectories rewritten for the seed harness and replayed there to full score.",
        tailored_quarantine="Trajectories that could not be converted, and why.",
    ),
    partitions_def=LINE,
    name="tailor",
)
def tailor(context: dg.AssetExecutionContext, workbench: Workbench) -> Iterator[Result]:
    """Rewrite, replay and check every sample."""
    bench = workbench.bench(context.partition_key)
    internalization.tailor_samples(bench)
    yield _result(bench, "tailored")
    yield _result(bench, "tailored_quarantine")


@dg.multi_asset(
    specs=_specs(
        ["tailored"],
        sft_examples="Training examples that passed the quality gate.",
        sft_quarantine="Rows that the quality gate refused, with every reason.",
        gate_results="The verdict of each suite on each version of the examples.",
        datasets="Published training sets and their cards.",
    ),
    check_specs=[dg.AssetCheckSpec("quality_gate", asset="sft_examples", blocking=True)],
    partitions_def=LINE,
    name="gate",
)
def gate(
    context: dg.AssetExecutionContext, workbench: Workbench
) -> Iterator[Result | dg.AssetCheckResult]:
    """Assemble the examples and let the quality suites judge them."""
    bench = workbench.bench(context.partition_key)
    internalization.gate_dataset(bench)
    for name in ("sft_examples", "sft_quarantine", "gate_results", "datasets"):
        yield _result(bench, name)
    newest = newest_verdicts(bench.of_line("gate_results"))
    yield dg.AssetCheckResult(
        asset_key="sft_examples",
        check_name="quality_gate",
        passed=bool(newest.height) and bool(newest["passed"].all()),
        severity=dg.AssetCheckSeverity.ERROR,
        metadata={
            "in": max(newest["n_in"].to_list(), default=0),
            "quarantined": bench.of_line("sft_quarantine").height,
            "out": bench.of_line("sft_examples").height,
            "failed": [f for row in newest["failed_expectations"].to_list() for f in row],
        },
    )


@dg.asset(
    group_name="training",
    partitions_def=LINE,
    deps=["sft_examples", "gate_results", "datasets"],
    kinds={"huggingface", "pytorch"},
    pool="gpu",
)
def adapters(context: dg.AssetExecutionContext, workbench: Workbench) -> Result:
    """A LoRA adapter trained on the newest examples that passed the gate.

    None for a model whose weights are elsewhere: then the cells cross the harnesses alone.
    """
    bench = workbench.bench(context.partition_key)
    if internalization.trains(bench):
        internalization.train_adapter(bench)
    return _result(bench, "adapters")


ASSETS = [samples, tailor, gate, adapters]
