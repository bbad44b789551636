"""Golden trajectories: every event of a few rollouts, as it was written down and read."""

import json

import pytest

from tests.harness.golden_runs import FOLDER, RUNS, record


@pytest.mark.parametrize("name", RUNS)
def test_a_run_gives_the_events_that_were_written_down(name: str) -> None:
    written = (FOLDER / f"{name}.json").read_text(encoding="utf-8")
    # As values first: a list of events makes a shorter difference than a page of text.
    assert json.loads(record(RUNS[name])) == json.loads(written), (
        "if this is meant: python -m tests.harness.update_golden"
    )
    assert record(RUNS[name]) == written


def test_every_file_is_one_of_the_runs() -> None:
    assert {path.stem for path in FOLDER.glob("*")} == set(RUNS)


def test_the_runs_cover_every_kind_of_fact_a_rollout_has() -> None:
    """A golden run that shows nothing guards nothing."""
    text = "".join((FOLDER / f"{name}.json").read_text(encoding="utf-8") for name in RUNS)
    for kind in (
        "trajectory_opened", "message_added", "model_called", "tool_called", "tool_returned",
        "harness_fired", "delivered", "trajectory_closed", "scored",
    ):  # fmt: skip
        assert f'"kind": "{kind}"' in text
    for effect in ("none", "changed", "blocked", "unlocked"):
        assert f'"effect": "{effect}"' in text
    for end in ("success", "limit_steps", "harness_error"):
        assert f'"termination_class": "{end}"' in text
