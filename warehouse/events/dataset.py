"""Stream `dataset/<line_id>`: from samples of the best harness to a gated training set."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from warehouse.events.base import Fact


class Edit(BaseModel):
    """One sparse edit of an existing agent step (`position` in the original trajectory)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    position: int
    action: Literal["rephrase", "tool_remap", "reground_flag", "drop"]
    reason: str
    before: str
    after: str | None


class Check(BaseModel):
    """One deterministic check of a rewritten trajectory."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    passed: bool
    detail: str = ""


class TrajectoryTailored(Fact):
    """A trajectory was rewritten for the seed harness and replayed there to its full score."""

    kind: Literal["trajectory_tailored"] = "trajectory_tailored"
    sample_id: str
    replay_id: str
    seed_harness_id: str
    edits: tuple[Edit, ...]
    checks: tuple[Check, ...]
    replay_digest: str
    replay_score: float


class TrajectoryRefused(Fact):
    """A trajectory could not be converted: infeasible, with the reasons."""

    kind: Literal["trajectory_refused"] = "trajectory_refused"
    sample_id: str
    replay_id: str | None
    edits: tuple[Edit, ...]
    checks: tuple[Check, ...]
    reason: str


class GateJudged(Fact):
    """The quality gate's verdict on one version of one table, suite by suite.

    `limits_id` names the limits and expectations that it was judged by.
    """

    kind: Literal["gate_judged"] = "gate_judged"
    table: str
    table_version: int
    suite: str
    passed: bool
    n_in: int
    n_quarantined: int
    failed_expectations: tuple[str, ...]
    limits_id: str


class DatasetPublished(Fact):
    """A gated training set: which version of `sft_examples` it is, and its card."""

    kind: Literal["dataset_published"] = "dataset_published"
    dataset_id: str
    table_version: int
    n_examples: int
    card: dict[str, Any]


class AdapterTrained(Fact):
    """A LoRA adapter was trained; `path` is relative to the lake, `losses` are (step, loss)."""

    kind: Literal["adapter_trained"] = "adapter_trained"
    adapter_id: str
    dataset_id: str
    base: str
    config: dict[str, Any]
    path: str
    sha256: str
    losses: tuple[tuple[int, float], ...]
    n_steps: int
    duration_s: float
