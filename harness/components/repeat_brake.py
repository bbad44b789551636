"""Stop an agent that makes the same call again."""

from environments.base import Call
from harness.hooks import Block, Middleware, State


class RepeatBrake(Middleware):
    """Block a call that was already made with the same arguments."""

    def before_tool(self, call: Call, state: State) -> Block | None:
        """Look the call up in what was done so far."""
        if any(step.call == call for step in state.steps):
            return Block(str(self.parameters["text"]))
        return None
