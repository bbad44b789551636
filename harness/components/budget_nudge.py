"""Tell the agent when its budget runs out."""

from dataclasses import replace

from harness.hooks import Middleware, State
from harness.messages import ChatMessage, ModelRequest


class BudgetNudge(Middleware):
    """In the last turns, add a line that asks for the answer now."""

    def before_model(self, request: ModelRequest, state: State) -> ModelRequest | None:
        """Add the line to the last message."""
        if state.max_turns - state.turn >= int(self.parameters["turns_left"]):
            return None
        last = request.messages[-1]
        told = ChatMessage(last.role, f"{last.content}\n{self.parameters['text']}")
        return replace(request, messages=(*request.messages[:-1], told))
