"""The statistics that decisions rest on. Source: harness-ceiling §3.2, App. A; ecdysis §3.5."""

import math
from collections.abc import Sequence
from statistics import fmean, median, stdev

from scipy import stats as scipy_stats

from warehouse.errors import BadInput


def noise_floor(sds: Sequence[float | None]) -> float | None:
    """Return the per-rollout standard deviation of a task-set mean: the median over cells.

    `sds` are the cells' standard deviations over their m rollouts; None (m = 1) does not vote.
    Returns None when no cell votes.
    """
    known = [sd for sd in sds if sd is not None]
    return median(known) if known else None


def resolvable_difference(sigma: float, m: int) -> float:
    """Return the smallest difference of two m-rollout means that is not noise: 2·√2·σ/√m."""
    _positive("m", m)
    return 2 * math.sqrt(2) * sigma / math.sqrt(m)


def selection_optimism(sigma: float, m: int, k: int) -> float:
    """Return the most by which keeping the best of k readings inflates it: σ/√m · √(2·ln k)."""
    _positive("m", m)
    _positive("k", k)
    return sigma / math.sqrt(m) * math.sqrt(2 * math.log(k))


def decompose(r0: float, q0: float, r1: float, q1: float) -> tuple[float, float]:
    """Split a change of S = r·q into its (delivery term, quality term): q0·Δr and r1·Δq."""
    return q0 * (r1 - r0), r1 * (q1 - q0)


def pass_at_k(n: int, c: int, k: int) -> float:
    """Return the unbiased estimate that at least one of k trials passes, given c passes in n."""
    _trials(n, c, k)
    return 1.0 - math.comb(n - c, k) / math.comb(n, k)


def pass_hat_k(n: int, c: int, k: int) -> float:
    """Return the unbiased estimate that all of k trials pass, given c passes in n."""
    _trials(n, c, k)
    return math.comb(c, k) / math.comb(n, k)


def minimum_detectable_effect(
    sigma: float, m: int, *, alpha: float = 0.05, power: float = 0.8
) -> float:
    """Return the true difference of two m-rollout means that a two-sided test would find.

    `sigma` is the per-rollout standard deviation of one mean; the test errs with rate `alpha` where
    there is no difference and finds the returned one with probability `power`.
    """
    _positive("m", m)
    z = float(scipy_stats.norm.ppf(1 - alpha / 2) + scipy_stats.norm.ppf(power))
    return z * sigma * math.sqrt(2 / m)


def paired_difference(pairs: Sequence[tuple[float, float]]) -> tuple[float, float | None]:
    """Return the mean of (after - before) over tasks and its standard error.

    A task is one cluster: give one pair of task means per task. The error is None for one task.
    """
    if not pairs:
        raise BadInput("paired_difference needs at least one task that both sides have")
    differences = [after - before for before, after in pairs]
    error = stdev(differences) / math.sqrt(len(pairs)) if len(pairs) > 1 else None
    return fmean(differences), error


def share_interval(passed: int, n: int, *, confidence: float = 0.95) -> tuple[float, float]:
    """Return Wilson's interval for a share."""
    _positive("n", n)
    _passes(n, passed)
    found = scipy_stats.binomtest(passed, n).proportion_ci(confidence, method="wilson")
    return float(found.low), float(found.high)


def _positive(name: str, value: int) -> None:
    if value < 1:
        raise BadInput(f"{name} = {value}; at least 1 is needed")


def _passes(n: int, c: int) -> None:
    if not 0 <= c <= n:
        raise BadInput(f"{c} passes of {n} trials is impossible")


def _trials(n: int, c: int, k: int) -> None:
    _passes(n, c)
    if not 1 <= k <= n:
        raise BadInput(f"k = {k} needs between 1 and n = {n} trials")
