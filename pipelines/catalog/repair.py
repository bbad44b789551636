"""What a repair is, and the edits that most of them make."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Literal

import yaml

from environments.base import ToolSpec
from harness.bundle import MANIFEST, Bundle
from harness.messages import ChatMessage

Changes = Mapping[str, str]
"""Whole files by path: added or replaced."""


@dataclass(frozen=True, slots=True)
class Context:
    """What a repair may look at: the harness, its tools, passing development conversations."""

    bundle: Bundle
    tools: Sequence[ToolSpec]
    passing: Sequence[Sequence[ChatMessage]]

    def tool(self, name: str, argument: str) -> bool:
        """Whether there is a tool of this name whose only required argument is `argument`."""
        return any(
            tool.name == name and tool.parameters.get("required") == [argument]
            for tool in self.tools
        )


@dataclass(frozen=True, slots=True)
class Repair:
    """A known repair.

    `answers` are failure signals (and `no_call`, replies without a call). `apply` returns the files
    to add or replace, or None where the repair has nothing to do: it is there already, or it needs
    what the harness or environment does not have. `fires` is the file whose firing proves that the
    edit ran. `rollback` is a note for people: what would speak for taking the repair out again.
    """

    name: str
    title: str
    answers: frozenset[str]
    tag: Literal["does", "sees"]
    fires: str
    root_cause: str
    predicted_fix: str
    why: str
    rollback: str
    apply: Callable[[Context], Changes | None]


def add_middleware(bundle: Bundle, component: str, parameters: Mapping[str, Any]) -> Changes | None:
    """Return the edit that puts one of `harness/components` last, None when it is there already."""
    path = f"middleware/{component}.py"
    if path in bundle.files:
        return None
    source = (files("harness.components") / f"{component}.py").read_text(encoding="utf-8")
    manifest = manifest_of(bundle)
    parts = manifest.setdefault("middleware", [])
    parts.append({"file": path, "parameters": dict(parameters)})
    return {MANIFEST: dump(manifest), path: source}


def add_examples(
    bundle: Bundle, path: str, found: Sequence[Sequence[ChatMessage]], *, alone: bool
) -> Changes | None:
    """Return the edit that adds worked examples (`alone`: in place of those there are)."""
    if path in bundle.files or not found:
        return None
    manifest = manifest_of(bundle)
    others = [] if alone else list(manifest.get("examples", []))
    manifest["examples"] = [*others, path]
    turns = [[{"role": m.role, "content": m.content} for m in one] for one in found]
    return {MANIFEST: dump(manifest), path: dump(turns)}


def manifest_of(bundle: Bundle) -> dict[str, Any]:
    """Return `harness.yaml` as plain values."""
    loaded: dict[str, Any] = yaml.safe_load(bundle.text(MANIFEST))
    return loaded


def dump(value: object) -> str:
    """Return a value as YAML in its own order."""
    text: str = yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=100)
    return text
