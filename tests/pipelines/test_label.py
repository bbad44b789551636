"""Each signal fires at its threshold and not below it; the first one names the trajectory."""

from typing import Any

import pytest

from pipelines.label import LABELLER, Taxonomy, label
from tests.pipelines.frames import signals

DEFAULT = Taxonomy()

FIRES: list[tuple[str, str, dict[str, Any], str]] = [
    ("healthy", "score", {"score": 0.5}, "score 0.5"),
    (
        "F1",
        "unbacked_claims",
        {"unbacked_ratio": 0.5, "n_unbacked": 1, "n_claims": 2, "unbacked_claims": "oslo"},
        "1 of 2 claims unbacked: oslo",
    ),
    (
        "F1",
        "open_gate",
        {"n_open_gates": 1, "open_items": "oslo"},
        "passed the exit gate with open items: oslo",
    ),
    ("F2", "forced_unlock", {"n_unlocks": 1}, "1 forced unlocks"),
    ("F2", "blocked_calls", {"n_blocked": 10}, "10 blocked calls"),
    (
        "F3",
        "repeated_call",
        {"max_repeats": 3, "repeated_call": "search {}"},
        "3 times: search {}",
    ),
    (
        "F3",
        "budget",
        {"budget_share": 0.9, "n_turns_without_call": 2},
        "90 % of the step budget, 2 turns without a call",
    ),
    ("F3", "terminated", {"harness_terminated": True}, "the harness ended it"),
    ("F4", "none", {}, "no process signal fired"),
]

JUST_BELOW: list[dict[str, Any]] = [
    {"score": 0.499},
    {"unbacked_ratio": 0.499, "n_unbacked": 1, "n_claims": 3, "unbacked_claims": "oslo"},
    {"n_open_gates": 0, "open_items": "oslo"},
    {"n_unlocks": 0},
    {"n_blocked": 9},
    {"max_repeats": 2, "repeated_call": "search {}"},
    {"budget_share": 0.899},
    {"harness_terminated": False},
]


def named(taxonomy: Taxonomy = DEFAULT, **row: Any) -> tuple[str, str]:
    """Return label and signal of one trajectory."""
    found = label(signals(row), taxonomy).select("label", "signal").row(0)
    return found[0], found[1]


@pytest.mark.parametrize(("name", "signal", "row", "evidence"), FIRES)
def test_a_signal_fires_at_its_threshold(
    name: str, signal: str, row: dict[str, Any], evidence: str
) -> None:
    assert label(signals(row), DEFAULT).to_dicts() == [
        {
            "trajectory_id": "t0",
            "label": name,
            "signal": signal,
            "evidence": evidence,
            "taxonomy_version": "ceiling-1",
            "labeller": LABELLER,
        }
    ]


@pytest.mark.parametrize("row", JUST_BELOW)
def test_a_signal_is_silent_just_below_its_threshold(row: dict[str, Any]) -> None:
    assert named(**row) == ("F4", "none")


def test_the_first_signal_that_fires_wins() -> None:
    everything: dict[str, Any] = {}
    order = []
    for _, _, row, _ in reversed(FIRES):
        everything |= row
        order.append(named(**everything))
    assert order == [(name, signal) for name, signal, _, _ in reversed(FIRES)]


@pytest.mark.parametrize(
    "column",
    ["unbacked_ratio", "n_open_gates", "n_unlocks", "n_blocked", "max_repeats", "budget_share"],
)
def test_a_signal_that_the_source_does_not_carry_does_not_fire(column: str) -> None:
    assert named(**{column: None}) == ("F4", "none")


def test_an_unknown_ending_is_not_the_harness_s() -> None:
    assert named(harness_terminated=None) == ("F4", "none")


@pytest.mark.parametrize(
    "row",
    [
        {"reward_trustworthy": False, "score": 1.0},
        {"reward_trustworthy": False, "max_repeats": 9},
        {"score": None},
        {"reward_trustworthy": None},
        {"score": float("nan")},
    ],
)
def test_what_has_no_trustworthy_score_has_no_label(row: dict[str, Any]) -> None:
    assert label(signals(row, {"score": 1.0}), DEFAULT)["trajectory_id"].to_list() == ["t1"]


@pytest.mark.parametrize(
    ("threshold", "value", "row", "there", "elsewhere"),
    [
        ("healthy_score", 0.8, {"score": 0.7}, "healthy", "F4"),
        ("unbacked_ratio", 0.8, {"unbacked_ratio": 0.7, "n_claims": 9}, "F1", "F4"),
        ("blocked_calls", 12, {"n_blocked": 11}, "F2", "F4"),
        ("repeated_calls", 5, {"max_repeats": 4}, "F3", "F4"),
        ("budget_share", 1.0, {"budget_share": 0.95}, "F3", "F4"),
    ],
)
def test_every_threshold_can_be_set(
    threshold: str, value: float, row: dict[str, Any], there: str, elsewhere: str
) -> None:
    stricter = Taxonomy.model_validate({threshold: value, "version": "mine"})
    assert (named(**row)[0], named(stricter, **row)[0]) == (there, elsewhere)
    assert label(signals(row), stricter)["taxonomy_version"].to_list() == ["mine"]


def test_no_trajectories_no_labels() -> None:
    assert label(signals(), DEFAULT).is_empty()
