"""Static checks of a bundle, before anything runs: messages that whoever wrote it can act on."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from environments.base import ToolSpec
from harness.bundle import Bundle
from harness.load import load_middleware
from harness.render import examples, opening, render
from warehouse.errors import BadBundle, HarnessCrash


@dataclass(frozen=True, slots=True)
class StaticCheck:
    """One check and what it found."""

    name: str
    passed: bool
    detail: str


def static_checks(bundle: Bundle, tools: Sequence[ToolSpec]) -> list[StaticCheck]:
    """Check schema and references, templates, worked examples, and that the code loads."""
    return [
        _check("schema", lambda: bundle.spec),
        _check("templates", lambda: _render_all(bundle, tools)),
        _check("examples", lambda: examples(bundle)),
        _check("middleware", lambda: load_middleware(bundle)),
    ]


def _check(name: str, run: Callable[[], object]) -> StaticCheck:
    try:
        run()
    except (BadBundle, HarnessCrash) as broken:
        return StaticCheck(name, passed=False, detail=str(broken))
    return StaticCheck(name, passed=True, detail="")


def _render_all(bundle: Bundle, tools: Sequence[ToolSpec]) -> None:
    prompts = bundle.spec.prompts
    opening(bundle, tools)
    render(bundle, prompts.task, prompt="?")
    for ok in (True, False):
        render(bundle, prompts.result, text="?", ok=ok)
    render(bundle, prompts.no_call)
