"""Turn rollouts into a reading: mean, spread, delivery, quality, labels, cost."""

from statistics import fmean, stdev

import polars as pl

from warehouse.events.line import Reading


def reading(
    trajectories: pl.DataFrame,
    labels: pl.DataFrame,
    signals: pl.DataFrame,
    *,
    planned: int,
    repeats: int,
) -> Reading:
    """Return the reading of one harness (and weights) on one task set.

    Args:
        trajectories: the rollouts, m per task; their `rollout` column numbers the passes.
        labels: `failure_labels` (others are ignored).
        signals: `signals` (others are ignored).
        planned: how many rollouts were meant to be made.
        repeats: so many equal calls make a trajectory one that repeats itself, whatever its label.

    An untrustworthy rollout (infrastructure) counts in `n_excluded` and nowhere else. The mean is
    the mean over passes of the pass's mean over tasks; the spread is that of the passes.
    """
    counted = _counted(trajectories)
    passes = (
        counted.group_by("rollout").agg(pl.col("score").mean()).sort("rollout")["score"].to_list()
    )
    judged = counted.join(labels.select("trajectory_id", "label"), on="trajectory_id")
    repeating = counted.join(
        signals.filter(pl.col("max_repeats") >= repeats), on="trajectory_id", how="semi"
    )
    delivered = counted.filter(pl.col("delivered"))
    n = counted.height

    def share(condition: pl.Expr) -> float | None:
        return judged.filter(condition).height / n if n else None

    return Reading(
        m=trajectories["rollout"].n_unique(),
        n_tasks=trajectories["task_id"].n_unique(),
        n_rollouts=n,
        n_excluded=trajectories.height - n,
        coverage=n / planned if planned else 0.0,
        mean=fmean(passes) if passes else None,
        sd=stdev(passes) if len(passes) > 1 else None,
        delivery=delivered.height / n if n else None,
        quality=_mean(delivered, "score"),
        healthy=share(pl.col("label") == "healthy"),
        F1=share(pl.col("label") == "F1"),
        F2=share(pl.col("label") == "F2"),
        F3=share(pl.col("label") == "F3"),
        F4=share(pl.col("label") == "F4"),
        repeated_call=repeating.height / n if n else None,
        turns=_mean(counted, "n_turns"),
        input_tokens=_mean(counted, "input_tokens"),
        output_tokens=_mean(counted, "output_tokens"),
    )


def task_means(trajectories: pl.DataFrame) -> dict[str, float]:
    """Return each task's mean score over its trustworthy rollouts."""
    rows = _counted(trajectories).group_by("task_id").agg(pl.col("score").mean()).iter_rows()
    return {str(task): float(score) for task, score in rows}


def _counted(trajectories: pl.DataFrame) -> pl.DataFrame:
    return trajectories.filter(pl.col("reward_trustworthy") & pl.col("score").is_finite())


def _mean(frame: pl.DataFrame, column: str) -> float | None:
    values = frame[column].drop_nulls().to_list()
    return fmean(values) if values else None
