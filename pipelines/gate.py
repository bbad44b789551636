"""The quality gate: which rewritten trajectories may reach training."""

from collections.abc import Sequence

import polars as pl
from pydantic import BaseModel, ConfigDict, Field

from warehouse.events.dataset import GateJudged
from warehouse.ids import content_id
from warehouse.quality import Expectation, Suite, Verdict

SECRETS = (
    r"sk-[A-Za-z0-9]{20,}|AKIA[0-9A-Z]{16}|ghp_[A-Za-z0-9]{36}|-----BEGIN [A-Z ]*PRIVATE KEY-----"
    r"|xox[baprs]-[A-Za-z0-9-]{10,}"
)
"""Shapes of well-known credentials."""


_LOOKED_AT = (
    "replay_score",
    "n_lineage",
    "first_user_chars",
    "n_assistant_turns",
    "n_unanswered",
    "ends_with_assistant",
    "n_tokens",
    "n_trained_tokens",
    "n_template_marks",
    "is_test_task",
    "is_test_question",
    "is_duplicate",
)
"""Columns that other expectations look at: Great Expectations lets an empty value pass those."""


class GateConfig(BaseModel):
    """The limits of the gate; `max_tokens` may not exceed where training would cut."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    max_tokens: int = Field(default=24_576, ge=16)
    min_examples: int = Field(default=1, ge=1)
    max_quarantined_share: float = Field(default=0.5, ge=0, le=1)


def suites(config: GateConfig) -> Sequence[Suite]:
    """Return the suites over the frame that `pipelines.assemble.rows` builds."""
    return (
        Suite(
            "contract",
            (
                _not_null("messages are there", "messages"),
                _not_null("the task is known", "task_id"),
                _unique("one row per trajectory", "trajectory_id"),
                _equal("the replay has the full score", "replay_score", 1.0),
                _between("lineage to candidate and harness is complete", "n_lineage", 2, 2),
                *(_not_null(f"{column} is known", column) for column in _LOOKED_AT),
                Expectation(
                    "the set is not empty", "ExpectTableRowCountToBeBetween", {"min_value": 1}
                ),
            ),
        ),
        Suite(
            "conversation",
            (
                _between("the first user turn says something", "first_user_chars", 1, None),
                _between("the model says something", "n_assistant_turns", 1, None),
                _equal("every call is answered", "n_unanswered", 0),
                _equal("the model has the last word", "ends_with_assistant", True),
                _between("it fits the training length", "n_tokens", 1, config.max_tokens),
                _between("something is trained", "n_trained_tokens", 1, None),
                _equal("no template marks in the text", "n_template_marks", 0),
            ),
        ),
        Suite(
            "leakage",
            (
                _equal("the task is no test task", "is_test_task", False),
                _equal("the question is no test question", "is_test_question", False),
                _equal("no earlier row says the same", "is_duplicate", False),
                Expectation(
                    "no credentials",
                    "ExpectColumnValuesToNotMatchRegex",
                    {"column": "messages", "regex": SECRETS},
                ),
            ),
        ),
    )


def newest_verdicts(gate_results: pl.DataFrame) -> pl.DataFrame:
    """Return a line's last judgement: one row per suite.

    Positions order it; table versions begin anew when a lost table is made again.
    """
    ordered = gate_results.sort("position").unique("suite", keep="last", maintain_order=True)
    return ordered.filter(pl.col("version") == pl.col("version").last())


def limits_id(config: GateConfig) -> str:
    """Return the content id of what the gate asks for: its limits and its expectations."""
    asked = [(suite.name, [repr(e) for e in suite.expectations]) for suite in suites(config)]
    return content_id([config.model_dump(), asked])


def judge(
    verdict: Verdict,
    config: GateConfig,
    *,
    table: str,
    version: int,
    n_examples: int,
    n_quarantined: int,
) -> GateJudged:
    """Return a suite's judgement of a table version.

    Rows that break an expectation are quarantined and do not close the gate. A failure of the whole
    batch does, and so do too few examples left (`n_examples`) or too many rows refused
    (`n_quarantined`) by all suites together.
    """
    failed = list(verdict.batch)
    if n_examples < config.min_examples:
        failed.append(f"at least {config.min_examples} examples remain")
    if n_quarantined > config.max_quarantined_share * max(verdict.n_rows, 1):
        failed.append(f"at most {config.max_quarantined_share:.0%} of the rows are refused")
    return GateJudged(
        table=table,
        table_version=version,
        suite=verdict.suite,
        passed=not failed,
        n_in=verdict.n_rows,
        n_quarantined=len(verdict.rows),
        failed_expectations=tuple(failed),
        limits_id=limits_id(config),
    )


def _not_null(name: str, column: str) -> Expectation:
    return Expectation(name, "ExpectColumnValuesToNotBeNull", {"column": column})


def _unique(name: str, column: str) -> Expectation:
    return Expectation(name, "ExpectColumnValuesToBeUnique", {"column": column})


def _between(name: str, column: str, low: float | None, high: float | None) -> Expectation:
    return Expectation(
        name,
        "ExpectColumnValuesToBeBetween",
        {"column": column, "min_value": low, "max_value": high},
    )


def _equal(name: str, column: str, value: float | bool) -> Expectation:
    return Expectation(
        name, "ExpectColumnValuesToBeInSet", {"column": column, "value_set": [value]}
    )
