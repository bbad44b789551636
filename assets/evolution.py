"""One round of harness evolution, a step per table."""

from collections.abc import Iterator

import dagster as dg
import polars as pl

from assets.lake import table_metadata
from assets.partitions import ROUND, parse_round
from assets.resources import ModelServer, Workbench
from pipelines import summary
from pipelines.steps import evolution, line
from pipelines.steps import readings as measuring
from pipelines.steps.bench import Bench

Result = dg.MaterializeResult[None]


def _result(bench: Bench, name: str) -> Result:
    bench.lake.refresh([name])
    return dg.MaterializeResult(asset_key=name, metadata=table_metadata(bench.lake, name))


def _bench(context: dg.AssetExecutionContext, workbench: Workbench) -> tuple[Bench, int]:
    name, number = parse_round(context.partition_key)
    return workbench.bench(name), number


@dg.asset(group_name="evolution", partitions_def=ROUND, kinds={"python"}, pool="llm")
def rollouts(
    context: dg.AssetExecutionContext, workbench: Workbench, server: ModelServer
) -> Result:
    """The rollouts that the round starts from: the line's harness on the development tasks."""
    bench, number = _bench(context, workbench)
    line.open_line(bench, server.host(bench.experiment))
    measuring.measure_anchor(bench, server.host(bench.experiment), 0)
    evolution.open_round(bench, number)
    measuring.explore(bench, server.host(bench.experiment), number)
    held = bench.fresh("trajectories", "line_id = ? and purpose = 'anchor'", [bench.line])
    return dg.MaterializeResult(metadata={"anchor_rollouts": held.height})


@dg.asset(group_name="evolution", deps=["failure_labels"], partitions_def=ROUND, kinds={"polars"})
def diagnoses(context: dg.AssetExecutionContext, workbench: Workbench) -> Result:
    """Which lever the anchor's failure composition names, by which branch of the rule."""
    bench, number = _bench(context, workbench)
    evolution.diagnose_line(bench, number)
    return _result(bench, "diagnoses")


@dg.multi_asset(
    specs=[
        dg.AssetSpec(
            name,
            group_name="evolution",
            deps=["failure_groups", "messages"],
            description=description,
            kinds={"polars"},
        )
        for name, description in (
            ("evidence_packages", "What the round's proposer may read: development only."),
            ("specs", "What should change and why, before anybody writes code."),
        )
    ],
    partitions_def=ROUND,
    name="specify",
)
def specify(context: dg.AssetExecutionContext, workbench: Workbench) -> Iterator[Result]:
    """Package the evidence and write the specification."""
    bench, number = _bench(context, workbench)
    evolution.specify(bench, number)
    yield _result(bench, "evidence_packages")
    yield _result(bench, "specs")


@dg.asset(group_name="evolution", deps=["specs"], partitions_def=ROUND, kinds={"python"})
def candidates(context: dg.AssetExecutionContext, workbench: Workbench) -> Result:
    """Changed harnesses waiting for judgement, with their accounts of themselves."""
    bench, number = _bench(context, workbench)
    evolution.propose(bench, number)
    return _result(bench, "candidates")


@dg.asset(
    group_name="evolution", deps=["candidates"], partitions_def=ROUND, kinds={"python"}, pool="llm"
)
def candidate_checks(
    context: dg.AssetExecutionContext, workbench: Workbench, server: ModelServer
) -> Result:
    """Static checks and one smoke rollout per candidate."""
    bench, number = _bench(context, workbench)
    measuring.check_candidates(bench, server.host(bench.experiment), number)
    return _result(bench, "candidate_checks")


@dg.asset(
    group_name="evolution",
    deps=["candidate_checks"],
    partitions_def=ROUND,
    kinds={"python"},
    pool="llm",
)
def readings(
    context: dg.AssetExecutionContext, workbench: Workbench, server: ModelServer
) -> Result:
    """Every checked candidate measured on the development tasks."""
    bench, number = _bench(context, workbench)
    measuring.read_candidates(bench, server.host(bench.experiment), number)
    return _result(bench, "readings")


@dg.asset(group_name="evolution", deps=["readings"], partitions_def=ROUND, kinds={"scipy"})
def verdicts(context: dg.AssetExecutionContext, workbench: Workbench) -> Result:
    """The verdict on each candidate against the anchor, every figure kept."""
    bench, number = _bench(context, workbench)
    evolution.judge_candidates(bench, number)
    result = _result(bench, "verdicts")
    told = summary.rounds(bench).filter(pl.col("round") == number)
    rows = "\n".join(
        f"| {r['title']} | {r['outcome']} | {r['reason']} |" for r in told.iter_rows(named=True)
    )
    table = dg.MetadataValue.md(f"| candidate | verdict | why |\n|---|---|---|\n{rows}")
    return result._replace(metadata={**(result.metadata or {}), "verdicts": table})


@dg.multi_asset(
    specs=[
        dg.AssetSpec(
            name, group_name="evolution", deps=["verdicts"], description=text, kinds={"python"}
        )
        for name, text in (
            (
                "anchors",
                "Fresh measurements of retained harnesses; gains are reported between them.",
            ),
            ("rounds", "Closed rounds: which harness each of them leaves behind."),
        )
    ],
    partitions_def=ROUND,
    name="close_round",
    pool="llm",
)
def close_round(
    context: dg.AssetExecutionContext, workbench: Workbench, server: ModelServer
) -> Iterator[Result]:
    """Measure a retained harness afresh and close the round."""
    bench, number = _bench(context, workbench)
    evolution.close_round(bench, server.host(bench.experiment), number)
    yield _result(bench, "anchors")
    yield _result(bench, "rounds")


ASSETS = [
    rollouts,
    diagnoses,
    specify,
    candidates,
    candidate_checks,
    readings,
    verdicts,
    close_round,
]
