"""Two agents without a model: one that solves every task, one that acts at random."""

import random
import re
from collections.abc import Sequence

from environments.base import Call
from environments.docqa.session import DocSession
from environments.docqa.world import Draft


def reference(draft: Draft) -> Sequence[Call]:
    """Return the searches that show the proof, then the answer."""
    searches = [Call("search", {"pattern": pattern}) for pattern in draft.route]
    return [*searches, Call("submit", {"answer": draft.answer})]


def at_random(draft: Draft, rng: random.Random) -> Sequence[Call]:
    """Return two searches for words of the question, then a word that was shown."""
    words = re.findall(r"[\w-]+", draft.question)
    calls = [Call("search", {"pattern": rng.choice(words)}) for _ in range(2)]
    session = DocSession(draft)
    shown = " ".join(session.call(call).text for call in calls)
    return [*calls, Call("submit", {"answer": rng.choice(re.findall(r"[\w-]+", shown))})]
