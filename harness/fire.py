"""Run the hooks of a bundle's components, and stamp what each of them did."""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from environments.base import Call, Observation
from harness.hooks import Block, Hook, Middleware, Terminate, Unlock, overrides
from harness.messages import ChatMessage, ModelReply, ModelRequest
from warehouse.errors import HarnessCrash
from warehouse.events.trajectory import Effect

_ANSWERS: Mapping[Hook, tuple[type, ...]] = {
    "before_agent": (Terminate,),
    "before_model": (ModelRequest, ModelReply, Terminate),
    "after_model": (ModelReply, Terminate),
    "before_tool": (Call, Observation, Block, Unlock, Terminate),
    "after_tool": (str, Terminate),
}


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
            HarnessCrash: a component raised, or returned what its hook may not.
        """
        backwards = hook.startswith("after_")
        for file, component in reversed(self.components) if backwards else self.components:
            if not overrides(component, hook):
                continue
            try:
                answer = getattr(component, hook)(_own(value), *context)
                self._fired.append(_firing(file, hook, value, answer))
            except (Exception, SystemExit) as crash:
                raise HarnessCrash(f"{file} {hook}: {type(crash).__name__}: {crash}") from crash
            if answer is None or isinstance(answer, Unlock):
                continue
            if not isinstance(answer, type(value)):
                return answer
            value = answer
        return value


def _own(value: Any) -> Any:  # noqa: ANN401
    """Return what a component is handed: writing into it changes nothing, only returning does."""
    return copy.deepcopy(value) if isinstance(value, Call | ModelRequest) else value


def _firing(file: str, hook: Hook, before: object, answer: object) -> Firing:
    # The exact type: a subclass could say of itself that it equals what went in.
    if answer is not None and (type(answer) not in _ANSWERS[hook] or not _sound(answer)):
        allowed = ", ".join(kind.__name__ for kind in _ANSWERS[hook])
        raise TypeError(f"returned {answer!r:.200}; it may return None, {allowed}")
    return Firing(
        component=file,
        hook=hook,
        effect=_effect(before, answer),
        tag=_tag(hook, before, answer),
        detail=_why(answer),
        n_unresolved=len(getattr(answer, "unresolved", ())),
    )


def _sound(answer: object) -> bool:
    """Whether the parts of an answer that the loop relies on have their types."""
    match answer:
        case ModelRequest(messages=messages):
            return all(isinstance(message, ChatMessage) for message in messages)
        case (
            str()
            | Call(str(), Mapping())
            | ModelReply(text=str())
            | Observation(text=str())
            | Block(text=str())
            | Unlock(reason=str())
            | Terminate(reason=str())
        ):
            return True
        case _:
            return False


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
