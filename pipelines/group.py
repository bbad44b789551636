"""Group failures into patterns; one over two tasks or more is recurring. Source: ecdysis §3.3."""

from collections.abc import Mapping

import polars as pl
from pydantic import BaseModel, ConfigDict, Field

from warehouse.ids import content_id

SURFACES: Mapping[str, str] = {
    "no_call": "prompts",
    "unbacked_claims": "middleware",
    "open_gate": "policies",
    "forced_unlock": "middleware",
    "blocked_calls": "middleware",
    "repeated_call": "middleware",
    "budget": "middleware",
    "terminated": "policies",
    "none": "lessons",
}
"""The surface that a pattern's signal points at first; a hint, not an order."""


class GroupConfig(BaseModel):
    """What makes a group recurring, and how many of its trajectories are named."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    recurring_tasks: int = Field(default=2, ge=1)
    examples: int = Field(default=3, ge=1)


def group(
    trajectories: pl.DataFrame,
    labels: pl.DataFrame,
    signals: pl.DataFrame,
    score_checks: pl.DataFrame,
    *,
    line_id: str,
    round: int,
    config: GroupConfig,
) -> pl.DataFrame:
    """Return the `failure_groups` of one round from the trajectories given.

    A pattern is label, signal, how calls went wrong, how it ended, and the scorer's failed checks;
    its `group_id` is the hash of that and of nothing else, so that a group keeps its id from round
    to round. Rows come recurring first, then by size.
    """
    failed = (
        score_checks.filter(~pl.col("passed"))
        .group_by("trajectory_id")
        .agg(pl.col("name").sort().alias("failed_checks"))
    )
    rows = (
        trajectories.join(labels.filter(pl.col("label") != "healthy"), on="trajectory_id")
        .join(
            signals.select("trajectory_id", "n_turns_without_call", "error", "error_tool"),
            on="trajectory_id",
        )
        .join(failed, on="trajectory_id", how="left")
        .with_columns(
            pl.col("failed_checks").fill_null(pl.lit([], dtype=pl.List(pl.String))),
            pl.when(pl.col("n_turns_without_call") * 2 > pl.col("n_turns"))
            .then(pl.lit("no_call"))
            .otherwise(
                pl.when(pl.col("error").is_not_null())
                .then(pl.format("{}:{}", "error_tool", "error"))
                .otherwise(pl.lit("calls_ok"))
            )
            .alias("calls"),
        )
        .with_columns(
            pl.concat_str(
                "label",
                "signal",
                "calls",
                "termination_class",
                pl.col("failed_checks").list.join("+"),
                separator=" | ",
            ).alias("pattern")
        )
    )
    surface = (
        pl.when(pl.col("calls") == "no_call")
        .then(pl.lit(SURFACES["no_call"]))
        .otherwise(
            pl.col("signal").replace_strict(SURFACES, default="prompts", return_dtype=pl.String)
        )
    )
    return (
        rows.sort("task_id", "trajectory_id")
        .group_by("pattern", maintain_order=True)
        .agg(
            pl.col("label").first(),
            pl.col("signal").first(),
            pl.col("harness_id").first(),
            pl.len().alias("n_trajectories"),
            pl.col("task_id").n_unique().alias("n_tasks"),
            pl.col("trajectory_id")
            .filter(pl.col("task_id").is_first_distinct())
            .head(config.examples)
            .alias("examples"),
            surface.first().alias("suspected_surface"),
            pl.col("failed_checks").first(),
        )
        .with_columns(
            pl.col("pattern").map_elements(content_id, return_dtype=pl.String).alias("group_id"),
            pl.lit(line_id).alias("line_id"),
            pl.lit(round, dtype=pl.Int64).alias("round"),
            (pl.col("n_tasks") >= config.recurring_tasks).alias("recurring"),
        )
        .sort(
            ["recurring", "n_trajectories", "n_tasks", "pattern"],
            descending=[True, True, True, False],
        )
    )
