"""Measure a line's harnesses on the development tasks: anchors, and candidates once checked."""

from dataclasses import dataclass

import polars as pl

from environments.base import Task
from harness.bundle import Bundle
from harness.checks import static_checks
from harness.models.host import ModelHost
from pipelines.measure import reading
from pipelines.rollout import plan
from pipelines.steps.bench import Bench
from pipelines.steps.line import (
    current_harness,
    draw,
    failed_checks,
    newest_anchor,
    retained_harness,
    round_batch,
)
from pipelines.steps.rollouts import label_failures, rows_of, run_units
from warehouse.errors import Unavailable
from warehouse.events.base import Purpose
from warehouse.events.line import AnchorMeasured, CandidateChecked, CandidateRead, Reading


@dataclass(frozen=True, slots=True)
class _Measured:
    """A reading, the rollouts behind it, and the one session that made them (None: resumed)."""

    reading: Reading
    rows: pl.DataFrame
    session_id: str | None


def measure_anchor(bench: Bench, host: ModelHost, round: int) -> None:
    """Measure the line's harness afresh, as the anchor of `round` (0: the seed's).

    Raises:
        Unavailable: too few of its rollouts could be run.
    """
    if bench.of_line("anchors", round).height:
        return
    harness_id = retained_harness(bench, round) or current_harness(bench)
    what = f"anchor of round {round}"
    found = _measure(bench, host, bench.bundle(harness_id), "anchor", round, what, seed_of=round)
    anchor = AnchorMeasured(
        harness_id=harness_id,
        batch_id=round_batch(bench, round),
        session_id=found.session_id,
        reading=found.reading,
    )
    bench.tell_line([anchor], round)


def explore(bench: Bench, host: ModelHost, round: int) -> None:
    """Roll out the line's harness on development tasks beside the measured ones.

    A repair may show passing rollouts to the model; those of measured tasks would give away their
    answers. Where the anchor passes nothing, there is nothing to look for.
    """
    config = bench.experiment.evidence
    if not newest_anchor(bench, before=round)["mean"] or not config.explore:
        return
    measured = {task.task_id for task in bench.development()}
    # From the end of the split: readings, samples and cells take its beginning.
    last = bench.env.tasks("development")[-config.explore :]
    units = plan(
        [task for task in last if task.task_id not in measured],
        bench.bundle(current_harness(bench)),
        rollouts=1,
        seed=draw(bench, "explore", round),
        purpose="collect",
        temperature=bench.experiment.measure.temperature,
        line_id=bench.line,
        round=round,
        batch_id=round_batch(bench, round),
    )
    run_units(bench, host, units, f"round {round}: looking for passing rollouts")


def check_candidates(bench: Bench, host: ModelHost, round: int) -> None:
    """Check every candidate: statically, then by one rollout that must end without an error."""
    checked = set(bench.of_line("candidate_checks", round)["candidate_id"])
    task = bench.development()[0]
    for row in bench.of_line("candidates", round).iter_rows(named=True):
        if row["candidate_id"] in checked:
            continue
        bundle = bench.bundle(row["harness_id"])
        static = static_checks(bundle, bench.env.open(task).tools)
        results = [(c.name, c.passed, c.detail) for c in static]
        if all(passed for _, passed, _ in results):
            results.append(_smoke(bench, host, bundle, row["candidate_id"], round, task))
        bench.tell_line(
            [
                CandidateChecked(
                    candidate_id=row["candidate_id"], check=name, passed=passed, detail=detail
                )
                for name, passed, detail in results
            ],
            round,
        )


def read_candidates(bench: Bench, host: ModelHost, round: int) -> None:
    """Measure every candidate that passed its checks on the development tasks.

    A candidate draws the sampling seeds of the anchor that it is judged against, so that both have
    the same luck; the anchor after it draws new ones.

    Raises:
        Unavailable: too few of a candidate's rollouts could be run.
    """
    read = set(bench.of_line("readings", round)["candidate_id"])
    failed = set(failed_checks(bench, round)["candidate_id"])
    anchor_round = int(newest_anchor(bench, before=round)["round"])
    for row in bench.of_line("candidates", round).iter_rows(named=True):
        candidate = row["candidate_id"]
        if candidate in read | failed:
            continue
        bundle = bench.bundle(row["harness_id"])
        what = f"round {round}: {row['title']}"
        found = _measure(
            bench, host, bundle, "candidate", round, what, seed_of=anchor_round, candidate=candidate
        )
        fired = bench.fresh("interventions", "component = ? and effect <> 'none'", [row["fires"]])
        bench.tell_line(
            [
                CandidateRead(
                    candidate_id=candidate,
                    harness_id=bundle.id,
                    batch_id=round_batch(bench, round),
                    session_id=found.session_id,
                    reading=found.reading,
                    n_fired=fired.join(found.rows, on="trajectory_id")["trajectory_id"].n_unique(),
                )
            ],
            round,
        )


def _measure(
    bench: Bench,
    host: ModelHost,
    bundle: Bundle,
    purpose: Purpose,
    round: int,
    what: str,
    *,
    seed_of: int,
    candidate: str | None = None,
) -> _Measured:
    config = bench.experiment.measure
    units = plan(
        bench.development(),
        bundle,
        rollouts=config.rollouts,
        seed=draw(bench, "anchor", seed_of),
        purpose=purpose,
        temperature=config.temperature,
        line_id=bench.line,
        round=round,
        batch_id=round_batch(bench, round),
        candidate_id=candidate,
    )
    ran = run_units(bench, host, units, what)
    label_failures(bench)
    rows = rows_of(bench, ran)
    found = reading(
        rows,
        bench.fresh("failure_labels"),
        bench.fresh("signals"),
        planned=len(units),
        repeats=bench.experiment.taxonomy.repeated_calls,
    )
    if found.coverage < bench.experiment.select.min_coverage:
        raise Unavailable(
            f"{what}: only {found.coverage:.0%} of its rollouts could be run; repair the serving"
            " and run the same command again"
        )
    return _Measured(found, rows, host.session_id if ran.n_new == len(units) else None)


def _smoke(
    bench: Bench, host: ModelHost, bundle: Bundle, candidate_id: str, round: int, task: Task
) -> tuple[str, bool, str]:
    units = plan(
        [task],
        bundle,
        rollouts=1,
        seed=bench.experiment.seed,
        purpose="smoke",
        temperature=bench.experiment.measure.temperature,
        line_id=bench.line,
        round=round,
        candidate_id=candidate_id,
    )
    ran = run_units(bench, host, units, f"round {round}: smoke test")
    ended, error = rows_of(bench, ran).select("termination_class", "error").row(0)
    if ended == "infra_error":
        raise Unavailable(
            f"the smoke test of {candidate_id} could not be run ({error}); repair the serving and"
            " run the same command again"
        )
    return "smoke", ended != "harness_error", error or ended
