"""Choose the trajectories worth internalizing: full score, best few per task, no two alike."""

import polars as pl
from pydantic import BaseModel, ConfigDict, Field


class SampleConfig(BaseModel):
    """How many rollouts per task are made, and how many of them are kept (harness-ceiling §4.3)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    tasks: int = Field(default=48, ge=1)
    rollouts: int = Field(default=8, ge=1)
    per_task: int = Field(default=3, ge=1)
    threshold: float = Field(default=1.0, ge=0, le=1)


def sample(
    trajectories: pl.DataFrame, tool_calls: pl.DataFrame, line_id: str, config: SampleConfig
) -> pl.DataFrame:
    """Return the `samples` of a line.

    Reads the line's `collect` trajectories on the development split that were delivered with a
    score of at least `threshold`. Trajectories of one task that make the same calls are one
    behaviour; the shortest of each behaviour stays, then the `per_task` shortest (rank 1 is best).
    """
    good = trajectories.filter(
        (pl.col("line_id") == line_id)
        & (pl.col("purpose") == "collect")
        & (pl.col("split") == "development")
        & pl.col("delivered")
        & pl.col("reward_trustworthy")
        & pl.col("score").is_finite()
        & (pl.col("score") >= config.threshold)
    )
    behaviour = (
        tool_calls.filter(pl.col("component").is_null())
        .sort("trajectory_id", "position")
        .group_by("trajectory_id")
        .agg(
            pl.concat_str("name", "arguments_json", separator=" ", ignore_nulls=True).alias("calls")
        )
        .with_columns(pl.col("calls").list.join("\n"))
    )
    return (
        good.join(behaviour, on="trajectory_id", how="left")
        .sort("task_id", "n_turns", "n_tool_calls", "rollout", "trajectory_id")
        .unique(["task_id", "calls"], keep="first", maintain_order=True)
        .with_columns(pl.int_range(1, pl.len() + 1).over("task_id").alias("rank"))
        .filter(pl.col("rank") <= config.per_task)
        .select(
            "trajectory_id",
            "line_id",
            "task_id",
            "family",
            "harness_id",
            "score",
            "n_turns",
            pl.col("rank").cast(pl.Int64),
        )
    )
