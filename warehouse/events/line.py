"""Stream `line/<line_id>`: one line of harness evolution, decision by decision."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict

from warehouse.events.base import Fact

_NON_FINITE = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}


def _number(value: object) -> object:
    """Return the number that JSON keeps as its name; without this the union would keep the name."""
    return _NON_FINITE.get(value, value) if isinstance(value, str) else value


Figure = Annotated[float | int | bool | str | None, BeforeValidator(_number)]


class Reading(BaseModel):
    """A harness measured on a task set: m rollouts of every task.

    `mean` averages the m task-set means, `sd` is their standard deviation (None when m = 1).
    `quality` is the mean score among delivered trajectories, None when nothing was delivered.
    `healthy` … `F4` are shares of trajectories. Untrustworthy rollouts are counted in `n_excluded`
    and in nothing else; `coverage` is the share of planned rollouts that remain.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    m: int
    n_tasks: int
    n_rollouts: int
    n_excluded: int
    coverage: float
    mean: float | None
    sd: float | None
    delivery: float | None
    quality: float | None
    healthy: float | None
    F1: float | None
    F2: float | None
    F3: float | None
    F4: float | None
    repeated_call: float | None
    turns: float | None
    input_tokens: float | None
    output_tokens: float | None


class LineOpened(Fact):
    """An evolution line begins from a seed harness; `measure` is how it measures from then on."""

    kind: Literal["line_opened"] = "line_opened"
    suite: str
    seed_harness_id: str
    model: str
    weights_id: str
    proposer: str
    policy: str
    seed: int
    measure: dict[str, float | int]


class RoundOpened(Fact):
    """A round begins: which harness it starts from."""

    kind: Literal["round_opened"] = "round_opened"
    harness_id: str


class AnchorMeasured(Fact):
    """The retained harness was measured afresh; gains are reported between anchors only.

    `session_id` is None where one session did not measure all of it (it was resumed).
    """

    kind: Literal["anchor_measured"] = "anchor_measured"
    harness_id: str
    batch_id: str
    session_id: str | None
    reading: Reading


class EvidencePackaged(Fact):
    """What a round's proposer may read: development only, no gold, no scorer code."""

    kind: Literal["evidence_packaged"] = "evidence_packaged"
    package_id: str
    package: dict[str, Any]


class SpecWritten(Fact):
    """What should change and why, before anybody writes code."""

    kind: Literal["spec_written"] = "spec_written"
    spec_id: str
    package_id: str
    proposer: str
    spec: dict[str, Any]


class Manifest(BaseModel):
    """A candidate's account of itself.

    `fires` names the component whose firing is the evidence that the edit ran at all; `rollback`
    tells people when to take the edit back.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    title: str
    answers: tuple[str, ...]
    pattern: str
    root_cause: str
    predicted_fix: str
    why_this_component: str
    tag: Literal["does", "sees"]
    fires: str
    rollback: str


class CandidateProposed(Fact):
    """A changed harness, waiting for judgement; `files` are the paths it added or replaced."""

    kind: Literal["candidate_proposed"] = "candidate_proposed"
    candidate_id: str
    spec_id: str
    harness_id: str
    parent_id: str
    files: tuple[str, ...]
    manifest: Manifest


class CandidateChecked(Fact):
    """A check before any measurement: static, or one end-to-end smoke rollout."""

    kind: Literal["candidate_checked"] = "candidate_checked"
    candidate_id: str
    check: str
    passed: bool
    detail: str


class CandidateRead(Fact):
    """A candidate was measured on the development tasks; `session_id` as in `AnchorMeasured`."""

    kind: Literal["candidate_read"] = "candidate_read"
    candidate_id: str
    harness_id: str
    batch_id: str
    session_id: str | None
    reading: Reading
    n_fired: int


class CandidateJudged(Fact):
    """The verdict on one candidate, with every rule's figure; acceptance is not yet retention."""

    kind: Literal["candidate_judged"] = "candidate_judged"
    candidate_id: str
    accepted: bool
    retained: bool
    outcome: Literal["accepted", "rejected", "indecisive", "invalid", "inert"]
    reason: str
    policy: str
    figures: dict[str, Figure]


class HarnessRetained(Fact):
    """The line moves on with this harness."""

    kind: Literal["harness_retained"] = "harness_retained"
    harness_id: str
    candidate_id: str


class RoundClosed(Fact):
    """A round ends."""

    kind: Literal["round_closed"] = "round_closed"
    harness_id: str
    outcome: Literal["retained", "kept", "skipped"]
    reason: str
