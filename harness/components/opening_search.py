"""Open with the search that the task itself suggests."""

import re
from collections.abc import Iterator

from environments.base import Call
from harness.calls import call_text
from harness.hooks import Middleware, State
from harness.messages import ModelReply, ModelRequest

COMMON = frozenset(
    (
        "a after all an and any are as at be by can count did do does find for from give had "
        "has have how in into is it its many most name number of often on one only or out "
        "please say tell that the their them there these they this to was were what when where "
        "which who whom whose will with write would you your answer"
    ).split()
)


class OpeningSearch(Middleware):
    """Write the first call in the model's place: search for the task's most telling phrase.

    That is the longest run of uncommon words that finds anything, and the rarest of those. Only the
    part of the task before an instruction about the answer counts.
    """

    def before_model(self, request: ModelRequest, state: State) -> ModelReply | None:
        """Answer the first turn."""
        tool, argument = self.parameters["tool"], self.parameters["argument"]
        if state.turn != 1 or state.tool(tool) is None:
            return None
        for phrases in _by_length(state.prompt):
            hits = {p: self._hits(state, Call(tool, {argument: p})) for p in phrases}
            found = [p for p in phrases if hits[p]]
            if found:
                best = min(found, key=lambda p: hits[p])
                return ModelReply(call_text(Call(tool, {argument: best})))
        return None

    @staticmethod
    def _hits(state: State, call: Call) -> int:
        answer = state.probe(call)
        (phrase,) = call.arguments.values()
        if not answer.ok:
            return 0
        return sum(str(phrase).lower() in line.lower() for line in answer.text.splitlines()[1:])


def _by_length(prompt: str) -> Iterator[list[str]]:
    """Yield the prompt's phrases without common words: all of four words, of three, …, of one."""
    body = re.split(r"(?<=[?.:]) |\bAnswer\b", prompt)[0]
    words = re.findall(r"[\w#@/.-]*\w", body)
    for n in range(min(4, len(words)), 0, -1):
        runs = [words[i : i + n] for i in range(len(words) - n + 1)]
        phrases = [" ".join(run) for run in runs if not any(w.lower() in COMMON for w in run)]
        if phrases:
            yield list(dict.fromkeys(phrases))
