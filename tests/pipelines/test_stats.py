"""The statistics give the papers' figures, agree with brute force, and refuse what cannot be."""

import math
from itertools import combinations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from pipelines import stats
from warehouse.errors import BadInput

SIGMA = 0.023  # DeepPlanning, harness-ceiling App. A
LAW = settings(derandomize=True, deadline=None, max_examples=60)


def up(value: float, step: float = 0.005) -> float:
    """Round up to the next step, as the paper's table does."""
    return round(math.ceil(value / step - 1e-9) * step, 3)


@pytest.mark.parametrize(
    ("m", "tabled"), [(1, 0.07), (2, 0.05), (4, 0.035), (8, 0.025), (16, 0.02)]
)
def test_the_papers_table_of_resolvable_differences(m: int, tabled: float) -> None:
    assert up(stats.resolvable_difference(SIGMA, m)) == tabled


def test_the_resolvable_difference_of_webarena_lite() -> None:
    assert round(stats.resolvable_difference(0.045, 4), 3) == 0.064


@pytest.mark.parametrize(("m", "low", "high"), [(4, 0.025, 0.030), (1, 0.05, 0.06)])
def test_the_papers_bounds_on_selection_optimism(m: int, low: float, high: float) -> None:
    bounds = [stats.selection_optimism(SIGMA, m, k) for k in (10, 30)]
    assert [round(bound, 2 if m == 1 else 3) for bound in bounds] == [low, high]


def test_one_candidate_is_no_selection() -> None:
    assert stats.selection_optimism(SIGMA, 4, 1) == 0.0


def test_the_papers_decomposition_of_the_4b_line() -> None:
    delivery, quality = stats.decompose(0.59, 0.266, 0.88, 0.332)
    assert (round(delivery, 3), round(quality, 3)) == (0.077, 0.058)


shares = st.floats(0, 1, allow_nan=False)


@LAW
@given(shares, shares, shares, shares)
def test_the_two_terms_add_up_to_the_change(r0: float, q0: float, r1: float, q1: float) -> None:
    assert sum(stats.decompose(r0, q0, r1, q1)) == pytest.approx(r1 * q1 - r0 * q0, abs=1e-12)


@st.composite
def trials(draw: st.DrawFn) -> tuple[int, int, int]:
    n = draw(st.integers(1, 9))
    return n, draw(st.integers(0, n)), draw(st.integers(1, n))


@LAW
@given(trials())
def test_pass_at_k_and_pass_hat_k_count_every_choice_of_k_trials(given: tuple[int, ...]) -> None:
    n, c, k = given
    passed = [i < c for i in range(n)]
    chosen = list(combinations(passed, k))
    assert stats.pass_at_k(n, c, k) == pytest.approx(sum(map(any, chosen)) / len(chosen))
    assert stats.pass_hat_k(n, c, k) == pytest.approx(sum(map(all, chosen)) / len(chosen))


@LAW
@given(trials())
def test_one_trial_is_the_plain_share(given: tuple[int, ...]) -> None:
    n, c, _ = given
    assert stats.pass_at_k(n, c, 1) == pytest.approx(c / n)
    assert stats.pass_hat_k(n, c, 1) == pytest.approx(c / n)


@pytest.mark.parametrize(
    ("sigma", "m", "alpha", "power"),
    list(product((0.023, 0.2), (1, 4, 9), (0.05, 0.01), (0.8, 0.95))),
)
def test_a_true_difference_of_the_minimum_detectable_size_is_found_with_that_power(
    sigma: float, m: int, alpha: float, power: float
) -> None:
    effect = stats.minimum_detectable_effect(sigma, m, alpha=alpha, power=power)
    error = sigma * math.sqrt(2 / m)  # of a difference of two means over m rollouts
    found = norm.sf(norm.ppf(1 - alpha / 2) - effect / error)
    assert found == pytest.approx(power)


def test_the_paired_difference_is_after_minus_before_with_the_error_of_its_mean() -> None:
    difference, error = stats.paired_difference([(0.0, 1.0), (0.5, 0.5), (1.0, 0.5), (0.0, 0.0)])
    assert difference == pytest.approx(0.125)
    squares = 0.875**2 + 0.125**2 + 0.625**2 + 0.125**2
    assert error == pytest.approx(math.sqrt(squares / 3 / 4))


def test_one_task_has_a_difference_and_no_error() -> None:
    assert stats.paired_difference([(0.25, 0.75)]) == (0.5, None)


def test_the_noise_floor_is_the_median_of_the_cells_that_vote() -> None:
    assert stats.noise_floor([0.03, None, 0.01, 0.02]) == 0.02
    assert stats.noise_floor([0.01, 0.03, None]) == pytest.approx(0.02)


@pytest.mark.parametrize("sds", [[], [None], [None, None]])
def test_without_a_spread_there_is_no_noise_floor(sds: list[float | None]) -> None:
    assert stats.noise_floor(sds) is None


def test_wilsons_interval() -> None:
    low, high = stats.share_interval(2, 10)
    z, n, p = norm.ppf(0.975), 10, 0.2
    middle = (p + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * math.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    assert (low, high) == pytest.approx((middle - half, middle + half))


@pytest.mark.parametrize(
    ("run", "says"),
    [
        (lambda: stats.resolvable_difference(SIGMA, 0), "m = 0; at least 1"),
        (lambda: stats.minimum_detectable_effect(SIGMA, -1), "m = -1; at least 1"),
        (lambda: stats.selection_optimism(SIGMA, 0, 3), "m = 0; at least 1"),
        (lambda: stats.selection_optimism(SIGMA, 4, 0), "k = 0; at least 1"),
        (lambda: stats.pass_at_k(3, 4, 1), "4 passes of 3 trials is impossible"),
        (lambda: stats.pass_hat_k(3, -1, 1), "-1 passes of 3 trials is impossible"),
        (lambda: stats.pass_at_k(3, 1, 4), "k = 4 needs between 1 and n = 3"),
        (lambda: stats.pass_hat_k(3, 1, 0), "k = 0 needs between 1 and n = 3"),
        (lambda: stats.paired_difference([]), "at least one task"),
        (lambda: stats.share_interval(0, 0), "n = 0; at least 1"),
        (lambda: stats.share_interval(4, 3), "4 passes of 3 trials is impossible"),
    ],
)
def test_the_impossible_is_refused_in_words(run: object, says: str) -> None:
    with pytest.raises(BadInput, match=says):
        run()  # type: ignore[operator]
