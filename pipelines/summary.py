"""What a line has come to, as frames that a terminal, a page or a program shows."""

from dataclasses import dataclass
from itertools import product

import polars as pl

from pipelines import stats
from pipelines.measure import task_means
from pipelines.steps.bench import Bench


@dataclass(frozen=True, slots=True)
class Gain:
    """A difference of two cells of one batch, with what is needed to read it.

    `interval` is ± two standard errors over tasks; `resolvable` is the smallest difference of two
    m-rollout means above the batch's noise floor. A gain is `real` when it exceeds both.
    """

    what: str
    split: str
    before: float
    after: float
    difference: float
    interval: float | None
    resolvable: float | None

    @property
    def real(self) -> bool:
        """Whether the difference is beyond the noise."""
        size = abs(self.difference)
        known = [limit for limit in (self.interval, self.resolvable) if limit is not None]
        return bool(known) and all(size > limit for limit in known)

    @property
    def reading(self) -> str:
        """The difference in words."""
        if not self.real:
            return "within noise"
        return "gain" if self.difference > 0 else "loss"


def composition(bench: Bench) -> pl.DataFrame:
    """Return the label shares of the seed's anchor and of the line's last anchor."""
    anchors = bench.of_line("anchors").sort("round")
    ends = anchors[[0, -1]] if anchors.height > 1 else anchors
    return ends.select(
        pl.Series("harness", ["seed", "evolved"][: ends.height]),
        "round",
        "mean",
        "sd",
        "m",
        "delivery",
        "quality",
        "healthy",
        "f1",
        "f2",
        "f3",
        "f4",
    )


def rounds(bench: Bench) -> pl.DataFrame:
    """Return one row per candidate: its reading, the verdict, and the anchor after the round."""
    anchors = bench.of_line("anchors").select("round", pl.col("mean").alias("anchor_after"))
    return (
        bench.of_line("verdicts")
        .join(bench.of_line("candidates").select("candidate_id", "title", "tag"), on="candidate_id")
        .join(
            bench.of_line("readings").select("candidate_id", "mean", "sd", "n_fired"),
            on="candidate_id",
            how="left",
        )
        .join(anchors, on="round", how="left")
        .sort("round", "retained", "title", descending=[False, True, False])
        .select(
            "round",
            "title",
            "tag",
            "mean",
            "sd",
            "n_fired",
            "outcome",
            "retained",
            "difference",
            "standard_error",
            "reason",
            "anchor_after",
        )
    )


def cells(bench: Bench) -> pl.DataFrame:
    """Return the cells of the line's newest batch."""
    found = bench.of_line("cells")
    if found.is_empty():
        return found
    return found.filter(pl.col("batch_id") == found.sort("measured_at")["batch_id"][-1])


def gains(bench: Bench) -> list[Gain]:
    """Return what the harness and the adapter brought, per split, paired over tasks."""
    table = cells(bench)
    if table.is_empty():
        return []
    rows = {(r["harness"], r["weights"], r["split"]): r for r in table.iter_rows(named=True)}
    batch = bench.fresh("trajectories", "batch_id = ?", [table["batch_id"][0]])
    sigmas = {
        split: stats.noise_floor(table.filter(pl.col("split") == split)["sd"].to_list())
        for split in table["split"].unique()
    }
    found = []
    weights = [w for w in table["weights"].unique(maintain_order=True) if w != "base"]
    pairs = [(("seed", "base"), ("evolved", "base"))]
    pairs += [(("seed", "base"), ("seed", w)) for w in weights]
    pairs += [(("evolved", "base"), ("evolved", w)) for w in weights]
    for (old, new), split in product(pairs, table["split"].unique(maintain_order=True)):
        before, after = rows.get((*old, split)), rows.get((*new, split))
        if before and after and before["mean"] is not None and after["mean"] is not None:
            found.append(
                _gain(
                    batch,
                    before,
                    after,
                    f"{' × '.join(old)} → {' × '.join(new)}",
                    sigmas[split],
                )
            )
    return found


def _gain(
    batch: pl.DataFrame,
    before: dict[str, object],
    after: dict[str, object],
    what: str,
    sigma: float | None,
) -> Gain:
    old, new = (_task_means(batch, cell) for cell in (before, after))
    pairs = [(old[task], new[task]) for task in sorted(old.keys() & new.keys())]
    _, error = stats.paired_difference(pairs) if pairs else (0.0, None)
    m = int(str(after["m"]))
    low, high = float(str(before["mean"])), float(str(after["mean"]))
    return Gain(
        what=what,
        split=str(after["split"]),
        before=low,
        after=high,
        difference=high - low,
        interval=None if error is None else 2 * error,
        resolvable=None if sigma is None else stats.resolvable_difference(sigma, m),
    )


def _task_means(batch: pl.DataFrame, cell: dict[str, object]) -> dict[str, float]:
    return task_means(
        batch.filter(
            (pl.col("harness_id") == cell["harness_id"])
            & (pl.col("weights_id") == cell["weights_id"])
            & (pl.col("split") == cell["split"])
        )
    )
