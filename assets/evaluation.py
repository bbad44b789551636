"""Harness × weights × split, measured in one batch."""

import dagster as dg

from assets.lake import table_metadata
from assets.partitions import LINE
from assets.resources import Workbench
from pipelines import flow, summary


@dg.asset(
    group_name="evaluation", partitions_def=LINE, deps=["adapters"], kinds={"python"}, pool="llm"
)
def cells(context: dg.AssetExecutionContext, workbench: Workbench) -> dg.MaterializeResult[None]:
    """Seed and evolved harness × base and adapter × every split."""
    bench = workbench.bench(context.partition_key)
    flow.cross(bench)
    bench.lake.refresh()
    rows = "\n".join(
        f"| {r['harness']} | {r['weights']} | {r['split']} | {_score(r['mean'])} |"
        f" {r['n_rollouts']} |"
        for r in summary.cells(bench).iter_rows(named=True)
    )
    head = "| harness | weights | split | score | n |\n|---|---|---|---|---|\n"
    return dg.MaterializeResult(
        metadata={
            **table_metadata(bench.lake, "cells"),
            "cells": dg.MetadataValue.md(head + rows),
        }
    )


def _score(mean: float | None) -> str:
    return "no rollout counts" if mean is None else f"{mean:.3f}"
