"""A host: where a model runs, and how many requests it takes at once."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Protocol, Self

from harness.messages import Model

ModelFor = Callable[[int, str | None], Model]
"""(lane, adapter id or None for the bare base) → the model to ask in that lane."""


class ModelHost(Protocol):
    """Serves one base model, with or without adapters, in a fixed number of lanes.

    A lane is a place for one rollout at a time; work that shares a prefix should stay in its lane.
    `session_id` names the serving process: only results of one session were measured in one night.
    """

    name: str
    base_id: str
    session_id: str
    lanes: int

    def __enter__(self) -> Self:
        """Start serving."""
        ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop serving."""
        ...

    def connect(self) -> AbstractAsyncContextManager[ModelFor]:
        """Open connections inside the running event loop."""
        ...


def weights_of(base_id: str, adapter: str | None) -> str:
    """Return the id of the weights that answer: the adapter's own, or the base model's."""
    return adapter or base_id
