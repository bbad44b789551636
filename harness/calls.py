"""Tool calls as JSON objects in the model's text: how they are shown, constrained and read."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from environments.base import Call, ToolSpec
from warehouse.events.trajectory import ArgumentsState

_DECODER = json.JSONDecoder()
_OBJECT = re.compile(r'\{\s*"')
_PLACEHOLDERS: Mapping[str, object] = {
    "string": "text",
    "integer": 1,
    "number": 1.0,
    "boolean": True,
    "array": [],
    "object": {},
}


@dataclass(frozen=True, slots=True)
class ParsedCall:
    """A call found in a reply, with the state its arguments were in."""

    call: Call
    arguments_raw: str
    state: ArgumentsState


def call_text(call: Call) -> str:
    """Return a call in the one form that a model is taught to write."""
    return json.dumps({"tool": call.name, "args": dict(call.arguments)}, ensure_ascii=False)


def usage_line(tool: ToolSpec) -> str:
    """Return an example call of a tool, with placeholders for its required arguments."""
    properties = tool.parameters.get("properties", {})
    required = tool.parameters.get("required", [])
    filled = {k: _PLACEHOLDERS.get(properties[k].get("type", "string"), "text") for k in required}
    return call_text(Call(tool.name, filled))


def reply_schema(tools: Sequence[ToolSpec], argument_chars: int) -> dict[str, Any]:
    """Return the JSON schema of a reply that is exactly one valid call of one of the tools."""
    return {"oneOf": [_call_schema(tool, argument_chars) for tool in tools]}


def parse_call(text: str) -> ParsedCall | None:
    """Return the first tool call in a reply, None when there is none.

    Both spellings that models use are read: `tool`/`args` and `name`/`arguments`.
    """
    for start in _OBJECT.finditer(text):
        value = _object_at(text, start.start())
        if isinstance(name := value.get("tool", value.get("name")), str):
            return _parsed(name, value.get("args", value.get("arguments")))
    return None


def _object_at(text: str, at: int) -> dict[str, Any]:
    """Return the JSON object that starts at `at`, an empty one where there is none.

    Python reads more than JSON has, NaN and half of a surrogate pair: such a value cannot be
    recorded, so it is none.
    """
    try:
        value: dict[str, Any] = _DECODER.raw_decode(text, at)[0]
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):
        return {}
    return value


def _parsed(name: str, arguments: object) -> ParsedCall:
    raw = json.dumps(arguments, ensure_ascii=False)
    if arguments is None:
        return ParsedCall(Call(name, {}), raw, "null")
    if isinstance(arguments, dict):
        return ParsedCall(Call(name, arguments), raw, "object")
    return ParsedCall(Call(name, {"arguments": arguments}), raw, "non_object")


def _call_schema(tool: ToolSpec, argument_chars: int) -> dict[str, Any]:
    required = list(tool.parameters.get("required", []))
    properties = {
        name: {"type": "string", "maxLength": argument_chars}
        if schema.get("type") == "string"
        else schema
        for name, schema in tool.parameters.get("properties", {}).items()
        if name in required
    }
    return {
        "type": "object",
        "properties": {
            "tool": {"const": tool.name},
            "args": {
                "type": "object",
                "properties": properties,
                "required": required,
                "additionalProperties": False,
            },
        },
        "required": ["tool", "args"],
        "additionalProperties": False,
    }
