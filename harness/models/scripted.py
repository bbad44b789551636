"""Models that are ordinary source: what they write follows from the request alone.

They stand in for a model where a test must be fast and certain; none of them knows an answer.
"""

import random
import re
import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Self

from environments.base import Call
from harness.calls import call_text, parse_call
from harness.messages import ChatMessage, ModelReply, ModelRequest
from harness.models.host import ModelFor, weights_of
from warehouse.ids import content_id

Behaviour = Callable[[ModelRequest, random.Random], str]


def silent(request: ModelRequest, rng: random.Random) -> str:
    """Never call a tool."""
    return "I would have to look at the documents first."


def looper(request: ModelRequest, rng: random.Random) -> str:
    """Make the same call for ever."""
    return call_text(Call("search", {"pattern": "the"}))


def clerk(request: ModelRequest, rng: random.Random) -> str:
    """Follow worked examples, and without any of them talk instead of acting.

    It searches for the most telling phrase of the question, then submits a word of the first line
    found; with several candidates it picks one at random, so it is right now and then.
    """
    question_at = _last_question(request.messages)
    shown = request.messages[question_at + 1 :]
    if not any(parse_call(m.content) for m in request.messages if m.role == "assistant"):
        return silent(request, rng)
    question = request.messages[question_at].content
    found = [
        line
        for message in shown
        if message.role == "user"
        for line in re.findall(r"^(?:[\w.]+:)?L?\d+: (.+)$", message.content, re.MULTILINE)
    ]
    if not found:
        tried = sum(m.role == "assistant" for m in shown)
        return call_text(Call("search", {"pattern": _phrase(question, tried)}))
    return call_text(Call("submit", {"answer": _guess(question, found[0], rng)}))


BEHAVIOURS: Mapping[str, Behaviour] = {"silent": silent, "looper": looper, "clerk": clerk}


class ScriptedModel:
    """A behaviour behind the model protocol; tokens are counted as words."""

    def __init__(self, name: str, weights_id: str) -> None:
        self.name = f"scripted:{name}"
        self.weights_id = weights_id
        self._behaviour = BEHAVIOURS[name]

    async def complete(self, request: ModelRequest) -> ModelReply:
        """See `Model.complete`."""
        text = self._behaviour(request, random.Random(request.seed))
        words = sum(len(m.content.split()) for m in request.messages)
        return ModelReply(
            text=text, finish_reason="stop", input_tokens=words, output_tokens=len(text.split())
        )


class ScriptedHost:
    """A host for a scripted model; adapters change its name only."""

    def __init__(self, behaviour: str, lanes: int) -> None:
        self.behaviour = behaviour
        self.name = f"scripted:{behaviour}"
        self.lanes = lanes
        self.base_id = content_id({"scripted": behaviour})
        self.session_id = f"scripted#{uuid.uuid4().hex[:12]}"

    def __enter__(self) -> Self:
        """Nothing to start."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Nothing to stop."""

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[ModelFor]:
        """See `ModelHost.connect`."""
        yield lambda lane, adapter: ScriptedModel(self.behaviour, weights_of(self.base_id, adapter))


def _last_question(messages: tuple[ChatMessage, ...]) -> int:
    asked = [i for i, m in enumerate(messages) if m.role == "user" and "?" in m.content]
    return asked[-1] if asked else len(messages) - 1


def _phrase(question: str, tried: int) -> str:
    named = re.findall(r"[A-Z][\w-]*\d[\w-]*|[a-z_]+\.[a-z]+|[A-Z]\w+ [A-Z]\w+", question)
    words = sorted(re.findall(r"[a-z]{5,}", question.partition("Answer")[0]), key=len, reverse=True)
    phrases: list[str] = [*named, *words, "the"]
    return phrases[min(tried, len(phrases) - 1)]


def _guess(question: str, line: str, rng: random.Random) -> str:
    if "number" in question:
        choices = re.findall(r"\d+", line)
    else:
        choices = [w for w in re.findall(r"[A-Z]\w+(?: [A-Z]\w+)?", line) if w not in question]
    return str(rng.choice(choices)) if choices else line[:40]
