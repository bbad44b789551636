"""Stream `trajectory/<id>`: what one rollout, replay or imported run did, in order."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

from warehouse.events.base import Fact

Author = Literal["task", "model", "harness", "environment", "import"]
Role = Literal["system", "developer", "user", "assistant", "tool", "unknown"]
ContentState = Literal["text", "parts", "null", "empty", "missing"]
ArgumentsState = Literal[
    "object", "string", "string2", "empty", "unparsed", "non_object", "null", "missing"
]
PairingRule = Literal["direct", "id", "position", "name", "orphan"]
Effect = Literal["none", "observed", "changed", "blocked", "unlocked", "terminated"]
TerminationClass = Literal[
    "success",
    "model_failure",
    "limit_steps",
    "limit_tokens",
    "limit_context",
    "limit_time",
    "limit_cost",
    "infra_error",
    "harness_error",
    "grader_error",
    "cancelled",
    "killed",
    "incomplete",
    "unknown",
]


class Location(BaseModel):
    """Where a record lies in its source file: 1-based line, byte offset and length, raw hash."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: str
    sha256: str
    line: int
    byte_offset: int
    byte_length: int
    record_hash: str


class TrajectoryOpened(Fact):
    """A trajectory begins: what was attempted, by which harness and weights, and why.

    `max_turns` is the harness's own step limit (None where the source does not say). `contract_id`
    names everything that must be equal for two results to be pooled. `extra` keeps, as JSON text,
    every field of an imported record that has no column.
    """

    kind: Literal["trajectory_opened"] = "trajectory_opened"
    source: Literal["instar", "import"]
    format: str
    suite: str | None = None
    task_id: str | None = None
    family: str | None = None
    split: str | None = None
    harness_id: str | None = None
    weights_id: str | None = None
    model: str | None = None
    rollout: int = 0
    seed: int | None = None
    batch_id: str | None = None
    contract_id: str | None = None
    candidate_id: str | None = None
    max_turns: int | None = None
    replay_of: str | None = None
    native_id: str | None = None
    location: Location | None = None
    tools: str | None = None
    extra: str | None = None


class MessageAdded(Fact):
    """A message enters the conversation as the model sees it.

    `turn` counts model replies from 1; messages before the first reply have turn 0. A message that
    the model did not earn in this run (a worked example, a copied history) is `copied_context`.
    """

    kind: Literal["message_added"] = "message_added"
    turn: int
    role: Role
    role_raw: str
    author: Author
    content: str | None
    content_state: ContentState = "text"
    content_json: str | None = None
    reasoning: str | None = None
    copied_context: bool = False
    extra: str | None = None


class ModelCalled(Fact):
    """A model answered one request. Token counts are None where the server gives none."""

    kind: Literal["model_called"] = "model_called"
    turn: int
    request_digest: str | None = None
    response_key: str
    model: str | None
    finish_reason: str | None
    input_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None
    usage_final: bool = True
    latency_s: float | None = None


class ToolCalled(Fact):
    """A tool is called, by the model or by a harness component; `call_key` is ours and unique."""

    kind: Literal["tool_called"] = "tool_called"
    turn: int
    call_key: str
    id_raw: str | None = None
    name: str
    arguments_raw: str | None
    arguments_json: str | None
    arguments_state: ArgumentsState
    author: Author = "model"
    component: str | None = None


class ToolReturned(Fact):
    """A call's result: what the environment said, and what the agent was shown.

    `ok` is None where the source does not say whether the call succeeded.
    """

    kind: Literal["tool_returned"] = "tool_returned"
    turn: int
    call_key: str | None
    id_raw: str | None = None
    env_output: str | None
    agent_view: str | None
    ok: bool | None
    error: str | None = None
    truncated: bool = False
    pairing_rule: PairingRule = "direct"


class HarnessFired(Fact):
    """A component of the harness ran at a hook. The loop stamps `effect`; components cannot.

    `tag` says which side an effective change touched: what the model `does` (writes), or what it
    `sees` (is shown). `n_unresolved` counts what was open when a call was blocked or let through.
    """

    kind: Literal["harness_fired"] = "harness_fired"
    turn: int
    component: str
    hook: str
    effect: Effect
    tag: Literal["does", "sees"]
    detail: str | None = None
    n_unresolved: int = 0


class Delivered(Fact):
    """The agent handed in an answer."""

    kind: Literal["delivered"] = "delivered"
    answer: str


class TrajectoryClosed(Fact):
    """A trajectory ends: the loop's (or source's) own word for it, and its class."""

    kind: Literal["trajectory_closed"] = "trajectory_closed"
    termination_raw: str | None
    termination_class: TerminationClass
    duration_s: float | None = None
    cost_usd: float | None = None
    error: str | None = None


class ScoreCheck(BaseModel):
    """One of the scorer's own checks. `passed` is None where it does not apply."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    passed: bool | None
    detail: str | None = None


class Scored(Fact):
    """A scorer judged the trajectory; higher is better. `primary` marks the reward.

    An untrustworthy reward (an infrastructure failure stored as 0) never enters a mean.
    """

    kind: Literal["scored"] = "scored"
    scorer: str
    key: str = "score"
    primary: bool = True
    value_num: float | None = None
    value_text: str | None = None
    value_json: str | None = None
    trustworthy: bool = True
    checks: tuple[ScoreCheck, ...] = ()
