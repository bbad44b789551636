"""Only full scores of collected development rollouts, a few per task, no two alike."""

from typing import Any

import polars as pl
import pytest

from pipelines.sample import SampleConfig, sample
from tests.pipelines.frames import calls, trajectories
from warehouse.tables import STAGE_TABLES

PASSED = {"score": 1.0}


def sampled(
    *rows: dict[str, Any], behaviours: list[str] | None = None, config: SampleConfig | None = None
) -> pl.DataFrame:
    """Sample from passing trajectories; each makes one call, by default its own."""
    made = calls(
        *(
            {"trajectory_id": f"t{i}", "arguments_json": text}
            for i, text in enumerate(behaviours or [f'{{"pattern": "{i}"}}' for i in range(9)])
        )
    )
    runs = trajectories(*({**PASSED, **row} for row in rows))
    return sample(runs, made, "main", config or SampleConfig())


@pytest.mark.parametrize(
    "row",
    [
        {"score": 0.99},
        {"score": None},
        {"score": float("nan")},
        {"delivered": False},
        {"reward_trustworthy": False},
        {"purpose": "anchor"},
        {"purpose": "cross"},
        {"split": "held-out"},
        {"split": "out-of-domain"},
        {"line_id": "another"},
        {"line_id": None},
    ],
)
def test_what_is_not_a_full_score_of_the_line_s_own_collection_is_left_out(
    row: dict[str, Any],
) -> None:
    assert sampled(row, {"task_id": "kept"})["task_id"].to_list() == ["kept"]


def test_the_threshold_can_be_set() -> None:
    rows = [{"score": 0.5}, {"score": 0.4}]
    assert sampled(*rows, config=SampleConfig(threshold=0.5))["score"].to_list() == [0.5]


def test_at_most_per_task_are_kept_the_shortest_first() -> None:
    found = sampled(
        {"task_id": "a", "n_turns": 5},
        {"task_id": "a", "n_turns": 3},
        {"task_id": "a", "n_turns": 4},
        {"task_id": "b", "n_turns": 9},
        config=SampleConfig(per_task=2),
    )
    kept = found.sort("task_id", "rank").select("trajectory_id", "task_id", "rank").rows()
    assert kept == [("t1", "a", 1), ("t2", "a", 2), ("t3", "b", 1)]


def test_of_trajectories_that_make_the_same_calls_the_shortest_stays() -> None:
    found = sampled(
        {"task_id": "a", "n_turns": 4},
        {"task_id": "a", "n_turns": 3},
        {"task_id": "b", "n_turns": 4},
        behaviours=["{}", "{}", "{}"],
    )
    assert sorted(found["trajectory_id"]) == ["t1", "t2"]


def test_the_order_of_calls_is_part_of_the_behaviour_and_probes_are_not() -> None:
    def two(name: str, *order: str) -> list[dict[str, Any]]:
        return [
            {"trajectory_id": name, "position": i, "arguments_json": text}
            for i, text in enumerate(order)
        ]

    probe = {"trajectory_id": "t2", "position": 9, "arguments_json": "p", "component": "probe"}
    made = calls(*two("t0", "x", "y"), *two("t1", "y", "x"), *two("t2", "x", "y"), probe)
    runs = trajectories(*({**PASSED, "n_turns": 3 + i} for i in range(3)))
    assert sample(runs, made, "main", SampleConfig())["trajectory_id"].to_list() == ["t0", "t1"]


def test_samples_fit_their_table_also_when_there_are_none() -> None:
    for found in (sampled({}), sampled()):
        STAGE_TABLES["samples"].validate(found)
