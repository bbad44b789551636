"""Do not hand in what no document said."""

import re

from environments.base import Call
from harness.hooks import Block, Middleware, State, Unlock


class AnswerCheck(Middleware):
    """Block an answer that no result backs, a few times.

    That is an answer with a word or number that neither a result nor the task shows, or one that
    only repeats words of the task.
    """

    blocked = 0

    def before_tool(self, call: Call, state: State) -> Block | Unlock | None:
        """Compare a delivering call's text with the task and every result so far."""
        tool = state.tool(call.name)
        if tool is None or not tool.delivers:
            return None
        said = _words(" ".join(str(value) for value in call.arguments.values()))
        asked = _words(state.prompt)
        shown = _words(" ".join(step.observation.text for step in state.steps))
        unbacked = sorted(w for w in said - shown if w not in asked or w.isdecimal())
        if not unbacked and not said <= asked:
            return None
        if self.blocked >= int(self.parameters["times"]):
            return Unlock("blocked often enough", tuple(unbacked))
        self.blocked += 1
        return Block(str(self.parameters["text"]), tuple(unbacked))


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+(?:[.-]\w+)*", text.casefold()))
