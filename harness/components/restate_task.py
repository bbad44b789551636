"""Keep the task in sight."""

from environments.base import Call
from harness.hooks import Middleware, State


class RestateTask(Middleware):
    """Repeat the task under every tool result."""

    def after_tool(self, view: str, call: Call, state: State) -> str:
        """Add the task's text."""
        return f"{view}\n{self.parameters['lead']}{state.prompt}"
