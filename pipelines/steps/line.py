"""A line of harness evolution: how it begins, and what it has come to."""

from typing import Any

import polars as pl

from harness.models.host import ModelHost
from pipelines import stats
from pipelines.steps.bench import Bench
from warehouse.errors import BadInput
from warehouse.events.line import LineOpened, Reading
from warehouse.ids import bare, content_id


def open_line(bench: Bench, host: ModelHost) -> None:
    """Begin the line from its seed harness; a line that exists must have begun the same way.

    Raises:
        BadInput: the line exists with another suite, seed harness, model, policy, seed or way to
            measure: what it measures from now on could not be compared with what it has.
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
        measure={**bench.experiment.measure.model_dump(), "in_flight": host.lanes},
    )
    held = [
        e.fact for e in bench.lake.log.read(f"line/{bench.line}") if isinstance(e.fact, LineOpened)
    ]
    if not held:
        bench.tell_line([opened])
    elif held[0] != opened:
        was, now = _flat(held[0]), _flat(opened)
        changed = "; ".join(
            f"{k} was {was.get(k)!r} and is {now.get(k)!r}" for k in now if was.get(k) != now[k]
        )
        raise BadInput(
            f"line {bench.line!r} was opened differently: {changed}. Set it as it was to go on, or"
            " give another line name (in_flight 0 is one per core)"
        )


def _flat(opened: LineOpened) -> dict[str, Any]:
    fields = opened.model_dump()
    return {**fields, **fields.pop("measure")}


def current_harness(bench: Bench) -> str:
    """Return the id of the harness that the line has come to."""
    rounds = bench.of_line("rounds").sort("round")
    return str(rounds["harness_id"][-1]) if rounds.height else bench.seed_bundle().id


def retained_harness(bench: Bench, round: int) -> str | None:
    """Return the id of the harness that a round retained, or None."""
    kept = bench.of_line("verdicts", round).filter(pl.col("retained"))
    if kept.is_empty():
        return None
    row = bench.fresh("candidates", "candidate_id = ?", [kept["candidate_id"][0]])
    return str(row["harness_id"][0])


def newest_anchor(bench: Bench, before: int) -> dict[str, Any]:
    """Return the row of the newest anchor that was measured before a round.

    Raises:
        BadInput: there is none.
    """
    anchors = bench.of_line("anchors").filter(pl.col("round") < before).sort("round")
    if anchors.is_empty():
        raise BadInput(f"line {bench.line!r} has no anchor before round {before}; measure it first")
    return anchors.row(-1, named=True)


def anchor_trajectories(bench: Bench, before: int) -> pl.DataFrame:
    """Return the trajectories of that anchor."""
    where = "line_id = ? and round = ? and purpose = 'anchor'"
    return bench.fresh("trajectories", where, [bench.line, newest_anchor(bench, before)["round"]])


def reading_of(row: dict[str, Any]) -> Reading:
    """Return the reading that a row of `anchors` or `readings` holds."""
    names = {name: name.lower() for name in Reading.model_fields}
    return Reading.model_validate({name: row[column] for name, column in names.items()})


def failed_checks(bench: Bench, round: int) -> pl.DataFrame:
    """Return the checks that candidates of a round failed."""
    return bench.of_line("candidate_checks", round).filter(~pl.col("passed"))


def noise_floor(bench: Bench) -> float | None:
    """Return the noise floor over the line's anchors and readings so far."""
    spreads = [*bench.of_line("anchors")["sd"], *bench.of_line("readings")["sd"]]
    return stats.noise_floor(spreads)


def accepted_tags(bench: Bench) -> list[str]:
    """Return `does` or `sees` for every edit that the line retained."""
    kept = bench.of_line("verdicts").filter(pl.col("retained")).select("candidate_id")
    return bench.of_line("candidates").join(kept, on="candidate_id")["tag"].to_list()


def draw(bench: Bench, what: str, round: int) -> int:
    """Return the seed that one measurement of a round draws its rollouts' seeds from."""
    return int(bare(content_id([bench.experiment.seed, what, round]))[:8], 16)


def round_batch(bench: Bench, round: int) -> str:
    """Return the id of the batch that a round's measurements belong to."""
    return f"{bench.line}~r{round:03d}"
