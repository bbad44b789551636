"""A client for OpenAI-compatible servers: retries, token counts, structured replies."""

import os
import time
import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, Self

import httpx
from pydantic import BaseModel, Field, ValidationError
from tenacity import (
    AsyncRetrying,
    RetryError,
    retry_if_exception,
    stop_after_attempt,
    wait_random_exponential,
)

from harness.messages import ModelReply, ModelRequest
from harness.models.host import ModelFor, weights_of
from warehouse.errors import BadInput, ContextExceeded, ModelUnavailable
from warehouse.ids import content_id

ATTEMPTS = 5
TIMEOUT_S = 600.0
KEY_VARIABLE = "INSTAR_API_KEY"


class _Message(BaseModel):
    content: str | None = None


class _Choice(BaseModel):
    message: _Message
    finish_reason: str | None = None


class _Cached(BaseModel):
    cached_tokens: int | None = None


class _Usage(BaseModel):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _Cached | None = None


class _Answer(BaseModel):
    """What is read of a chat completion; servers add fields of their own."""

    id: str | None = None
    choices: list[_Choice] = Field(min_length=1)
    usage: _Usage | None = None


class HttpModel:
    """One model (and adapter) on one server."""

    def __init__(
        self,
        client: httpx.AsyncClient,
        *,
        name: str,
        weights_id: str,
        url: str,
        body: Mapping[str, Any],
    ) -> None:
        self.name = name
        self.weights_id = weights_id
        self._client = client
        self._url = f"{url.rstrip('/')}/chat/completions"
        self._body = body

    async def complete(self, request: ModelRequest) -> ModelReply:
        """See `Model.complete`."""
        started = time.perf_counter()
        response = await self._post(self._json(request))
        try:
            answer = _Answer.model_validate_json(response.content)
        except ValidationError as broken:
            where = ".".join(str(part) for part in broken.errors()[0]["loc"]) or "the body"
            raise ModelUnavailable(
                f"{self._url}: the answer is no chat completion, see {where}:"
                f" {response.text[:200]!r}"
            ) from broken
        choice, usage = answer.choices[0], answer.usage or _Usage()
        return ModelReply(
            text=choice.message.content or "",
            finish_reason=choice.finish_reason,
            response_key=answer.id or "",
            input_tokens=usage.prompt_tokens,
            cached_tokens=(usage.prompt_tokens_details or _Cached()).cached_tokens,
            output_tokens=usage.completion_tokens,
            latency_s=time.perf_counter() - started,
        )

    def _json(self, request: ModelRequest) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self.name,
            "messages": [{"role": m.role, "content": m.content} for m in request.messages],
            "max_tokens": request.max_tokens,
            "temperature": request.temperature,
            "seed": request.seed,
            **self._body,
        }
        if request.response_schema is not None:
            body["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": "call", "schema": dict(request.response_schema)},
            }
        return body

    async def _post(self, body: dict[str, Any]) -> httpx.Response:
        retrying = AsyncRetrying(
            retry=retry_if_exception(_transient),
            wait=wait_random_exponential(multiplier=0.2, max=20),
            stop=stop_after_attempt(ATTEMPTS),
        )
        try:
            async for attempt in retrying:
                with attempt:
                    response = await self._client.post(self._url, json=body)
                    if (
                        response.status_code == httpx.codes.BAD_REQUEST
                        and "context" in response.text
                    ):
                        raise ContextExceeded(f"{self._url}: {response.text[:200]}")
                    return response.raise_for_status()
        except RetryError as gave_up:
            last = gave_up.last_attempt.exception()
            raise ModelUnavailable(
                f"{self._url} did not answer after {ATTEMPTS} attempts, last: {last!r}"
            ) from last
        except httpx.HTTPError as broken:
            raise ModelUnavailable(f"{self._url}: {broken!r}") from broken
        raise ModelUnavailable(f"{self._url}: no attempt was made")


class HttpHost:
    """A server that somebody else runs."""

    def __init__(self, name: str, url: str, lanes: int) -> None:
        self.name = name
        self.url = url
        self.lanes = lanes
        self.base_id = content_id({"model": name, "url": url})
        self.session_id = f"{url}#{uuid.uuid4().hex[:8]}"

    def __enter__(self) -> Self:
        """Check that the server answers.

        Raises:
            BadInput: it does not, or it refuses the key.
        """
        try:
            told = httpx.get(f"{self.url.rstrip('/')}/models", headers=_headers(), timeout=10)
        except (httpx.HTTPError, httpx.InvalidURL) as gone:
            raise BadInput(
                f"model server {self.url!r} does not answer ({gone}); is it running, and does the"
                " address end with /v1?"
            ) from gone
        if told.status_code in {401, 403}:
            raise BadInput(
                f"model server {self.url!r} refuses the key (HTTP {told.status_code}); set"
                f" {KEY_VARIABLE} to one that it accepts"
            )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leave the server running."""

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[ModelFor]:
        """See `ModelHost.connect`; an adapter is asked for by its id as the model's name."""
        async with connection(self.lanes) as client:
            yield lambda lane, adapter: HttpModel(
                client,
                name=adapter or self.name,
                weights_id=weights_of(self.base_id, adapter),
                url=self.url,
                body={},
            )


def connection(lanes: int) -> httpx.AsyncClient:
    """Return a client with room for `lanes` requests at once."""
    limits = httpx.Limits(max_connections=lanes + 4, max_keepalive_connections=lanes + 4)
    return httpx.AsyncClient(limits=limits, timeout=TIMEOUT_S, headers=_headers())


def _headers() -> dict[str, str]:
    key = os.environ.get(KEY_VARIABLE)
    return {"Authorization": f"Bearer {key}"} if key else {}


def _transient(error: BaseException) -> bool:
    if isinstance(error, httpx.HTTPStatusError):
        return error.response.status_code == 429 or error.response.status_code >= 500
    return isinstance(error, httpx.TransportError)
