"""`harness.yaml` as typed values."""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class LoopLimits(_Part):
    """How far one rollout may go: model replies, tokens per reply, characters per tool result."""

    max_turns: int = Field(ge=1, le=200)
    max_output_tokens: int = Field(ge=1)
    tool_output_chars: int = Field(ge=80)


class CallPolicy(_Part):
    """How the model calls tools.

    `constrained` decodes replies under the JSON schema of the offered tools; `argument_chars`
    bounds the text arguments of such a reply.
    """

    constrained: bool = False
    argument_chars: int = Field(default=40, ge=1)


class Prompts(_Part):
    """Paths of the Jinja templates: opening, task, tool result, and reply to a missing call."""

    system: str
    task: str
    result: str
    no_call: str


class Part(_Part):
    """A middleware file and its parameters."""

    file: str
    parameters: Mapping[str, Any] = Field(default_factory=dict)


class HarnessSpec(_Part):
    """The whole of `harness.yaml`; every path is relative to the bundle.

    `examples` are YAML files of worked examples, `lessons` Markdown files appended to the opening.
    """

    version: Literal[1]
    loop: LoopLimits
    calls: CallPolicy = CallPolicy()
    prompts: Prompts
    examples: tuple[str, ...] = ()
    lessons: tuple[str, ...] = ()
    middleware: tuple[Part, ...] = ()

    def paths(self) -> tuple[str, ...]:
        """Return every file that this spec refers to."""
        prompts = self.prompts
        return (
            prompts.system,
            prompts.task,
            prompts.result,
            prompts.no_call,
            *self.examples,
            *self.lessons,
            *(part.file for part in self.middleware),
        )
