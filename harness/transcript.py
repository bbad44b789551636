"""The conversation of one rollout; every change of it is a fact."""

import hashlib
import json
from dataclasses import asdict

from environments.base import Call, Observation
from harness.calls import ParsedCall
from harness.fire import Firing
from harness.messages import ChatMessage, ModelReply, ModelRequest, Role
from warehouse.events.base import Fact
from warehouse.events.trajectory import (
    Author,
    Delivered,
    HarnessFired,
    MessageAdded,
    ModelCalled,
    ToolCalled,
    ToolReturned,
)

PROBE = "probe"
"""The `component` of a call that the harness made for itself and the model never saw."""


class Transcript:
    """What the model has been shown so far, and the facts not yet taken by `drain`."""

    def __init__(self) -> None:
        self.messages: list[ChatMessage] = []
        self.turn = 0
        self._facts: list[Fact] = []
        self._n_calls = 0

    def drain(self) -> list[Fact]:
        """Return the facts since the last call and forget them."""
        facts, self._facts = self._facts, []
        return facts

    def say(self, role: Role, content: str, author: Author, *, copied: bool = False) -> None:
        """Add a message."""
        self.messages.append(ChatMessage(role, content))
        self._facts.append(
            MessageAdded(
                turn=self.turn,
                role=role,
                role_raw=role,
                author=author,
                content=content,
                content_state="text" if content else "empty",
                copied_context=copied,
            )
        )

    def fired(self, firings: list[Firing]) -> None:
        """Note what the harness did."""
        self._facts += [
            HarnessFired(
                turn=self.turn,
                component=f.component,
                hook=f.hook,
                effect=f.effect,
                tag=f.tag,
                detail=f.detail,
                n_unresolved=f.n_unresolved,
            )
            for f in firings
        ]

    def answered(self, request: ModelRequest, reply: ModelReply, model: str) -> None:
        """Note a model call."""
        self._facts.append(
            ModelCalled(
                turn=self.turn,
                request_digest=request_digest(request),
                response_key=reply.response_key or f"turn-{self.turn}",
                model=model,
                finish_reason=reply.finish_reason,
                input_tokens=reply.input_tokens,
                cached_tokens=reply.cached_tokens,
                output_tokens=reply.output_tokens,
                latency_s=reply.latency_s,
            )
        )

    def called(self, parsed: ParsedCall, author: Author, component: str | None = None) -> str:
        """Note a tool call; return its key."""
        self._n_calls += 1
        key = f"call-{self._n_calls}"
        arguments = json.dumps(dict(parsed.call.arguments), ensure_ascii=False, sort_keys=True)
        self._facts.append(
            ToolCalled(
                turn=self.turn,
                call_key=key,
                name=parsed.call.name,
                arguments_raw=parsed.arguments_raw,
                arguments_json=arguments,
                arguments_state=parsed.state,
                author=author,
                component=component,
            )
        )
        return key

    def returned(self, key: str, observation: Observation, view: str | None) -> None:
        """Note a call's result: the canonical one, and what the agent was shown."""
        self._facts.append(
            ToolReturned(
                turn=self.turn,
                call_key=key,
                env_output=observation.text,
                agent_view=view,
                ok=observation.ok,
                error=observation.error,
                truncated=observation.truncated,
            )
        )

    def delivered(self, answer: str) -> None:
        """Note the answer that was handed in."""
        self._facts.append(Delivered(answer=answer))


def request_digest(request: ModelRequest) -> str:
    """Return a short digest of everything that is sent."""
    sent = json.dumps(asdict(request), sort_keys=True, ensure_ascii=False)
    return hashlib.blake2b(sent.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def plain_call(call: Call) -> ParsedCall:
    """Return a call that came from code, not from text."""
    return ParsedCall(call, json.dumps(dict(call.arguments), ensure_ascii=False), "object")
