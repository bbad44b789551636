"""Label each trajectory by the first failure signal that fires. Source: harness-ceiling §3.1.

* healthy: the score is at least `healthy_score`.
* F1 evidence: claims that nothing backs, or an exit gate passed with open items.
* F2 harness friction: the harness itself was in the way.
* F3 execution control: repeated calls, an exhausted budget, ended by the harness.
* F4 capacity: none of these; the work was done, and poorly.
"""

import polars as pl
from pydantic import BaseModel, ConfigDict, Field


class Taxonomy(BaseModel):
    """The thresholds behind the labels. Other thresholds are another `version`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: str = "ceiling-1"
    healthy_score: float = Field(default=0.5, ge=0, le=1)
    unbacked_ratio: float = Field(default=0.5, gt=0, le=1)
    blocked_calls: int = Field(default=10, ge=1)
    repeated_calls: int = Field(default=3, ge=2)
    budget_share: float = Field(default=0.9, gt=0, le=1)


LABELS = ("healthy", "F1", "F2", "F3", "F4")
LABELLER = "rules"


def label(signals: pl.DataFrame, taxonomy: Taxonomy) -> pl.DataFrame:
    """Return `failure_labels`, one row per trajectory that has a trustworthy score.

    A signal that is NULL, because the source does not carry it, does not fire.
    """
    rules: list[tuple[str, str, pl.Expr, pl.Expr]] = [
        (
            "healthy",
            "score",
            pl.col("score") >= taxonomy.healthy_score,
            pl.format("score {}", pl.col("score").round(3)),
        ),
        (
            "F1",
            "unbacked_claims",
            pl.col("unbacked_ratio") >= taxonomy.unbacked_ratio,
            pl.format("{} of {} claims unbacked: {}", "n_unbacked", "n_claims", "unbacked_claims"),
        ),
        (
            "F1",
            "open_gate",
            pl.col("n_open_gates") > 0,
            pl.format(
                "passed the exit gate with open items: {}", pl.col("open_items").fill_null("")
            ),
        ),
        (
            "F2",
            "forced_unlock",
            pl.col("n_unlocks") > 0,
            pl.format("{} forced unlocks", "n_unlocks"),
        ),
        (
            "F2",
            "blocked_calls",
            pl.col("n_blocked") >= taxonomy.blocked_calls,
            pl.format("{} blocked calls", "n_blocked"),
        ),
        (
            "F3",
            "repeated_call",
            pl.col("max_repeats") >= taxonomy.repeated_calls,
            pl.format("{} times: {}", "max_repeats", pl.col("repeated_call").fill_null("")),
        ),
        (
            "F3",
            "budget",
            pl.col("budget_share") >= taxonomy.budget_share,
            pl.format(
                "{} % of the step budget, {} turns without a call",
                (pl.col("budget_share") * 100).round(0).cast(pl.Int64),
                "n_turns_without_call",
            ),
        ),
        ("F3", "terminated", pl.col("harness_terminated"), pl.lit("the harness ended it")),
    ]
    # NaN counts as the largest number: an unfiltered one would be healthy.
    judged = signals.filter(pl.col("reward_trustworthy") & pl.col("score").is_finite())
    named = pl.lit("F4"), pl.lit("none"), pl.lit("no process signal fired")
    for name, signal, fires, evidence in reversed(rules):
        when = pl.when(fires.fill_null(value=False))
        named = (
            when.then(pl.lit(name)).otherwise(named[0]),
            when.then(pl.lit(signal)).otherwise(named[1]),
            when.then(evidence).otherwise(named[2]),
        )
    return judged.select(
        "trajectory_id",
        named[0].alias("label"),
        named[1].alias("signal"),
        named[2].alias("evidence"),
        pl.lit(taxonomy.version).alias("taxonomy_version"),
        pl.lit(LABELLER).alias("labeller"),
    )
