"""Judge candidates against a fresh anchor, every figure kept.

Source: harness-ceiling §4.2, App. A, G.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from pipelines import stats
from warehouse.events.line import CandidateJudged, Reading

Outcome = Literal["accepted", "rejected", "indecisive", "invalid", "inert"]


class Gate(BaseModel):
    """Which policy judges, and its thresholds.

    * `strict`: the mean is above the anchor's (ecdysis).
    * `house_rules`: the mean does not drop by more than `mean_drop`; healthy share, delivery and
      repeated calls do not get worse by `share_drop` (harness-ceiling).
    * `best_dev`: the highest development mean of the whole line (EvoIn).
    * `paired_k_se`: the paired difference over tasks exceeds k standard errors.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    policy: Literal["strict", "house_rules", "best_dev", "paired_k_se"] = "house_rules"
    k: float = Field(default=2.0, gt=0)
    mean_drop: float = 0.02
    share_drop: float = 0.05
    min_coverage: float = Field(default=0.6, ge=0, le=1)


@dataclass(frozen=True, slots=True)
class Measured:
    """A harness with its reading, its mean score per task, and the session if it was one."""

    reading: Reading
    task_means: Mapping[str, float]
    session_id: str | None


Figures = dict[str, float | int | bool | str | None]
_EXACT = 1e-9
"""Keeps a difference that is exactly a margin, but for rounding, on its side of it."""


def judge(
    candidate_id: str,
    candidate: Measured,
    anchor: Measured,
    *,
    n_fired: int,
    failed_checks: Sequence[str],
    sigma: float | None,
    best_mean: float,
    gate: Gate,
) -> CandidateJudged:
    """Return the verdict on one candidate.

    Args:
        candidate_id: whose verdict it is.
        candidate: its own reading.
        anchor: the fresh anchor of the harness it was made from.
        n_fired: in how many rollouts the edited component ran.
        failed_checks: names of failed checks before measurement.
        sigma: the noise floor, None before two readings with a spread exist.
        best_mean: the highest development mean of the line so far.
        gate: policy and thresholds.

    Order: invalid, coverage, inert, then the policy. Retention is decided among the accepted.
    """
    figures = _figures(candidate, anchor, sigma)
    figures |= {"n_fired": n_fired, "best_mean": best_mean}

    def verdict(outcome: Outcome, reason: str) -> CandidateJudged:
        return CandidateJudged(
            candidate_id=candidate_id,
            accepted=outcome == "accepted",
            retained=False,
            outcome=outcome,
            reason=reason,
            policy=gate.policy,
            figures=figures,
        )

    if failed_checks:
        return verdict("invalid", f"failed before measurement: {', '.join(failed_checks)}")
    if min(candidate.reading.coverage, anchor.reading.coverage) < gate.min_coverage:
        return verdict("indecisive", f"less than {gate.min_coverage:.0%} of the rollouts count")
    if n_fired == 0:
        return verdict("inert", "the edited component never ran")
    accepted, reason = POLICIES[gate.policy](candidate.reading, anchor.reading, figures, gate)
    return verdict("accepted" if accepted else "rejected", reason)


def retain(verdicts: Sequence[tuple[CandidateJudged, float]]) -> list[CandidateJudged]:
    """Return the verdicts with the best accepted one (by mean) marked as retained."""
    accepted = [(mean, v.candidate_id) for v, mean in verdicts if v.accepted]
    best = max(accepted)[1] if accepted else None
    return [v.model_copy(update={"retained": v.candidate_id == best}) for v, _ in verdicts]


def invalid(candidate_id: str, failed_checks: Sequence[str], gate: Gate) -> CandidateJudged:
    """Return the verdict on a candidate that was never measured; it counts as zero."""
    return CandidateJudged(
        candidate_id=candidate_id,
        accepted=False,
        retained=False,
        outcome="invalid",
        reason=f"failed before measurement: {', '.join(failed_checks)}",
        policy=gate.policy,
        figures={"mean": 0.0},
    )


def _figures(candidate: Measured, anchor: Measured, sigma: float | None) -> Figures:
    new, old = candidate.reading, anchor.reading
    shared = sorted(candidate.task_means.keys() & anchor.task_means.keys())
    pairs = [(anchor.task_means[t], candidate.task_means[t]) for t in shared]
    difference, error = stats.paired_difference(pairs) if pairs else (None, None)
    resolvable = None if sigma is None else stats.resolvable_difference(sigma, new.m)
    return {
        "mean": new.mean,
        "anchor_mean": old.mean,
        "difference": difference,
        "standard_error": error,
        "n_tasks": len(pairs),
        "tasks_better": sum(b > a for a, b in pairs),
        "tasks_worse": sum(b < a for a, b in pairs),
        "noise_floor": sigma,
        "resolvable": resolvable,
        "within_noise": None
        if resolvable is None or difference is None
        else abs(difference) < resolvable,
        "minimum_detectable_effect": None
        if sigma is None
        else stats.minimum_detectable_effect(sigma, new.m),
        "delivery_change": _change(new.delivery, old.delivery),
        "healthy_change": _change(new.healthy, old.healthy),
        "repeated_call_change": _change(new.repeated_call, old.repeated_call),
        "turns_change": _change(new.turns, old.turns),
        "output_tokens_change": _change(new.output_tokens, old.output_tokens),
        "coverage": new.coverage,
        "same_session": candidate.session_id is not None
        and candidate.session_id == anchor.session_id,
    }


def _change(new: float | None, old: float | None) -> float | None:
    return None if new is None or old is None else new - old


Policy = Callable[[Reading, Reading, Figures, Gate], tuple[bool, str]]


def _strict(new: Reading, old: Reading, figures: Figures, gate: Gate) -> tuple[bool, str]:
    better = (new.mean or 0.0) > (old.mean or 0.0)
    return better, f"mean {_n(new.mean)} against the anchor's {_n(old.mean)}"


def _house_rules(new: Reading, old: Reading, figures: Figures, gate: Gate) -> tuple[bool, str]:
    if figures["difference"] is None:
        return False, "no task counts on both sides"
    worse = [
        f"{name} {_n(value)}"
        for name, value, limit in (
            ("mean", figures["difference"], gate.mean_drop + _EXACT),
            ("healthy share", figures["healthy_change"], gate.share_drop - _EXACT),
            ("delivery", figures["delivery_change"], gate.share_drop - _EXACT),
            (
                "repeated calls",
                _negative(figures["repeated_call_change"]),
                gate.share_drop - _EXACT,
            ),
        )
        if isinstance(value, float) and value < -limit
    ]
    if worse:
        return False, f"worse than the house rules allow: {', '.join(worse)}"
    return True, f"no worse than the house rules allow; mean {_n(figures['difference'], '+')}"


def _best_dev(new: Reading, old: Reading, figures: Figures, gate: Gate) -> tuple[bool, str]:
    best = figures["best_mean"]
    better = isinstance(best, float) and (new.mean or 0.0) > best
    return better, f"mean {_n(new.mean)} against the line's best {_n(best)}"


def _paired_k_se(new: Reading, old: Reading, figures: Figures, gate: Gate) -> tuple[bool, str]:
    difference, error = figures["difference"], figures["standard_error"]
    if not isinstance(difference, float) or not isinstance(error, float):
        return False, "too few shared tasks for a standard error"
    told = f"paired difference {difference:+.3f}, standard error {error:.3f}, k = {gate.k:g}"
    return difference > gate.k * error, told


POLICIES: Mapping[str, Policy] = {
    "strict": _strict,
    "house_rules": _house_rules,
    "best_dev": _best_dev,
    "paired_k_se": _paired_k_se,
}


def _negative(value: object) -> float | None:
    return -value if isinstance(value, float) else None


def _n(value: object, sign: str = "") -> str:
    return f"{value:{sign}.3f}" if isinstance(value, float) else "unknown"
