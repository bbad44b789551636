"""What goes to a model and what comes back."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One chat message."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One request; equal requests to the same weights are interchangeable.

    `response_schema` constrains the reply's text to a JSON schema (None: free text).
    """

    messages: tuple[ChatMessage, ...]
    max_tokens: int
    temperature: float
    seed: int
    response_schema: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class ModelReply:
    """One reply. Token counts and latency are None where the server gives none."""

    text: str
    finish_reason: str | None = None
    response_key: str = ""
    input_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None
    latency_s: float | None = None


class Model(Protocol):
    """Something that answers requests, with fixed weights."""

    name: str
    weights_id: str

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Answer one request.

        Raises:
            ModelUnavailable: the server did not answer after all retries.
        """
        ...
