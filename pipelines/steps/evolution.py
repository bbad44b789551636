"""One round of harness evolution, step by step, each resumable."""

import json

import polars as pl

from harness.models.host import ModelHost
from pipelines import group as grouping
from pipelines import propose as proposing
from pipelines import select as selecting
from pipelines import specify as specifying
from pipelines.catalog.repair import Context
from pipelines.diagnose import diagnose
from pipelines.measure import task_means
from pipelines.steps.bench import Bench
from pipelines.steps.line import (
    accepted_tags,
    anchor_trajectories,
    current_harness,
    failed_checks,
    newest_anchor,
    noise_floor,
    reading_of,
    retained_harness,
)
from pipelines.steps.readings import measure_anchor
from warehouse.errors import BadInput
from warehouse.events.line import (
    CandidateJudged,
    CandidateProposed,
    EvidencePackaged,
    HarnessRetained,
    RoundClosed,
    RoundOpened,
    SpecWritten,
)
from warehouse.ids import content_id


def open_round(bench: Bench, round: int) -> None:
    """Note that a round begins; rounds follow one another.

    Raises:
        BadInput: the round before it is not closed.
    """
    closed = bench.of_line("rounds")["round"].to_list()
    if round > 1 and round - 1 not in closed:
        raise BadInput(
            f"line {bench.line!r}: round {round} cannot begin before round {round - 1} is closed;"
            f" run that one first (closed so far: {closed or 'none'})"
        )
    if round not in opened_rounds(bench):
        bench.tell_line([RoundOpened(harness_id=current_harness(bench))], round)


def opened_rounds(bench: Bench) -> list[int]:
    """Return the rounds that have begun, in order."""
    stream = bench.lake.log.read(f"line/{bench.line}")
    return [e.round for e in stream if isinstance(e.fact, RoundOpened) and e.round is not None]


def group_failures(bench: Bench, round: int) -> pl.DataFrame:
    """Group the failures of the anchor that `round` starts from; return the round's groups."""
    anchor = anchor_trajectories(bench, before=round)
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
    anchor = newest_anchor(bench, before=round)
    made = diagnose(
        reading_of(anchor),
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
    anchor = anchor_trajectories(bench, before=round)
    ids = anchor.select("trajectory_id")
    messages = bench.fresh("messages").join(ids, on="trajectory_id")
    package = specifying.package(
        reading_of(newest_anchor(bench, before=round)),
        groups,
        messages,
        bench.fresh("score_checks").join(ids, on="trajectory_id"),
        _passing(bench, round),
        _earlier(bench, round),
        bench.experiment.evidence,
    )
    package_id = content_id(package)
    n = bench.experiment.evolve.candidates
    chosen = specifying.choose(groups, _context(bench, round), _tried(bench), n)
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
    chosen = specifying.specified(json.loads(spec["spec"]))
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


def judge_candidates(bench: Bench, round: int) -> None:
    """Judge the round's candidates against the anchor, and retain the best accepted one."""
    if bench.of_line("verdicts", round).height:
        return
    candidates = bench.of_line("candidates", round)
    if candidates.is_empty():
        return
    anchor_row = newest_anchor(bench, before=round)
    anchor = selecting.Measured(
        reading_of(anchor_row),
        task_means(anchor_trajectories(bench, before=round)),
        anchor_row["session_id"],
    )
    readings = {
        r["candidate_id"]: r for r in bench.of_line("readings", round).iter_rows(named=True)
    }
    failed = failed_checks(bench, round)
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
            selecting.Measured(reading_of(read), task_means(mine), read["session_id"]),
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
    retained = retained_harness(bench, round)
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


def _groups(bench: Bench, round: int) -> pl.DataFrame:
    return bench.of_line("failure_groups", round).sort(
        ["recurring", "n_trajectories", "n_tasks", "pattern"], descending=[True, True, True, False]
    )


def _passing(bench: Bench, round: int) -> pl.DataFrame:
    """Return the shortest passing trajectory of each family, on tasks that no reading measures."""
    explored = bench.fresh(
        "trajectories",
        "line_id = ? and round = ? and purpose = 'collect' and split = 'development'",
        [bench.line, round],
    )
    measured = [task.task_id for task in bench.development()]
    return (
        explored.filter(
            pl.col("delivered") & (pl.col("score") >= 1.0) & ~pl.col("task_id").is_in(measured)
        )
        .sort("n_turns", "n_messages", "trajectory_id")
        .unique("family", keep="first", maintain_order=True)
        .sort("family")
    )


def _context(bench: Bench, round: int) -> Context:
    passing = specifying.passing_conversations(
        _passing(bench, round), bench.fresh("messages"), bench.experiment.evidence.passing
    )
    tools = bench.env.open(bench.development()[0]).tools
    return Context(bench.bundle(current_harness(bench)), tools, passing)


def _tried(bench: Bench) -> set[str]:
    """Return the titles of repairs that were decided on the line's present harness."""
    here = bench.of_line("candidates").filter(pl.col("parent_id") == current_harness(bench))
    judged = bench.of_line("verdicts").filter(pl.col("outcome") != "indecisive")
    return set(here.join(judged, on="candidate_id")["title"])


def _earlier(bench: Bench, round: int) -> pl.DataFrame:
    verdicts = bench.of_line("verdicts").filter(pl.col("round") < round)
    return verdicts.join(
        bench.of_line("candidates").select("candidate_id", "title"), on="candidate_id"
    )
