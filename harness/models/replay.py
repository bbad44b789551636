"""A model that says what it is told: the way to run recorded turns under another harness."""

from collections.abc import Sequence

from harness.messages import ModelReply, ModelRequest


class ReplayModel:
    """Answers the n-th request with the n-th turn, then falls silent."""

    name = "replay"

    def __init__(self, turns: Sequence[str], weights_id: str) -> None:
        self.weights_id = weights_id
        self._turns = list(turns)
        self._next = 0

    async def complete(self, request: ModelRequest) -> ModelReply:
        """See `Model.complete`."""
        text = self._turns[self._next] if self._next < len(self._turns) else ""
        self._next += 1
        return ModelReply(text=text, finish_reason="replayed")
