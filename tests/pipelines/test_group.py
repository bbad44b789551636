"""Failures of one kind are one group, and a kind keeps its id from round to round."""

from typing import Any

import polars as pl

from pipelines.group import SURFACES, GroupConfig, group
from tests.pipelines.frames import labels, score_checks, signals, trajectories
from warehouse.tables import STAGE_TABLES

LOST = ("F3", "budget")
POOR = ("F4", "none")


def grouped(
    *rows: dict[str, Any], round: int = 1, config: GroupConfig | None = None
) -> pl.DataFrame:
    """Group trajectories; each row says task, label, and what its signals and checks are."""
    ids = [row.get("trajectory_id", f"t{i}") for i, row in enumerate(rows)]
    runs = [
        {k: v for k, v in row.items() if k in {"task_id", "n_turns", "termination_class"}}
        | {"trajectory_id": name}
        for name, row in zip(ids, rows, strict=True)
    ]
    seen = [
        {k: v for k, v in row.items() if k in {"n_turns_without_call", "error", "error_tool"}}
        | {"trajectory_id": name}
        for name, row in zip(ids, rows, strict=True)
    ]
    return group(
        trajectories(*runs),
        labels(*((name, *row["label"]) for name, row in zip(ids, rows, strict=True))),
        signals(*seen),
        score_checks(
            *(
                (name, check, False)
                for name, row in zip(ids, rows, strict=True)
                for check in row.get("failed", ())
            ),
            *((name, "delivered", True) for name in ids),
            *((name, "form", None) for name in ids),
        ),
        line_id="main",
        round=round,
        config=config or GroupConfig(),
    )


def test_the_pattern_says_how_it_failed() -> None:
    found = grouped(
        {"label": LOST, "task_id": "a", "n_turns_without_call": 3, "failed": ["value", "form"]},
        {"label": POOR, "task_id": "b", "error": "no_match", "error_tool": "search"},
        {"label": POOR, "task_id": "c", "termination_class": "limit_steps"},
    )
    assert set(found["pattern"]) == {
        "F3 | budget | no_call | success | form+value",
        "F4 | none | search:no_match | success | ",
        "F4 | none | calls_ok | limit_steps | ",
    }


def test_half_of_the_turns_without_a_call_is_not_yet_no_call() -> None:
    (pattern,) = grouped({"label": LOST, "n_turns": 4, "n_turns_without_call": 2})["pattern"]
    assert pattern.split(" | ")[2] == "calls_ok"


def test_recurring_groups_come_before_auxiliary_ones_of_any_size() -> None:
    found = grouped(
        *({"label": LOST, "task_id": "only"} for _ in range(5)),
        {"label": POOR, "task_id": "a"},
        {"label": POOR, "task_id": "b"},
    )
    assert found.select("label", "n_trajectories", "n_tasks", "recurring").rows() == [
        ("F4", 2, 2, True),
        ("F3", 5, 1, False),
    ]


def test_what_makes_a_group_recurring_can_be_set() -> None:
    rows = [{"label": POOR, "task_id": task} for task in "ab"]
    assert grouped(*rows, config=GroupConfig(recurring_tasks=3))["recurring"].to_list() == [False]


def test_a_kind_keeps_its_id_from_round_to_round() -> None:
    first = grouped({"label": POOR, "task_id": "a"}, round=1)
    later = grouped(
        {"label": LOST, "task_id": "z"},
        {"label": POOR, "task_id": "b", "trajectory_id": "x"},
        round=2,
    ).filter(pl.col("label") == "F4")
    assert first["group_id"].to_list() == later["group_id"].to_list()
    assert (first["round"][0], later["round"][0]) == (1, 2)


def test_kinds_differ_in_their_ids() -> None:
    assert grouped({"label": POOR}, {"label": LOST})["group_id"].n_unique() == 2


def test_examples_come_from_different_tasks() -> None:
    tasks = ["a", "a", "b", "b", "c", "d"]
    (examples,) = grouped(*({"label": POOR, "task_id": t} for t in tasks))["examples"]
    assert examples.to_list() == ["t0", "t2", "t4"]


def test_how_many_examples_are_named_can_be_set() -> None:
    rows = [{"label": POOR, "task_id": t} for t in "abcd"]
    (examples,) = grouped(*rows, config=GroupConfig(examples=2))["examples"]
    assert examples.len() == 2


def test_healthy_trajectories_are_in_no_group() -> None:
    found = grouped({"label": ("healthy", "score")}, {"label": POOR})
    assert found["n_trajectories"].to_list() == [1]


def test_the_surface_follows_the_signal_and_replies_without_calls_come_first() -> None:
    silent = grouped({"label": LOST, "n_turns_without_call": 4})["suspected_surface"][0]
    assert silent == SURFACES["no_call"] == "prompts"
    for signal, surface in SURFACES.items():
        if signal != "no_call":
            assert grouped({"label": ("F3", signal)})["suspected_surface"].to_list() == [surface]
    assert grouped({"label": ("F3", "unheard of")})["suspected_surface"].to_list() == ["prompts"]


def test_groups_fit_their_table_also_when_there_are_none() -> None:
    for found in (grouped({"label": POOR}), grouped({"label": ("healthy", "score")}), grouped()):
        STAGE_TABLES["failure_groups"].validate(found)
