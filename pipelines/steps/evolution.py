"""One round of harness evolution, step by step, each resumable."""

from typing import Any

import polars as pl

from environments.base import Task
from harness.bundle import Bundle
from harness.checks import static_checks
from harness.models.host import ModelHost
from pipelines import group as grouping
from pipelines import propose as proposing
from pipelines import select as selecting
from pipelines import specify as specifying
from pipelines import stats
from pipelines.catalog.repair import Context
from pipelines.diagnose import diagnose
from pipelines.measure import reading, task_means
from pipelines.rollout import plan
from pipelines.steps.bench import Bench
from pipelines.steps.rollouts import label_failures, run_units
from warehouse.errors import BadInput
from warehouse.events.base import Purpose
from warehouse.events.line import (
    AnchorMeasured,
    CandidateChecked,
    CandidateJudged,
    CandidateProposed,
    CandidateRead,
    EvidencePackaged,
    HarnessRetained,
    LineOpened,
    Reading,
    RoundClosed,
    RoundOpened,
    SpecWritten,
)
from warehouse.ids import content_id


def open_line(bench: Bench, host: ModelHost) -> None:
    """Begin the line from its seed harness; a line that exists must have begun the same way.

    Raises:
        BadInput: the line exists with another suite, seed harness or model.
    """
    seed = bench.seed_bundle()
    bench.keep_bundle(seed)
    opened = LineOpened(
        suite=bench.env.name,
        seed_harness_id=seed.id,
        model=host.name,
        weights_id=host.base_id,
        proposer="catalog",
        policy=bench.experiment.select.policy,
        seed=bench.experiment.seed,
    )
    held = [
        e.fact for e in bench.lake.log.read(f"line/{bench.line}") if isinstance(e.fact, LineOpened)
    ]
    if not held:
        bench.tell_line([opened])
    elif held[0] != opened:
        was, now = held[0].model_dump(), opened.model_dump()
        changed = {k: (was[k], now[k]) for k in was if was[k] != now[k]}
        raise BadInput(
            f"line {bench.line!r} was opened differently: {changed} (then, now); give another line"
            " name, or the same experiment"
        )


def current_harness(bench: Bench) -> str:
    """Return the id of the harness that the line has come to."""
    rounds = bench.of_line("rounds").sort("round")
    return str(rounds["harness_id"][-1]) if rounds.height else bench.seed_bundle().id


def measure_anchor(bench: Bench, host: ModelHost, round: int) -> None:
    """Measure the line's harness afresh, as the anchor of `round` (0: the seed's)."""
    if bench.of_line("anchors", round).height:
        return
    harness_id = _retained(bench, round) or current_harness(bench)
    batch_id = _batch(bench, round)
    found = _measure(
        bench, host, bench.bundle(harness_id), "anchor", round, f"anchor of round {round}"
    )
    anchor = AnchorMeasured(
        harness_id=harness_id, batch_id=batch_id, session_id=host.session_id, reading=found
    )
    bench.tell_line([anchor], round)


def open_round(bench: Bench, round: int) -> None:
    """Note that a round begins."""
    stream = bench.lake.log.read(f"line/{bench.line}")
    if not any(isinstance(e.fact, RoundOpened) and e.round == round for e in stream):
        bench.tell_line([RoundOpened(harness_id=current_harness(bench))], round)


def group_failures(bench: Bench, round: int) -> pl.DataFrame:
    """Group the failures of the anchor that `round` starts from; return the round's groups."""
    anchor = _anchor_trajectories(bench, before=round)
    groups = grouping.group(
        anchor,
        bench.fresh("failure_labels"),
        bench.fresh("signals"),
        bench.fresh("score_checks"),
        line_id=bench.line,
        round=round,
        config=bench.experiment.group,
    )
    bench.lake.write("failure_groups", groups, {"line_id": bench.line, "round": round})
    return groups


def diagnose_line(bench: Bench, round: int) -> None:
    """Read the rule off the anchor that `round` starts from."""
    if bench.of_line("diagnoses", round).height:
        return
    anchor = _anchor(bench, before=round)
    made = diagnose(
        _reading(anchor),
        bench.experiment.rule,
        harness_id=anchor["harness_id"],
        weights_id="base",
        split="development",
        sigma=noise_floor(bench),
        pulled=["harness"] if round > 1 else [],
        accepted_tags=accepted_tags(bench),
    )
    bench.tell_line([made], round)


def specify(bench: Bench, round: int) -> None:
    """Package the round's evidence and write what should change."""
    if bench.of_line("specs", round).height:
        return
    groups = _groups(bench, round)
    anchor = _anchor_trajectories(bench, before=round)
    ids = anchor.select("trajectory_id")
    messages = bench.fresh("messages").join(ids, on="trajectory_id")
    package = specifying.package(
        _reading(_anchor(bench, before=round)),
        groups,
        messages,
        bench.fresh("score_checks").join(ids, on="trajectory_id"),
        _passing(anchor),
        _earlier(bench, round),
        bench.experiment.evidence,
    )
    package_id = content_id(package)
    chosen = specifying.choose(groups, _context(bench, round), _tried(bench), _n(bench))
    spec = specifying.specification(chosen)
    bench.tell_line(
        [
            EvidencePackaged(package_id=package_id, package=package),
            SpecWritten(
                spec_id=content_id([bench.line, round, spec]),
                package_id=package_id,
                proposer="catalog",
                spec=spec,
            ),
        ],
        round,
    )


def propose(bench: Bench, round: int) -> None:
    """Turn the round's specification into candidates."""
    if bench.of_line("candidates", round).height:
        return
    spec = bench.of_line("specs", round).row(0, named=True)
    context = _context(bench, round)
    chosen = specifying.choose(_groups(bench, round), context, _tried(bench), _n(bench))
    found = proposing.propose(chosen, context, line_id=bench.line, round=round)
    for candidate in found:
        bench.keep_bundle(candidate.bundle)
    bench.tell_line(
        [
            CandidateProposed(
                candidate_id=c.candidate_id,
                spec_id=spec["spec_id"],
                harness_id=c.bundle.id,
                parent_id=context.bundle.id,
                files=c.files,
                manifest=c.manifest,
            )
            for c in found
        ],
        round,
    )


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
    failed = set(_failed_checks(bench, round)["candidate_id"])
    for row in bench.of_line("candidates", round).iter_rows(named=True):
        candidate = row["candidate_id"]
        if candidate in read | failed:
            continue
        bundle = bench.bundle(row["harness_id"])
        what = f"round {round}: {row['title']}"
        found = _measure(bench, host, bundle, "candidate", round, what, candidate)
        mine = bench.fresh(
            "trajectories", "candidate_id = ? and purpose = 'candidate'", [candidate]
        )
        fired = bench.fresh("interventions", "component = ? and effect <> 'none'", [row["fires"]])
        bench.tell_line(
            [
                CandidateRead(
                    candidate_id=candidate,
                    harness_id=bundle.id,
                    batch_id=_batch(bench, round),
                    session_id=host.session_id,
                    reading=found,
                    n_fired=fired.join(mine, on="trajectory_id")["trajectory_id"].n_unique(),
                )
            ],
            round,
        )


def judge_candidates(bench: Bench, round: int) -> None:
    """Judge the round's candidates against the anchor, and retain the best accepted one."""
    if bench.of_line("verdicts", round).height:
        return
    candidates = bench.of_line("candidates", round)
    if candidates.is_empty():
        return
    anchor_row = _anchor(bench, before=round)
    anchor = selecting.Measured(
        _reading(anchor_row),
        task_means(_anchor_trajectories(bench, before=round)),
        anchor_row["session_id"],
    )
    readings = {
        r["candidate_id"]: r for r in bench.of_line("readings", round).iter_rows(named=True)
    }
    failed = _failed_checks(bench, round)
    best = max(
        [a for a in bench.of_line("anchors")["mean"].to_list() if a is not None], default=0.0
    )
    sigma = noise_floor(bench)
    verdicts: list[tuple[CandidateJudged, float]] = []
    for row in candidates.iter_rows(named=True):
        candidate = row["candidate_id"]
        broken = failed.filter(pl.col("candidate_id") == candidate)["check_name"].to_list()
        if candidate not in readings:
            verdicts.append((selecting.invalid(candidate, broken, bench.experiment.select), 0.0))
            continue
        read = readings[candidate]
        mine = bench.fresh(
            "trajectories", "candidate_id = ? and purpose = 'candidate'", [candidate]
        )
        verdict = selecting.judge(
            candidate,
            selecting.Measured(_reading(read), task_means(mine), read["session_id"]),
            anchor,
            n_fired=read["n_fired"],
            failed_checks=broken,
            sigma=sigma,
            best_mean=best,
            gate=bench.experiment.select,
        )
        verdicts.append((verdict, read["mean"] or 0.0))
    judged = selecting.retain(verdicts)
    harness = dict(candidates.select("candidate_id", "harness_id").iter_rows())
    retained = [
        HarnessRetained(harness_id=harness[v.candidate_id], candidate_id=v.candidate_id)
        for v in judged
        if v.retained
    ]
    bench.tell_line([*judged, *retained], round)


def close_round(bench: Bench, host: ModelHost, round: int) -> None:
    """End a round; a retained harness is measured afresh first, so that the next has an anchor."""
    if bench.of_line("rounds", round).height:
        return
    retained = _retained(bench, round)
    if retained:
        measure_anchor(bench, host, round)
        outcome, reason = "retained", "the best accepted candidate is the line's harness now"
    elif bench.of_line("candidates", round).is_empty():
        outcome, reason = "skipped", "the catalog has nothing left that answers the failures"
    else:
        outcome, reason = "kept", "no candidate was accepted"
    closed = RoundClosed.model_validate(
        {"harness_id": retained or current_harness(bench), "outcome": outcome, "reason": reason}
    )
    bench.tell_line([closed], round)


def noise_floor(bench: Bench) -> float | None:
    """Return the noise floor over the line's anchors and readings so far."""
    spreads = [*bench.of_line("anchors")["sd"], *bench.of_line("readings")["sd"]]
    return stats.noise_floor(spreads)


def accepted_tags(bench: Bench) -> list[str]:
    """Return `does` or `sees` for every edit that the line retained."""
    kept = bench.of_line("verdicts").filter(pl.col("retained")).select("candidate_id")
    return bench.of_line("candidates").join(kept, on="candidate_id")["tag"].to_list()


def _batch(bench: Bench, round: int) -> str:
    return f"{bench.line}~r{round:03d}"


def _n(bench: Bench) -> int:
    return bench.experiment.evolve.candidates


def _measure(
    bench: Bench,
    host: ModelHost,
    bundle: Bundle,
    purpose: Purpose,
    round: int,
    what: str,
    candidate_id: str | None = None,
) -> Reading:
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
        batch_id=_batch(bench, round),
        candidate_id=candidate_id,
    )
    run_units(bench, host, units, what)
    label_failures(bench)
    where = (
        "line_id = ? and round = ? and purpose = ? and harness_id = ?"
        " and candidate_id is not distinct from ?"
    )
    rows = bench.fresh("trajectories", where, [bench.line, round, purpose, bundle.id, candidate_id])
    return reading(rows, bench.fresh("failure_labels"), planned=len(units))


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


def _anchor(bench: Bench, before: int) -> dict[str, Any]:
    anchors = bench.of_line("anchors").filter(pl.col("round") < before).sort("round")
    if anchors.is_empty():
        raise BadInput(f"line {bench.line!r} has no anchor before round {before}; measure it first")
    return anchors.row(-1, named=True)


def _anchor_trajectories(bench: Bench, before: int) -> pl.DataFrame:
    where = "line_id = ? and round = ? and purpose = 'anchor'"
    return bench.fresh("trajectories", where, [bench.line, _anchor(bench, before)["round"]])


def _reading(row: dict[str, Any]) -> Reading:
    names = {name: name.lower() for name in Reading.model_fields}
    return Reading.model_validate({name: row[column] for name, column in names.items()})


def _groups(bench: Bench, round: int) -> pl.DataFrame:
    return bench.of_line("failure_groups", round).sort(
        ["recurring", "n_trajectories", "n_tasks", "pattern"], descending=[True, True, True, False]
    )


def _passing(anchor: pl.DataFrame) -> pl.DataFrame:
    """Return the shortest passing trajectory of each family."""
    return (
        anchor.filter(pl.col("delivered") & (pl.col("score") >= 1.0))
        .sort("n_turns", "n_messages", "trajectory_id")
        .unique("family", keep="first", maintain_order=True)
        .sort("family")
    )


def _context(bench: Bench, round: int) -> Context:
    anchor = _anchor_trajectories(bench, before=round)
    passing = specifying.passing_conversations(
        _passing(anchor), bench.fresh("messages"), bench.experiment.evidence.passing
    )
    tools = bench.env.open(bench.development()[0]).tools
    return Context(bench.bundle(current_harness(bench)), tools, passing)


def _tried(bench: Bench) -> set[str]:
    """Return the titles of repairs that were judged on the line's present harness."""
    here = bench.of_line("candidates").filter(pl.col("parent_id") == current_harness(bench))
    judged = bench.of_line("verdicts").select("candidate_id")
    return set(here.join(judged, on="candidate_id")["title"])


def _earlier(bench: Bench, round: int) -> pl.DataFrame:
    verdicts = bench.of_line("verdicts").filter(pl.col("round") < round)
    return verdicts.join(
        bench.of_line("candidates").select("candidate_id", "title"), on="candidate_id"
    )


def _failed_checks(bench: Bench, round: int) -> pl.DataFrame:
    return bench.of_line("candidate_checks", round).filter(~pl.col("passed"))


def _retained(bench: Bench, round: int) -> str | None:
    kept = bench.of_line("verdicts", round).filter(pl.col("retained"))
    if kept.is_empty():
        return None
    row = bench.fresh("candidates", "candidate_id = ?", [kept["candidate_id"][0]])
    return str(row["harness_id"][0])
