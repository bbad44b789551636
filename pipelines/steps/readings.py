"""Measure a line's harnesses on the development tasks: anchors, and candidates once checked."""

from environments.base import Task
from harness.bundle import Bundle
from harness.checks import static_checks
from harness.models.host import ModelHost
from pipelines.measure import reading
from pipelines.rollout import plan
from pipelines.steps.bench import Bench
from pipelines.steps.line import current_harness, failed_checks, retained_harness, round_batch
from pipelines.steps.rollouts import label_failures, run_units
from warehouse.events.base import Purpose
from warehouse.events.line import AnchorMeasured, CandidateChecked, CandidateRead, Reading


def measure_anchor(bench: Bench, host: ModelHost, round: int) -> None:
    """Measure the line's harness afresh, as the anchor of `round` (0: the seed's)."""
    if bench.of_line("anchors", round).height:
        return
    harness_id = retained_harness(bench, round) or current_harness(bench)
    found, session_id = _measure(
        bench, host, bench.bundle(harness_id), "anchor", round, f"anchor of round {round}"
    )
    anchor = AnchorMeasured(
        harness_id=harness_id,
        batch_id=round_batch(bench, round),
        session_id=session_id,
        reading=found,
    )
    bench.tell_line([anchor], round)


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
    """Measure every candidate that passed its checks on the development tasks."""
    read = set(bench.of_line("readings", round)["candidate_id"])
    failed = set(failed_checks(bench, round)["candidate_id"])
    for row in bench.of_line("candidates", round).iter_rows(named=True):
        candidate = row["candidate_id"]
        if candidate in read | failed:
            continue
        bundle = bench.bundle(row["harness_id"])
        what = f"round {round}: {row['title']}"
        found, session_id = _measure(bench, host, bundle, "candidate", round, what, candidate)
        mine = bench.fresh(
            "trajectories", "candidate_id = ? and purpose = 'candidate'", [candidate]
        )
        fired = bench.fresh("interventions", "component = ? and effect <> 'none'", [row["fires"]])
        bench.tell_line(
            [
                CandidateRead(
                    candidate_id=candidate,
                    harness_id=bundle.id,
                    batch_id=round_batch(bench, round),
                    session_id=session_id,
                    reading=found,
                    n_fired=fired.join(mine, on="trajectory_id")["trajectory_id"].n_unique(),
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
    candidate_id: str | None = None,
) -> tuple[Reading, str | None]:
    """Return the reading, and the session that measured all of it (None: it was resumed)."""
    config = bench.experiment.measure
    units = plan(
        bench.development(),
        bundle,
        rollouts=config.rollouts,
        seed=bench.experiment.seed,
        purpose=purpose,
        temperature=config.temperature,
        line_id=bench.line,
        round=round,
        batch_id=round_batch(bench, round),
        candidate_id=candidate_id,
    )
    n_run = run_units(bench, host, units, what)
    label_failures(bench)
    where = (
        "line_id = ? and round = ? and purpose = ? and harness_id = ?"
        " and candidate_id is not distinct from ?"
    )
    rows = bench.fresh("trajectories", where, [bench.line, round, purpose, bundle.id, candidate_id])
    found = reading(rows, bench.fresh("failure_labels"), planned=len(units))
    return found, host.session_id if n_run == len(units) else None


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
    run_units(bench, host, units, f"round {round}: smoke test")
    row = bench.fresh("trajectories", "candidate_id = ? and purpose = 'smoke'", [candidate_id])
    ended, error = row.select("termination_class", "error").row(0)
    return "smoke", ended not in {"harness_error", "infra_error"}, error or ended
