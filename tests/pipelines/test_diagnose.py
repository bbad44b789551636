"""The rule reads the right lever, on the paper's own nine lines and at every branch.

Figures: harness-ceiling Tables 6, 7 and 14, Figure 4, §5.4 and Appendix H.
"""

from typing import Any

import pytest

from pipelines.diagnose import Rule, diagnose
from tests.pipelines.frames import a_reading
from warehouse.events.batch import DiagnosisMade

SATURATED: dict[str, Any] = {"delivery": 0.95, "quality": 0.4, "healthy": 0.5}


def said(
    pulled: tuple[str, ...] = (),
    rule: Rule | None = None,
    tags: tuple[str, ...] = (),
    **figures: Any,
) -> DiagnosisMade:
    """Diagnose a cell."""
    return diagnose(
        a_reading(**figures),
        rule or Rule(),
        harness_id="h",
        weights_id="w",
        split="development",
        sigma=0.023,
        pulled=pulled,
        accepted_tags=tags,
    )


@pytest.mark.parametrize(
    ("line", "delivery", "quality", "healthy", "shares", "lever"),
    [
        ("Qwen3.5-4B", 0.59, 0.266, 0.143, (0.086, 0.029, 0.641, 0.099), "harness"),
        ("Qwen3.5-9B", 0.97, 0.309, 0.267, (0.052, 0.021, 0.389, 0.271), "harness"),
        ("Qwen3.6-35B-A3B, off", 0.73, 0.54, 0.44, (0.10, 0.32, 0.09, 0.05), "harness"),
        ("Qwen3.6-35B-A3B, on", 0.47, 0.56, 0.26, (0.58, None, 0.06, 0.10), "harness"),
        ("hy3", 0.84, 0.82, 0.71, (0.15, 0.06, 0.08, None), "harness"),
        ("Gemma 4 12B", 0.98, 0.35, None, (None, None, None, 0.40), "weights"),
        ("MiniCPM5-2B", 0.61, 0.173, 0.057, (0.427, 0.021, 0.323, 0.172), "neither"),
        ("Spark-X2.5-4B", 0.97, 0.158, 0.062, (0.208, 0.021, 0.333, 0.375), "neither"),
        ("Ministral-3-8B", 0.90, 0.125, 0.0, (0.281, 0.0, 0.073, 0.646), "neither"),
    ],
)
def test_the_nine_lines_at_their_seed(
    line: str,
    delivery: float,
    quality: float,
    healthy: float | None,
    shares: tuple[float | None, ...],
    lever: str,
) -> None:
    labels = dict(zip(("F1", "F2", "F3", "F4"), shares, strict=True))
    assert said(delivery=delivery, quality=quality, healthy=healthy, **labels).lever == lever


def test_the_9b_line_after_its_evolution_goes_on_to_the_weights() -> None:
    found = said(
        ("harness",), delivery=0.99, quality=0.392, healthy=0.406, F1=0.177, F3=0.167, F4=0.25
    )
    assert found.lever == "weights"


@pytest.mark.parametrize(
    ("pulled", "figures", "lever", "branch"),
    [
        ((), {}, "done", "0 nothing fails"),
        ((), {"n_rollouts": 0, "n_excluded": 8, "healthy": None}, "neither", "0 nothing measured"),
        ((), {"quality": 0.179, "F4": 0.5}, "neither", "1 quality too low"),
        (("harness", "weights"), {"quality": 0.1, "F3": 1.0}, "neither", "1 quality too low"),
        ((), {"quality": 0.18, "F3": 0.5}, "harness", "2 process failures"),
        ((), {"delivery": 0.0, "quality": None, "F3": 1.0}, "harness", "2 process failures"),
        ((), {**SATURATED, "delivery": 0.899, "F4": 0.5}, "harness", "2 process failures"),
        ((), {**SATURATED, "F3": 0.3, "F4": 0.2}, "harness", "2 process failures"),
        ((), {**SATURATED, "F2": 0.3, "F4": 0.2}, "harness", "2 process failures"),
        ((), {**SATURATED, "F1": 0.3, "F4": 0.2}, "harness", "2 evidence failures"),
        (("harness",), {**SATURATED, "F1": 0.3, "F4": 0.2}, "weights", "3 content failures"),
        ((), {**SATURATED, "delivery": 0.9, "F4": 0.5}, "weights", "3 content failures"),
        (("weights",), {**SATURATED, "F4": 0.5}, "weights", "3 content failures"),
        (
            ("weights", "harness"),
            {**SATURATED, "F4": 0.5},
            "evidence",
            "4 content failures after both levers",
        ),
        (("weights", "harness"), {**SATURATED, "F3": 0.5}, "harness", "2 process failures"),
    ],
)
def test_every_branch(
    pulled: tuple[str, ...], figures: dict[str, Any], lever: str, branch: str
) -> None:
    found = said(pulled, **figures)
    assert (found.lever, found.branch) == (lever, branch)


def test_the_thresholds_can_be_set() -> None:
    figures = {**SATURATED, "F4": 0.5}
    assert said(rule=Rule(quality_floor=0.5), **figures).lever == "neither"
    assert said(rule=Rule(saturated_delivery=0.99), **figures).lever == "harness"


def test_the_reason_holds_the_figures_that_decided() -> None:
    found = said(delivery=0.59, quality=0.266, F3=0.641)
    assert found.reason == ("delivery is 59% (saturated at 90%) and F3 is the largest class (64%)")
    assert said(quality=0.158, F4=0.375).reason == "what is delivered scores 0.16, below 0.18"


def test_what_can_be_trained_in_is_said_with_the_lever_that_trains() -> None:
    tags = ("does", "sees", "does")
    told = "of 3 accepted edits 2 changed what the model does"
    assert told in said(("harness",), tags=tags, **SATURATED, F4=0.5).reason
    assert told in said(("harness", "weights"), tags=tags, **SATURATED, F4=0.5).reason
    assert told not in said(tags=tags, **SATURATED, F3=0.5).reason


def test_the_figures_are_kept_with_the_noise_floor() -> None:
    found = said(("weights", "harness"), **SATURATED, F4=0.5)
    assert found.figures["noise_floor"] == 0.023
    assert found.figures["pulled"] == ["harness", "weights"]
    assert found.figures["F4"] == 0.5
    assert (found.harness_id, found.weights_id, found.split) == ("h", "w", "development")


def test_every_lever_has_a_next_command() -> None:
    commands = {
        said(**SATURATED, F3=0.5).next_command,
        said(**SATURATED, F4=0.5).next_command,
        said(("harness", "weights"), **SATURATED, F4=0.5).next_command,
        said(quality=0.1, F4=0.5).next_command,
        said().next_command,
        said(n_rollouts=0).next_command,
    }
    assert len(commands) == 6
