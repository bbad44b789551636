"""Package a round's evidence, and decide what should change before anybody writes code.

The package holds development trajectories only: no gold answer, no held-out task, no scorer code.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import polars as pl
from pydantic import BaseModel, ConfigDict, Field

from harness.messages import ChatMessage
from pipelines.catalog import REPAIRS
from pipelines.catalog.repair import Context, Repair
from warehouse.errors import BadInput
from warehouse.events.line import Reading


class EvidenceConfig(BaseModel):
    """How much of the trajectories a package shows.

    The last `explore` development tasks, where no reading measures them, are rolled out once per
    round: for passing rollouts that may be shown to the model without giving away what is measured.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    groups: int = Field(default=6, ge=1)
    excerpt_chars: int = Field(default=600, ge=40)
    passing: int = Field(default=8, ge=0)
    explore: int = Field(default=33, ge=0)


def package(
    reading: Reading,
    groups: pl.DataFrame,
    messages: pl.DataFrame,
    score_checks: pl.DataFrame,
    passing: pl.DataFrame,
    earlier: pl.DataFrame,
    config: EvidenceConfig,
) -> dict[str, Any]:
    """Return what a round's proposer may read, as plain values.

    Args:
        reading: the anchor's.
        groups: `failure_groups` of the round, recurring first.
        messages: messages of the anchor's trajectories.
        score_checks: the scorer's checks of the anchor's trajectories.
        passing: passing trajectories, the shortest of each family (`trajectory_id`, `family`).
        earlier: verdicts of earlier rounds (`title`, `outcome`, `reason`).
        config: how much is shown.
    """
    failed = (
        score_checks.filter(pl.col("passed").is_not_null())
        .group_by("name")
        .agg((~pl.col("passed")).mean().alias("share"))
    )
    return {
        "reading": reading.model_dump(),
        "failed_checks": {
            row["name"]: round(row["share"], 3)
            for row in failed.sort("share", descending=True).iter_rows(named=True)
        },
        "groups": [
            {
                key: row[key]
                for key in (
                    "group_id",
                    "pattern",
                    "label",
                    "signal",
                    "n_trajectories",
                    "n_tasks",
                    "recurring",
                    "suspected_surface",
                )
            }
            | {"excerpts": [_excerpt(messages, t, config) for t in row["examples"]]}
            for row in groups.head(config.groups).iter_rows(named=True)
        ],
        "passing": passing.head(config.passing).select("trajectory_id", "family").to_dicts(),
        "earlier_edits": earlier.select("title", "outcome", "reason").to_dicts(),
    }


def passing_conversations(
    passing: pl.DataFrame, messages: pl.DataFrame, limit: int
) -> list[list[ChatMessage]]:
    """Return passing trajectories as conversations, from the task on, at most `limit`."""
    found = []
    for trajectory in passing.head(limit)["trajectory_id"]:
        rows = messages.filter(
            (pl.col("trajectory_id") == trajectory)
            & ~pl.col("copied_context")
            & (pl.col("role") != "system")
        ).sort("position")
        found.append(
            [
                ChatMessage("assistant" if role == "assistant" else "user", text)
                for role, text in rows.select("role", "content_text").iter_rows()
            ]
        )
    return found


def choose(
    groups: pl.DataFrame, context: Context, tried: Collection[str], n: int
) -> list[tuple[Repair, list[str]]]:
    """Return up to `n` repairs with the patterns that each of them answers, best first.

    A repair's weight is how many failed trajectories it answers, recurring groups before auxiliary
    ones. A repair whose title was judged on this harness before (`tried`), or that has nothing to
    do, stands aside.
    """
    weighed: list[tuple[tuple[int, int], Repair, list[str]]] = []
    for repair in REPAIRS.values():
        if repair.title in tried or repair.apply(context) is None:
            continue
        answered = [g for g in groups.iter_rows(named=True) if repair.answers & _signals(g)]
        recurring = sum(g["n_trajectories"] for g in answered if g["recurring"])
        auxiliary = sum(g["n_trajectories"] for g in answered if not g["recurring"])
        if answered:
            weighed.append(((recurring, auxiliary), repair, [g["pattern"] for g in answered]))
    weighed.sort(key=lambda item: item[0], reverse=True)  # stable: catalog order breaks ties
    return [(repair, patterns) for _, repair, patterns in weighed[:n]]


def specification(chosen: Sequence[tuple[Repair, Sequence[str]]]) -> dict[str, Any]:
    """Return the modification specification for the chosen repairs."""
    return {
        "failure_patterns": sorted({p for _, patterns in chosen for p in patterns}),
        "proposed_changes": [
            {
                "repair": repair.name,
                "component": repair.fires,
                "description": repair.title,
                "rationale": repair.root_cause,
                "answers": list(patterns),
            }
            for repair, patterns in chosen
        ],
        "implementation_notes": "one mechanism per candidate; whole files only",
    }


def specified(spec: Mapping[str, Any]) -> list[tuple[Repair, list[str]]]:
    """Return the repairs that a specification names, with the patterns that each answers.

    Raises:
        BadInput: the catalog has no repair of a name.
    """
    found = []
    for change in spec["proposed_changes"]:
        if change["repair"] not in REPAIRS:
            raise BadInput(
                f"the specification names {change['repair']!r}, which is no known repair"
            )
        found.append((REPAIRS[change["repair"]], list(change["answers"])))
    return found


def _signals(row: Mapping[str, Any]) -> frozenset[str]:
    """Return what a group calls for: `no_call` where replies held no call, else its signal.

    A model that does not call tools also spends its budget; only the former can be answered.
    """
    calls = row["pattern"].split(" | ")[2]
    return frozenset({"no_call" if calls == "no_call" else row["signal"]})


def _excerpt(messages: pl.DataFrame, trajectory: str, config: EvidenceConfig) -> dict[str, str]:
    rows = messages.filter(
        (pl.col("trajectory_id") == trajectory) & ~pl.col("copied_context") & (pl.col("turn") > 0)
    ).sort("position")
    text = "\n".join(
        f"{role}: {said}" for role, said in rows.select("role", "content_text").iter_rows()
    )
    cut = len(text) - config.excerpt_chars
    if cut > 0:
        text = f"{text[: config.excerpt_chars]}\n[{cut} more characters cut]"
    return {"trajectory_id": trajectory, "text": text}
