"""A verdict follows the order of the rules and its policy, and holds every figure."""

from typing import Any, Literal

import pytest

from pipelines.select import Gate, Measured, invalid, judge, retain
from tests.pipelines.frames import a_reading
from warehouse.events.line import CandidateJudged

TASKS = ("a", "b", "c", "d")
ANCHOR: dict[str, float] = dict.fromkeys(TASKS, 0.5)
BETTER = {"a": 1.0, "b": 0.75, "c": 0.5, "d": 0.75}  # difference 0.25, standard error 0.102
Policy = Literal["strict", "house_rules", "best_dev", "paired_k_se"]


def measured(
    means: dict[str, float], session: str | None = "one night", **figures: Any
) -> Measured:
    mean = sum(means.values()) / len(means) if means else None
    return Measured(a_reading(**{"mean": mean, **figures}), means, session)


def verdict(
    means: dict[str, float] | None = None,
    *,
    anchor: Measured | None = None,
    gate: Gate | None = None,
    n_fired: int = 5,
    failed: tuple[str, ...] = (),
    sigma: float | None = 0.02,
    best: float = 0.5,
    **figures: Any,
) -> CandidateJudged:
    """Judge a candidate against an anchor that scores 0.5 on each of four tasks."""
    return judge(
        "c",
        measured(BETTER if means is None else means, **figures),
        anchor or measured(ANCHOR),
        n_fired=n_fired,
        failed_checks=failed,
        sigma=sigma,
        best_mean=best,
        gate=gate or Gate(policy="strict"),
    )


def by(policy: Policy, means: dict[str, float], **rest: Any) -> str:
    """Return the outcome under a policy."""
    gate = Gate.model_validate({"policy": policy, **rest.pop("gate", {})})
    return verdict(means, gate=gate, **rest).outcome


def shifted(by: float) -> dict[str, float]:
    return {task: mean + by for task, mean in ANCHOR.items()}


def test_what_failed_its_checks_is_invalid_whatever_it_scored() -> None:
    found = verdict(failed=("schema", "smoke"), n_fired=0, coverage=0.1)
    assert (found.outcome, found.accepted) == ("invalid", False)
    assert found.reason == "failed before measurement: schema, smoke"


@pytest.mark.parametrize("side", ["candidate", "anchor"])
def test_a_thin_reading_on_either_side_decides_nothing(side: str) -> None:
    thin = {"coverage": 0.59}
    found = (
        verdict(n_fired=0, **thin)
        if side == "candidate"
        else verdict(n_fired=0, anchor=measured(ANCHOR, **thin))
    )
    assert (found.outcome, found.accepted) == ("indecisive", False)
    assert "60%" in found.reason
    assert verdict(coverage=0.6).outcome == "accepted"
    assert verdict(coverage=0.6, gate=Gate(policy="strict", min_coverage=0.7)).accepted is False


def test_an_edit_that_never_ran_is_inert_however_much_it_gained() -> None:
    found = verdict(n_fired=0)
    assert (found.outcome, found.accepted) == ("inert", False)
    assert verdict(n_fired=1).outcome == "accepted"


def test_strict_wants_any_improvement_of_the_mean() -> None:
    assert by("strict", shifted(0.001)) == "accepted"
    assert by("strict", shifted(0.0)) == "rejected"
    assert by("strict", shifted(-0.001)) == "rejected"


def test_best_dev_wants_the_best_of_the_line() -> None:
    assert by("best_dev", shifted(0.1), best=0.59) == "accepted"
    assert by("best_dev", shifted(0.1), best=0.6) == "rejected"


def test_paired_k_se_wants_more_than_k_standard_errors() -> None:
    assert by("paired_k_se", BETTER, gate={"k": 2.0}) == "accepted"
    assert by("paired_k_se", BETTER, gate={"k": 2.5}) == "rejected"
    assert by("paired_k_se", shifted(-0.1), gate={"k": 1.0}) == "rejected"


def test_paired_k_se_needs_two_shared_tasks() -> None:
    assert by("paired_k_se", {"a": 1.0}) == "rejected"
    assert by("paired_k_se", {"elsewhere": 1.0}) == "rejected"


@pytest.mark.parametrize(
    ("drop", "outcome"), [(0.0, "accepted"), (0.02, "accepted"), (0.021, "rejected")]
)
def test_house_rules_allow_the_mean_to_drop_by_their_margin(drop: float, outcome: str) -> None:
    assert by("house_rules", shifted(-drop)) == outcome
    low = measured(dict.fromkeys(TASKS, 0.02))  # where rounding falls the other way
    assert by("house_rules", dict.fromkeys(TASKS, 0.02 - drop), anchor=low) == outcome


@pytest.mark.parametrize(
    ("figure", "was", "now", "outcome"),
    [
        ("healthy", 0.50, 0.451, "accepted"),
        ("healthy", 0.50, 0.45, "rejected"),
        ("healthy", 0.35, 0.30, "rejected"),
        ("delivery", 0.90, 0.851, "accepted"),
        ("delivery", 0.90, 0.85, "rejected"),
        ("repeated_call", 0.10, 0.149, "accepted"),
        ("repeated_call", 0.10, 0.15, "rejected"),
        ("repeated_call", 0.50, 0.10, "accepted"),
        ("healthy", None, 0.0, "accepted"),
    ],
)
def test_house_rules_refuse_a_share_that_gets_worse_by_their_margin(
    figure: str, was: float | None, now: float, outcome: str
) -> None:
    anchor = measured(ANCHOR, **{figure: was})
    assert by("house_rules", shifted(0.1), anchor=anchor, **{figure: now}) == outcome


def test_house_rules_name_what_got_worse() -> None:
    found = verdict(shifted(-0.1), gate=Gate(), delivery=0.5)
    assert found.reason == "worse than the house rules allow: mean -0.100, delivery -0.500"


def test_without_a_shared_task_there_is_no_difference_to_judge() -> None:
    found = verdict({"elsewhere": 1.0}, gate=Gate())
    assert found.outcome == "rejected"
    assert (found.figures["difference"], found.figures["n_tasks"]) == (None, 0)
    assert found.figures["within_noise"] is None


def test_every_figure_is_kept() -> None:
    figures = verdict(
        {**BETTER, "elsewhere": 0.0},
        session="another night",
        delivery=0.9,
        healthy=0.8,
        repeated_call=0.1,
        turns=6.0,
        output_tokens=12.0,
        coverage=0.9,
    ).figures
    assert figures["difference"] == pytest.approx(0.25)
    assert figures["standard_error"] == pytest.approx((0.125 / 3 / 4) ** 0.5)
    assert {k: figures[k] for k in ("n_tasks", "tasks_better", "tasks_worse", "n_fired")} == {
        "n_tasks": 4,
        "tasks_better": 3,
        "tasks_worse": 0,
        "n_fired": 5,
    }
    assert figures["delivery_change"] == pytest.approx(-0.1)
    assert figures["healthy_change"] == pytest.approx(-0.2)
    assert figures["repeated_call_change"] == pytest.approx(0.1)
    assert (figures["turns_change"], figures["output_tokens_change"]) == (2.0, 2.0)
    assert (figures["anchor_mean"], figures["noise_floor"], figures["coverage"]) == (0.5, 0.02, 0.9)
    assert figures["same_session"] is False


def test_measurements_that_were_resumed_are_of_no_one_session() -> None:
    figures = verdict(session=None, anchor=measured(ANCHOR, session=None)).figures
    assert figures["same_session"] is False
    assert verdict().figures["same_session"] is True


@pytest.mark.parametrize(("gain", "noise"), [(0.028, True), (0.029, False), (-0.028, True)])
def test_a_difference_below_the_resolvable_one_is_marked_as_noise(gain: float, noise: bool) -> None:
    figures = verdict(shifted(gain)).figures  # σ = 0.02, m = 4
    assert figures["resolvable"] == pytest.approx(0.0283, abs=1e-4)
    assert figures["within_noise"] is noise


def test_without_a_noise_floor_nothing_is_called_noise() -> None:
    figures = verdict(sigma=None).figures
    assert [figures[x] for x in ("resolvable", "within_noise", "minimum_detectable_effect")] == [
        None,
        None,
        None,
    ]


def judged(name: str, accepted: bool) -> CandidateJudged:
    return CandidateJudged(
        candidate_id=name,
        accepted=accepted,
        retained=False,
        outcome="accepted" if accepted else "rejected",
        reason="",
        policy="strict",
        figures={},
    )


def test_the_best_accepted_candidate_is_retained_and_no_other() -> None:
    found = retain(
        [
            (judged("x", accepted=True), 0.4),
            (judged("y", accepted=True), 0.6),
            (judged("z", accepted=False), 0.9),
        ]
    )
    assert {v.candidate_id: v.retained for v in found} == {"x": False, "y": True, "z": False}


def test_of_equally_good_candidates_one_is_retained() -> None:
    found = retain([(judged(name, accepted=True), 0.5) for name in "xyz"])
    assert sum(v.retained for v in found) == 1


def test_where_nothing_is_accepted_nothing_is_retained() -> None:
    assert not any(v.retained for v in retain([(judged("x", accepted=False), 0.5)]))
    assert retain([]) == []


def test_a_candidate_that_was_never_measured_counts_as_zero() -> None:
    found = invalid("c", ["templates"], Gate())
    assert (found.outcome, found.accepted, found.figures) == ("invalid", False, {"mean": 0.0})
    assert found.reason == "failed before measurement: templates"
