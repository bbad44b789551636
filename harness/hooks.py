"""What a middleware file may do, and what the loop tells it.

A middleware file defines one subclass of `Middleware` and overrides the hooks it needs.
Before-hooks run first to last, after-hooks last to first. A hook returns None to leave things as
they are. The loop compares what came back with what went in and stamps the effect: a component
cannot claim one.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from environments.base import Call, Observation, ToolSpec
from harness.messages import ModelReply, ModelRequest

Hook = Literal["before_agent", "before_model", "after_model", "before_tool", "after_tool"]


@dataclass(frozen=True, slots=True)
class Step:
    """A call that was made and what the environment answered."""

    call: Call
    observation: Observation


@dataclass(slots=True)
class State:
    """What a hook may look at. `probe` runs a call whose result the model does not see."""

    prompt: str
    tools: Sequence[ToolSpec]
    max_turns: int
    probe: Callable[[Call], Observation]
    turn: int = 0
    steps: list[Step] = field(default_factory=list)

    def tool(self, name: str) -> ToolSpec | None:
        """Return the tool of that name, None if there is none."""
        return next((tool for tool in self.tools if tool.name == name), None)


@dataclass(frozen=True, slots=True)
class Block:
    """Do not run the call; show `text` to the model instead.

    `unresolved` names what is still open; an answer let through later with open items is an
    evidence failure (F1).
    """

    text: str
    unresolved: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Unlock:
    """Let a call through that this component would rather have blocked (F2)."""

    reason: str
    unresolved: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Terminate:
    """End the rollout."""

    reason: str


class Middleware:
    """Base of every middleware component; `parameters` come from `harness.yaml`."""

    def __init__(self, parameters: Mapping[str, Any]) -> None:
        self.parameters = parameters

    def before_agent(self, state: State) -> Terminate | None:
        """Run once before the first model call."""

    def before_model(
        self, request: ModelRequest, state: State
    ) -> ModelRequest | ModelReply | Terminate | None:
        """Change the request, or answer in the model's place."""

    def after_model(self, reply: ModelReply, state: State) -> ModelReply | Terminate | None:
        """Change the reply."""

    def before_tool(
        self, call: Call, state: State
    ) -> Call | Observation | Block | Unlock | Terminate | None:
        """Change the call, answer in the environment's place, block it, or let it through."""

    def after_tool(self, view: str, call: Call, state: State) -> str | Terminate | None:
        """Change what the model is shown of a result; the canonical result stays recorded."""


def overrides(component: Middleware, hook: Hook) -> bool:
    """Whether a component defines the hook itself."""
    return getattr(type(component), hook) is not getattr(Middleware, hook)
