"""Prompts: a bundle's templates and worked examples as messages."""

from collections.abc import Sequence
from typing import Any

import yaml
from jinja2 import StrictUndefined
from jinja2.sandbox import SandboxedEnvironment
from pydantic import BaseModel, ConfigDict, TypeAdapter

from environments.base import ToolSpec
from harness.bundle import Bundle
from harness.calls import usage_line
from harness.messages import ChatMessage
from warehouse.errors import BadBundle

_JINJA = SandboxedEnvironment(
    undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=False
)


class ExampleTurn(BaseModel):
    """One turn of a worked example."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    role: str
    content: str


_EXAMPLES = TypeAdapter(list[list[ExampleTurn]])


def render(bundle: Bundle, path: str, **values: Any) -> str:  # noqa: ANN401
    """Return a template of the bundle filled with `values`.

    Raises:
        BadBundle: the template does not parse, uses a name it is not given, or fails.
    """
    source = bundle.text(path)
    try:
        return _JINJA.from_string(source).render(**values).strip("\n")
    except Exception as broken:
        raise BadBundle(f"{path}: {type(broken).__name__}: {broken}") from broken


def opening(bundle: Bundle, tools: Sequence[ToolSpec]) -> ChatMessage:
    """Return the system message: the opening prompt, then the lessons."""
    spec = bundle.spec
    shown = [{"usage": usage_line(tool), "description": tool.description} for tool in tools]
    lessons = [bundle.text(path).strip() for path in spec.lessons]
    text = render(bundle, spec.prompts.system, tools=shown, max_turns=spec.loop.max_turns)
    return ChatMessage("system", "\n\n".join([text, *lessons]))


def examples(bundle: Bundle) -> list[ChatMessage]:
    """Return the worked examples as alternating user and assistant messages.

    Raises:
        BadBundle: an examples file is no list of lists of {role, content}.
    """
    found: list[ChatMessage] = []
    for path in bundle.spec.examples:
        try:
            loaded = _EXAMPLES.validate_python(yaml.safe_load(bundle.text(path)))
        except (yaml.YAMLError, ValueError, RecursionError) as broken:
            raise BadBundle(f"{path}: not a list of examples: {broken}") from broken
        for turn in (turn for example in loaded for turn in example):
            if turn.role not in {"user", "assistant"}:
                raise BadBundle(f"{path}: role {turn.role!r}; examples have user and assistant")
            found.append(ChatMessage("user" if turn.role == "user" else "assistant", turn.content))
    return found
