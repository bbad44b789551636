"""The questions that people ask have answers, in an empty lake and in one with a story."""

import polars as pl
import pytest

from tests.warehouse import story
from warehouse.lake import Lake
from warehouse.project import queries


def ask(lake: Lake, name: str) -> list[dict[str, object]]:
    return lake.query(queries()[name].query).to_dicts()


@pytest.mark.parametrize("name", queries())
def test_every_query_runs(lake: Lake, told: Lake, name: str):
    assert ask(lake, name) == []
    before = ask(told, name)
    assert before
    told.refresh()
    assert ask(told, name) == before


def test_composition_has_shares_of_each_reading(told: Lake):
    labels = story.LABELS.to_dicts()
    labels += [labels[0] | {"trajectory_id": "reading-1", "label": "F1"}]
    labels[1]["label"] = "F2"
    told.write("failure_labels", pl.from_dicts(labels))
    rows = [
        (r["purpose"], r["round"], r["label"], r["n"], r["share"]) for r in ask(told, "composition")
    ]
    assert rows == [
        ("anchor", 0, "F4", 1, 1.0),
        ("candidate", 1, "F1", 1, 1.0),
        ("collect", None, "F2", 1, 0.5),
        ("collect", None, "healthy", 1, 0.5),
    ]


def test_failed_calls_are_counted_over_calls_and_trajectories(told: Lake):
    assert ask(told, "failed_calls") == [
        {"name": "scan", "error": "bad_arguments", "n_calls": 7, "n_trajectories": 7}
    ]


def test_an_import_shows_the_issues_of_its_own_file(told: Lake):
    told.append(story.source("runs.jsonl.bak", issues=["a", "b"]))
    told.append(story.source("other"))
    found = {row["path"]: row["n_issues"] for row in ask(told, "import_books")}
    assert found == {"runs.jsonl": 1, "runs.jsonl.bak": 2, "other": 0}


def test_an_example_leads_back_to_its_events(told: Lake):
    (row,) = ask(told, "lineage")
    first = min(e.event_id for e in story.events() if e.trajectory_id in {"sample-1", "replay-1"})
    assert row == {
        "example": "replay-1",
        "sampled_trajectory": "sample-1",
        "task_id": "task-1",
        "harness_id": story.EVOLVED,
        "candidate_id": "candidate-1",
        "candidate": "Brake repeats",
        "candidate_round": 1,
        "outcome": "accepted",
        "group_id": "group-1",
        "answered_group": "F3 | repeated_call",
        "dataset_id": "b2:dataset",
        "adapters": ["b2:adapter"],
        "n_events": 2 * len(story.rollout("x")),
        "first_event": first,
    }


def test_worst_families_come_first_and_imports_do_not_count(told: Lake):
    told.append(story.rollout("bad", score=0.0, family="counting", harness_id=story.EVOLVED))
    rows = ask(told, "worst_families")
    assert rows[0]["family"] == "counting"
    assert [row["score"] for row in rows] == sorted(row["score"] for row in rows)
    assert sum(row["n"] for row in rows) == 7
