"""Read off the failure composition which lever to pull. Source: harness-ceiling §7."""

from collections.abc import Collection
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from warehouse.events.batch import DiagnosisMade
from warehouse.events.line import Reading

Lever = Literal["harness", "weights", "evidence", "neither", "done"]


class Rule(BaseModel):
    """The thresholds of the rule."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    quality_floor: float = Field(default=0.18, ge=0, le=1)
    saturated_delivery: float = Field(default=0.9, ge=0, le=1)


_NEXT: dict[Lever, str] = {
    "harness": "instar evolve",
    "weights": "instar tailor, gate, train",
    "evidence": "instar evolve, with the scorer's per-check failures in the evidence",
    "neither": "try a stronger model; neither lever is known to pay here",
    "done": "nothing failed",
}


def diagnose(
    reading: Reading,
    rule: Rule,
    *,
    harness_id: str,
    weights_id: str,
    split: str,
    sigma: float | None,
    pulled: Collection[str] = (),
    accepted_tags: Collection[str] = (),
) -> DiagnosisMade:
    """Return the rule's reading of one cell.

    Args:
        reading: the cell.
        rule: the thresholds.
        harness_id: the cell's harness.
        weights_id: the cell's weights.
        split: the cell's split.
        sigma: the noise floor, for the record (None: not measured).
        pulled: the levers already pulled on this line (`harness`, `weights`).
        accepted_tags: `does` or `sees` for each accepted edit, for branch 5.

    A reading without a single rollout that counts says nothing: no lever, and not "done" either.
    """
    lever, branch, reason = _branch(reading, rule, pulled)
    if accepted_tags and lever in {"weights", "evidence"}:
        does = sum(tag == "does" for tag in accepted_tags)
        reason += (
            f"; of {len(accepted_tags)} accepted edits {does} changed what the model does"
            f" (these can be trained in) and {len(accepted_tags) - does} what it sees (these stay)"
        )
    figures: dict[str, Any] = {"noise_floor": sigma, "pulled": sorted(pulled)}
    return DiagnosisMade(
        harness_id=harness_id,
        weights_id=weights_id,
        split=split,
        lever=lever,
        branch=branch,
        reason=reason,
        next_command=_NEXT[lever] if reading.n_rollouts else "repair the serving, measure again",
        figures=figures | reading.model_dump(),
    )


def _branch(reading: Reading, rule: Rule, pulled: Collection[str]) -> tuple[Lever, str, str]:
    shares = {name: getattr(reading, name) or 0.0 for name in ("F1", "F2", "F3", "F4")}
    largest = max(shares, key=lambda name: shares[name])
    delivery = reading.delivery or 0.0
    told = f"{largest} is the largest class ({shares[largest]:.0%})"
    if reading.n_rollouts == 0:
        reason = f"no rollout counts ({reading.n_excluded} cannot be trusted); measure again"
        return "neither", "0 nothing measured", reason
    if not any(shares.values()):
        return "done", "0 nothing fails", "every trajectory is healthy"
    if reading.quality is not None and reading.quality < rule.quality_floor:
        return (
            "neither",
            "1 quality too low",
            f"what is delivered scores {reading.quality:.2f}, below {rule.quality_floor}",
        )
    if delivery < rule.saturated_delivery or largest in {"F2", "F3"}:
        return (
            "harness",
            "2 process failures",
            f"delivery is {delivery:.0%} (saturated at {rule.saturated_delivery:.0%}) and {told}",
        )
    if {"harness", "weights"} <= set(pulled):
        return "evidence", "4 content failures after both levers", told
    if largest == "F4" or "harness" in pulled:
        return "weights", "3 content failures", f"delivery is saturated ({delivery:.0%}) and {told}"
    return "harness", "2 evidence failures", f"delivery is saturated ({delivery:.0%}) and {told}"
