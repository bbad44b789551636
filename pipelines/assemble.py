"""Assemble the training set: replayed trajectories in, gated examples and refused rows out."""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import polars as pl

from warehouse.ids import content_id
from warehouse.quality import Verdict

CountTokens = Callable[[Sequence[dict[str, str]]], tuple[int, int]]
"""messages → (all tokens, trained tokens), under the template that training uses."""

_EXAMPLE = (
    "trajectory_id",
    "line_id",
    "sample_id",
    "task_id",
    "family",
    "harness_id",
    "candidate_id",
    "messages",
    "tools",
    "n_tokens",
    "n_trained_tokens",
)


def rows(
    tailored: pl.DataFrame,
    trajectories: pl.DataFrame,
    messages: pl.DataFrame,
    tool_calls: pl.DataFrame,
    *,
    candidate_of: Mapping[str, str],
    tools: str,
    test_tasks: Collection[str],
    test_questions: Collection[str],
    count_tokens: CountTokens,
) -> pl.DataFrame:
    """Return one row per tailored trajectory, with everything the gate looks at.

    Args:
        tailored: accepted rewritings; `trajectory_id` is the replay's.
        trajectories: at least the replays and the samples they come from.
        messages: at least the replays' messages.
        tool_calls: at least the replays' calls.
        candidate_of: evolved harness id → the candidate that brought it.
        tools: the seed's tools as JSON text.
        test_tasks: ids of all held-out and out-of-domain tasks.
        test_questions: their questions.
        count_tokens: see `CountTokens`.
    """
    harness_of = dict(trajectories.select("trajectory_id", "harness_id").iter_rows())
    task_of = dict(trajectories.select("trajectory_id", "task_id").iter_rows())
    family_of = dict(trajectories.select("trajectory_id", "family").iter_rows())
    by_trajectory = messages.sort("position").partition_by("trajectory_id", as_dict=True)
    unanswered = dict(
        tool_calls.filter(~pl.col("answered")).group_by("trajectory_id").len().iter_rows()
    )
    found: list[dict[str, Any]] = []
    seen: set[str] = set()
    for row in tailored.sort("sample_id").iter_rows(named=True):
        replay = row["trajectory_id"]
        talk = [
            {"role": role, "content": text}
            for role, text in by_trajectory[replay,].select("role", "content_text").iter_rows()
        ]
        text = json.dumps(talk, ensure_ascii=False)
        n_tokens, n_trained = count_tokens(talk)
        harness = harness_of.get(row["sample_id"])
        candidate = candidate_of.get(harness or "")
        said = [m["content"] or "" for m in talk if m["role"] == "user"]
        digest = content_id(talk)
        found.append(
            {
                "trajectory_id": replay,
                "line_id": row["line_id"],
                "sample_id": row["sample_id"],
                "task_id": task_of.get(replay),
                "family": family_of.get(replay),
                "harness_id": harness,
                "candidate_id": candidate,
                "messages": text,
                "tools": tools,
                "n_tokens": n_tokens,
                "n_trained_tokens": n_trained,
                "replay_score": row["replay_score"],
                "n_lineage": sum(x is not None for x in (harness, candidate)),
                "first_user_chars": len(said[0].strip()) if said else 0,
                "n_assistant_turns": sum(m["role"] == "assistant" for m in talk),
                "n_unanswered": unanswered.get(replay, 0),
                "ends_with_assistant": bool(talk) and talk[-1]["role"] == "assistant",
                "n_template_marks": text.count("<|im_"),
                "is_test_task": task_of.get(replay) in test_tasks,
                "is_test_question": any(q in (said[0] if said else "") for q in test_questions),
                "is_duplicate": digest in seen,
            }
        )
        seen.add(digest)
    return pl.DataFrame(found, schema=_SCHEMA)


def split(frame: pl.DataFrame, verdicts: Sequence[Verdict]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return (`sft_examples`, `sft_quarantine`): a row that breaks any expectation is refused."""
    reasons: dict[int, list[str]] = {}
    for verdict in verdicts:
        for row, names in verdict.rows.items():
            reasons.setdefault(row, []).extend(names)
    bad = sorted(reasons)
    numbered = frame.with_row_index("row")
    kept = numbered.filter(~pl.col("row").is_in(bad))
    listed = pl.Series("failed_expectations", [reasons[row] for row in bad], pl.List(pl.String))
    refused = numbered.filter(pl.col("row").is_in(bad)).with_columns(listed)
    return kept.select(_EXAMPLE), refused.select(
        "trajectory_id",
        "line_id",
        "sample_id",
        "task_id",
        pl.col("failed_expectations").list.join("; ").alias("reason"),
        "failed_expectations",
    )


def dataset_id(examples: pl.DataFrame) -> str:
    """Return the content id of a training set: its conversations and their origin, in no order."""
    return content_id(sorted(examples.select("trajectory_id", "messages").rows()))


def card(
    examples: pl.DataFrame, quarantine: pl.DataFrame, tailored: int, refused: pl.DataFrame
) -> dict[str, Any]:
    """Return the dataset card: what came in, what was refused and why, what went out."""
    reasons = [r for row in quarantine["failed_expectations"].to_list() for r in row]
    infeasible = [part.split(":")[0] for r in refused["reason"].to_list() for part in r.split("; ")]
    return {
        "n_samples": tailored + refused.height,
        "n_infeasible": refused.height,
        "infeasible_reasons": _counted(infeasible),
        "n_tailored": tailored,
        "n_quarantined": quarantine.height,
        "quarantine_reasons": _counted(reasons),
        "n_examples": examples.height,
        "n_tasks": examples["task_id"].n_unique(),
        "families": dict(examples.group_by("family").len().sort("family").iter_rows()),
        "tokens": {
            "total": int(examples["n_tokens"].sum()),
            "trained": int(examples["n_trained_tokens"].sum()),
            "longest": int(str(examples["n_tokens"].max() or 0)),
        },
    }


def _counted(reasons: Sequence[str]) -> dict[str, int]:
    return {reason: reasons.count(reason) for reason in sorted(set(reasons))}


_SCHEMA = {
    **dict.fromkeys(_EXAMPLE, pl.String),
    "n_tokens": pl.Int64,
    "n_trained_tokens": pl.Int64,
    "replay_score": pl.Float64,
    "n_lineage": pl.Int64,
    "first_user_chars": pl.Int64,
    "n_assistant_turns": pl.Int64,
    "n_unanswered": pl.Int64,
    "ends_with_assistant": pl.Boolean,
    "n_template_marks": pl.Int64,
    "is_test_task": pl.Boolean,
    "is_test_question": pl.Boolean,
    "is_duplicate": pl.Boolean,
}
