"""A reading is a mean over passes; what cannot be trusted is counted and never averaged."""

from typing import Any

import polars as pl
import pytest

from pipelines import measure
from pipelines.measure import task_means
from tests.pipelines.frames import labels, signals, trajectories
from warehouse.events.line import Reading

PASSES = [  # two tasks, two passes: means 0.5 and 0.75
    {"task_id": "a", "rollout": 0, "score": 1.0, "n_turns": 2, "output_tokens": 10},
    {"task_id": "b", "rollout": 0, "score": 0.0, "n_turns": 6, "delivered": False},
    {"task_id": "a", "rollout": 1, "score": 1.0, "n_turns": 2, "output_tokens": 20},
    {"task_id": "b", "rollout": 1, "score": 0.5, "n_turns": 2},
]
LABELLED = labels(
    ("t0", "healthy", "score"),
    ("t1", "F3", "repeated_call"),
    ("t2", "healthy", "score"),
    ("t3", "healthy", "score"),
    ("elsewhere", "F4", "none"),
)

SIGNALS = signals(
    {"trajectory_id": "t0", "max_repeats": 1},
    {"trajectory_id": "t1", "max_repeats": 3},
    {"trajectory_id": "t2", "max_repeats": 2},
    {"trajectory_id": "t3", "max_repeats": None},
    {"trajectory_id": "elsewhere", "max_repeats": 9},
)


def reading(rollouts: pl.DataFrame, labelled: pl.DataFrame, planned: int) -> Reading:
    return measure.reading(rollouts, labelled, SIGNALS, planned=planned, repeats=3)


def test_mean_and_spread_are_those_of_the_passes() -> None:
    found = reading(trajectories(*PASSES), LABELLED, planned=4)
    assert (found.m, found.n_tasks, found.n_rollouts) == (2, 2, 4)
    assert found.mean == pytest.approx(0.625)
    assert found.sd == pytest.approx(0.125 * 2**0.5)


def test_the_score_is_delivery_times_quality() -> None:
    found = reading(trajectories(*PASSES), LABELLED, planned=4)
    assert (found.delivery, found.quality) == (0.75, pytest.approx(2.5 / 3))
    assert found.delivery * found.quality == pytest.approx(found.mean)


def test_label_shares_and_costs() -> None:
    found = reading(trajectories(*PASSES), LABELLED, planned=4)
    assert (found.healthy, found.F1, found.F2, found.F3, found.F4) == (0.75, 0, 0, 0.25, 0)
    assert (found.repeated_call, found.turns) == (0.25, 3.0)
    assert (found.output_tokens, found.input_tokens) == (15.0, None)


def test_a_trajectory_repeats_itself_whatever_its_label() -> None:
    healthy = labels(*((f"t{i}", "healthy", "score") for i in range(4)))
    assert reading(trajectories(*PASSES), healthy, planned=4).repeated_call == 0.25


def test_one_pass_has_no_spread() -> None:
    found = reading(trajectories(*PASSES[:2]), LABELLED, planned=2)
    assert (found.m, found.mean, found.sd) == (1, 0.5, None)


@pytest.mark.parametrize(
    "broken", [{"reward_trustworthy": False}, {"score": None}, {"score": float("nan")}]
)
def test_what_cannot_be_trusted_is_counted_and_left_out(broken: dict[str, Any]) -> None:
    rows = [*PASSES, {"task_id": "c", "rollout": 0, "score": 0.0, "n_turns": 99, **broken}]
    found = reading(trajectories(*rows), LABELLED, planned=5)
    whole = reading(trajectories(*PASSES), LABELLED, planned=4)
    assert (found.n_rollouts, found.n_excluded, found.coverage) == (4, 1, 0.8)
    same = ("mean", "sd", "delivery", "quality", "healthy", "F3", "turns")
    assert [getattr(found, x) for x in same] == [getattr(whole, x) for x in same]


def test_rollouts_that_were_never_made_lower_the_coverage() -> None:
    assert reading(trajectories(*PASSES), LABELLED, planned=8).coverage == 0.5


def test_no_rollouts_have_no_figures() -> None:
    found = reading(trajectories(), LABELLED, planned=4)
    assert (found.m, found.n_rollouts, found.n_excluded, found.coverage) == (0, 0, 0, 0.0)
    unknown = found.model_dump(exclude={"m", "n_tasks", "n_rollouts", "n_excluded", "coverage"})
    assert set(unknown.values()) == {None}
    assert reading(trajectories(), LABELLED, planned=0).coverage == 0.0


def test_nothing_but_infrastructure_failures_have_no_figures_either() -> None:
    rows = [{"reward_trustworthy": False, "score": None, "rollout": i} for i in range(2)]
    found = reading(trajectories(*rows), labels(), planned=2)
    assert (found.n_rollouts, found.n_excluded, found.coverage) == (0, 2, 0.0)
    assert (found.mean, found.delivery, found.healthy) == (None, None, None)


def test_what_is_never_delivered_scores_0_and_has_no_quality() -> None:
    rows = [{"delivered": False, "rollout": i} for i in range(2)]
    found = reading(trajectories(*rows), labels(("t0", "F3", "budget")), planned=2)
    assert (found.mean, found.delivery, found.quality) == (0.0, 0.0, None)


def test_task_means_average_the_rollouts_that_count() -> None:
    rows = [*PASSES, {"task_id": "b", "score": 0.0, "reward_trustworthy": False}]
    assert task_means(trajectories(*rows)) == {"a": 1.0, "b": 0.25}
