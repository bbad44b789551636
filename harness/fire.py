"""Run the hooks of a bundle's components, and stamp what each of them did."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from environments.base import Observation
from harness.hooks import Block, Hook, Middleware, Terminate, Unlock, overrides
from harness.messages import ModelReply, ModelRequest
from warehouse.errors import HarnessCrash
from warehouse.events.trajectory import Effect


@dataclass(frozen=True, slots=True)
class Firing:
    """One run of a component at a hook."""

    component: str
    hook: str
    effect: Effect
    tag: Literal["does", "sees"]
    detail: str | None = None
    n_unresolved: int = 0


class Hooks:
    """A bundle's components in order; what ran is kept until it is drained."""

    def __init__(self, components: Sequence[tuple[str, Middleware]]) -> None:
        self.components = components
        self._fired: list[Firing] = []

    def drain(self) -> list[Firing]:
        """Return the firings since the last call and forget them."""
        fired, self._fired = self._fired, []
        return fired

    def fire(self, hook: Hook, value: Any, *context: object) -> Any:  # noqa: ANN401
        """Pass `value` through every component that overrides `hook`.

        Returns `value`, changed or not; or, of another type, the first answer that stands in its
        place (a `Block`, a `Terminate`, a reply for the model, an observation for the environment).

        Raises:
            HarnessCrash: a component raised.
        """
        backwards = hook.startswith("after_")
        for file, component in reversed(self.components) if backwards else self.components:
            if not overrides(component, hook):
                continue
            try:
                answer = getattr(component, hook)(value, *context)
            except Exception as crash:
                raise HarnessCrash(f"{file} {hook}: {type(crash).__name__}: {crash}") from crash
            self._fired.append(
                Firing(
                    component=file,
                    hook=hook,
                    effect=_effect(value, answer),
                    tag=_tag(hook, value, answer),
                    detail=_why(answer),
                    n_unresolved=len(getattr(answer, "unresolved", ())),
                )
            )
            if answer is None or isinstance(answer, Unlock):
                continue
            if not isinstance(answer, type(value)):
                return answer
            value = answer
        return value


def _effect(before: object, answer: object) -> Effect:
    match answer:
        case Terminate():
            return "terminated"
        case Block():
            return "blocked"
        case Unlock():
            return "unlocked"
        case _:
            return "none" if answer is None or answer == before else "changed"


def _tag(hook: Hook, before: object, answer: object) -> Literal["does", "sees"]:
    """Say whether a change touches what the model writes or what it is shown."""
    if hook == "after_tool" or isinstance(answer, Observation):
        return "sees"
    if isinstance(before, ModelRequest) and isinstance(answer, ModelRequest):
        return "sees" if answer.messages != before.messages else "does"
    return "does"


def _why(answer: object) -> str | None:
    match answer:
        case Terminate(reason) | Unlock(reason, ()):
            return reason
        case Block(_, unresolved) | Unlock(_, unresolved):
            return "; ".join(unresolved) or None
        case ModelReply():
            return "answered in the model's place"
        case Observation():
            return "answered in the environment's place"
        case _:
            return None
