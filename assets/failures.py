"""Why rollouts fail: labels and groups."""

import dagster as dg

from assets.lake import table_metadata
from assets.partitions import ROUND, parse_round
from assets.resources import Workbench
from pipelines.steps import evolution
from pipelines.steps.rollouts import label_failures


@dg.asset(group_name="failures", deps=["signals"], kinds={"polars", "parquet"})
def failure_labels(workbench: Workbench) -> dg.MaterializeResult[None]:
    """One row per judged trajectory: healthy, or the first failure signal that fires (F1-F4)."""
    bench = workbench.bench()
    label_failures(bench)
    counts = bench.lake.query(
        "select label, count(*) as n from failure_labels group by 1 order by 1"
    )
    shares = "\n".join(f"| {label} | {n} |" for label, n in counts.iter_rows())
    return dg.MaterializeResult(
        metadata={
            **table_metadata(bench.lake, "failure_labels"),
            "composition": dg.MetadataValue.md(f"| label | n |\n|---|---|\n{shares}"),
        }
    )


@dg.asset(
    group_name="failures",
    deps=["failure_labels", "score_checks", "signals"],
    partitions_def=ROUND,
    kinds={"polars", "parquet"},
)
def failure_groups(
    context: dg.AssetExecutionContext, workbench: Workbench
) -> dg.MaterializeResult[None]:
    """One row per failure pattern of the round: how many trajectories and tasks share it."""
    line, number = parse_round(context.partition_key)
    bench = workbench.bench(line)
    groups = evolution.group_failures(bench, number)
    rows = "\n".join(
        f"| {r['pattern'].replace('|', '·')} | {r['n_trajectories']} | {r['n_tasks']} |"
        for r in groups.iter_rows(named=True)
    )
    return dg.MaterializeResult(
        metadata={
            **table_metadata(bench.lake, "failure_groups"),
            "groups": dg.MetadataValue.md(f"| pattern | n | tasks |\n|---|---|---|\n{rows}"),
        }
    )
