"""Hand-made frames: one row is one dict of what differs from an unremarkable default."""

from typing import Any

import polars as pl

from warehouse.events.line import Reading

SIGNALS = pl.Schema(
    {
        "trajectory_id": pl.String,
        "score": pl.Float64,
        "reward_trustworthy": pl.Boolean,
        "n_claims": pl.Int64,
        "n_unbacked": pl.Int64,
        "unbacked_ratio": pl.Float64,
        "unbacked_claims": pl.String,
        "n_open_gates": pl.Int64,
        "open_items": pl.String,
        "n_unlocks": pl.Int64,
        "n_blocked": pl.Int64,
        "max_repeats": pl.Int64,
        "repeated_call": pl.String,
        "budget_share": pl.Float64,
        "harness_terminated": pl.Boolean,
        "n_turns_without_call": pl.Int64,
        "error": pl.String,
        "error_tool": pl.String,
    }
)
_QUIET: dict[str, Any] = {
    "score": 0.0,
    "reward_trustworthy": True,
    "n_open_gates": 0,
    "n_unlocks": 0,
    "n_blocked": 0,
    "max_repeats": 0,
    "harness_terminated": False,
    "n_turns_without_call": 0,
}

TRAJECTORIES = pl.Schema(
    {
        "trajectory_id": pl.String,
        "task_id": pl.String,
        "family": pl.String,
        "line_id": pl.String,
        "round": pl.Int64,
        "purpose": pl.String,
        "split": pl.String,
        "harness_id": pl.String,
        "weights_id": pl.String,
        "rollout": pl.Int64,
        "score": pl.Float64,
        "reward_trustworthy": pl.Boolean,
        "delivered": pl.Boolean,
        "termination_class": pl.String,
        "n_turns": pl.Int64,
        "n_tool_calls": pl.Int64,
        "input_tokens": pl.Int64,
        "output_tokens": pl.Int64,
    }
)
_RUN: dict[str, Any] = {
    "task_id": "task",
    "family": "ticket",
    "line_id": "main",
    "purpose": "collect",
    "split": "development",
    "harness_id": "h",
    "weights_id": "w",
    "rollout": 0,
    "score": 0.0,
    "reward_trustworthy": True,
    "delivered": True,
    "termination_class": "success",
    "n_turns": 4,
    "n_tool_calls": 4,
}

LABELS = pl.Schema({"trajectory_id": pl.String, "label": pl.String, "signal": pl.String})

CALLS = pl.Schema(
    {
        "trajectory_id": pl.String,
        "position": pl.Int64,
        "turn": pl.Int64,
        "name": pl.String,
        "arguments_json": pl.String,
        "component": pl.String,
        "answered": pl.Boolean,
        "result_text": pl.String,
        "error": pl.String,
    }
)

MESSAGES = pl.Schema(
    {
        "trajectory_id": pl.String,
        "position": pl.Int64,
        "turn": pl.Int64,
        "role": pl.String,
        "author": pl.String,
        "content_text": pl.String,
        "copied_context": pl.Boolean,
    }
)

CHECKS = pl.Schema({"trajectory_id": pl.String, "name": pl.String, "passed": pl.Boolean})


def frame(schema: pl.Schema, default: dict[str, Any], rows: tuple[dict[str, Any], ...]) -> Any:
    """Return rows over a schema; ids are t0, t1, … where none is given."""
    named = [{"trajectory_id": f"t{i}", **default, **row} for i, row in enumerate(rows)]
    return pl.DataFrame(named, schema=schema)


def signals(*rows: dict[str, Any]) -> pl.DataFrame:
    """Return signals of trajectories that failed without any sign of why."""
    return frame(SIGNALS, _QUIET, rows)


def trajectories(*rows: dict[str, Any]) -> pl.DataFrame:
    """Return delivered development rollouts of a line that score nothing."""
    return frame(TRAJECTORIES, _RUN, rows)


def labels(*rows: tuple[str, str, str]) -> pl.DataFrame:
    """Return labels from (trajectory, label, signal)."""
    return pl.DataFrame(rows, schema=LABELS, orient="row")


def calls(*rows: dict[str, Any]) -> pl.DataFrame:
    """Return answered tool calls."""
    return frame(CALLS, {"position": 0, "turn": 1, "name": "search", "answered": True}, rows)


def messages(*rows: dict[str, Any]) -> pl.DataFrame:
    """Return messages."""
    default = {"position": 0, "turn": 0, "role": "user", "author": "task", "copied_context": False}
    return frame(MESSAGES, default, rows)


def score_checks(*rows: tuple[str, str, bool | None]) -> pl.DataFrame:
    """Return a scorer's checks from (trajectory, name, passed)."""
    return pl.DataFrame(rows, schema=CHECKS, orient="row")


def a_reading(**given: Any) -> Reading:
    """Return a reading of 48 tasks in which nothing fails, with what is given in its place."""
    plain: dict[str, Any] = {
        "m": 4,
        "n_tasks": 48,
        "n_rollouts": 192,
        "n_excluded": 0,
        "coverage": 1.0,
        "mean": 0.5,
        "sd": 0.02,
        "delivery": 1.0,
        "quality": 0.5,
        "healthy": 1.0,
        "F1": 0.0,
        "F2": 0.0,
        "F3": 0.0,
        "F4": 0.0,
        "repeated_call": 0.0,
        "turns": 4.0,
        "input_tokens": 100.0,
        "output_tokens": 10.0,
    }
    return Reading.model_validate({**plain, **given})
