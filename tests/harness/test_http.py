"""The HTTP model against a server that behaves in every way servers do."""

import asyncio
import json
import socket
import time
from collections.abc import Iterator

import pytest

from harness.messages import ChatMessage, ModelReply, ModelRequest
from harness.models import http, open_host
from harness.models.http import ATTEMPTS, KEY_VARIABLE, HttpHost, HttpModel, connection
from tests.harness.server import Answer, ModelServer, chat, refusal
from warehouse.errors import BadInput, ContextExceeded, ModelUnavailable

REQUEST = ModelRequest(
    (ChatMessage("system", "Be brief."), ChatMessage("user", "Höi?")), 40, 0.7, 123
)


@pytest.fixture(autouse=True)
def no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEY_VARIABLE, raising=False)


def ask(server: ModelServer, request: ModelRequest = REQUEST, **body: object) -> ModelReply:
    async def asked() -> ModelReply:
        async with connection(1) as client:
            model = HttpModel(client, name="m", weights_id="w", url=server.url, body=body)
            return await model.complete(request)

    return asyncio.run(asked())


def attempts(*answers: Answer) -> tuple[ModelReply | str, int]:
    """Return the reply, or what the failure said, and how often the server was asked."""
    with ModelServer(*answers) as server:
        try:
            return ask(server), len(server.requests)
        except ModelUnavailable as gone:
            return str(gone), len(server.requests)


class TestAnswers:
    def test_a_reply_carries_what_the_server_said(self) -> None:
        reply, n = attempts(chat("Hi ☃"))
        assert isinstance(reply, ModelReply)
        assert n == 1
        assert (reply.text, reply.finish_reason, reply.response_key) == ("Hi ☃", "stop", "chat-1")
        assert (reply.input_tokens, reply.cached_tokens, reply.output_tokens) == (11, 3, 7)
        assert reply.latency_s is not None
        assert 0 < reply.latency_s < 30

    @pytest.mark.parametrize("usage", [None, {}, {"prompt_tokens_details": None}])
    def test_missing_usage_is_none_not_zero(self, usage: object) -> None:
        reply, _ = attempts(chat("x", usage=usage))
        assert isinstance(reply, ModelReply)
        assert (reply.input_tokens, reply.cached_tokens, reply.output_tokens) == (None, None, None)

    def test_bare_minimum(self) -> None:
        reply, _ = attempts(Answer(b'{"choices": [{"message": {"content": "x"}}]}'))
        assert isinstance(reply, ModelReply)
        assert (reply.text, reply.finish_reason, reply.response_key) == ("x", None, "")

    @pytest.mark.parametrize("message", [{"content": None}, {"content": ""}, {}])
    def test_no_content_is_an_empty_text(self, message: object) -> None:
        reply, n = attempts(chat(None, choices=[{"message": message}]))
        assert isinstance(reply, ModelReply)
        assert (reply.text, n) == ("", 1)

    def test_ten_megabytes_are_read(self) -> None:
        reply, _ = attempts(chat("x" * 10_000_000))
        assert isinstance(reply, ModelReply)
        assert len(reply.text) == 10_000_000

    def test_the_content_type_is_not_believed(self) -> None:
        reply, _ = attempts(Answer(chat("x").body, content_type="text/html; charset=latin-1"))
        assert isinstance(reply, ModelReply)
        assert reply.text == "x"

    @pytest.mark.parametrize(
        "body",
        [
            b"", b"<html>busy</html>", b'{"choices": [', b"null", b"[]", b'"x"', b"{}", b"\xff\xfe",
            b'{"choices": null}', b'{"choices": []}', b'{"choices": {}}', b'{"choices": [null]}',
            b'{"choices": [{}]}', b'{"choices": [{"message": null}]}',
            b'{"choices": [{"message": "x"}]}', b'{"choices": [{"message": {"content": 5}}]}',
            b'{"choices": [{"message": {"content": [{"type": "text", "text": "x"}]}}]}',
            b'{"choices": [{"message": {"content": "\\ud800"}}]}',
            b'{"choices": [{"message": {"content": "x"}}], "usage": "none"}',
            b'{"choices": [{"message": {"content": "x"}}], "usage": {"prompt_tokens": "few"}}',
            b'{"choices": [{"message": {"content": "x"}}], "usage": {"prompt_tokens": 1.5}}',
            b'{"a":' * 50_000,
        ],
    )  # fmt: skip
    def test_what_is_no_completion_ends_at_once(self, body: bytes) -> None:
        said, n = attempts(Answer(body))
        assert isinstance(said, str)
        assert "the answer is no chat completion" in said
        assert len(said) < 500
        assert n == 1

    def test_the_place_that_broke_is_named(self) -> None:
        said, _ = attempts(Answer(b'{"choices": [{"message": {"content": 5}}]}'))
        assert 'see choices.0.message.content: \'{"choices"' in str(said)


class TestRetries:
    @pytest.mark.parametrize("status", [429, 500, 502, 503])
    def test_a_busy_server_is_asked_again(self, status: int) -> None:
        reply, n = attempts(refusal(status), chat("x"))
        assert isinstance(reply, ModelReply)
        assert (reply.text, n) == ("x", 2)

    def test_a_broken_server_is_given_up(self) -> None:
        said, n = attempts(refusal(500))
        assert n == ATTEMPTS == 5
        assert "did not answer after 5 attempts" in str(said)
        assert "500" in str(said)

    @pytest.mark.parametrize("status", [301, 400, 401, 403, 404, 422])
    def test_a_refusal_is_not_repeated(self, status: int) -> None:
        said, n = attempts(refusal(status))
        assert n == 1
        assert str(status) in str(said)

    def test_a_hanging_server_is_left_and_asked_again(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(http, "TIMEOUT_S", 0.3)
        started = time.monotonic()
        reply, n = attempts(Answer(b"", hang=True), chat("x"))
        assert isinstance(reply, ModelReply)
        assert (reply.text, n) == ("x", 2)
        assert 0.3 <= time.monotonic() - started < 10

    def test_a_stream_that_breaks_is_asked_again(self) -> None:
        reply, n = attempts(Answer(chat("x").body, cut=True), chat("y"))
        assert isinstance(reply, ModelReply)
        assert (reply.text, n) == ("y", 2)

    def test_a_server_that_is_gone_is_unavailable(self) -> None:
        with ModelServer(chat("x")) as server:
            pass
        with pytest.raises(ModelUnavailable, match="after 5 attempts, last: ConnectError"):
            ask(server)

    def test_a_full_context_is_its_own_error(self) -> None:
        said = "This model's maximum context length is 4096 tokens"
        with ModelServer(refusal(400, said)) as server:
            with pytest.raises(ContextExceeded, match="maximum context length"):
                ask(server)
            assert len(server.requests) == 1


class TestRequests:
    def sent(self, request: ModelRequest = REQUEST, **body: object) -> dict[str, object]:
        with ModelServer(chat("x")) as server:
            ask(server, request, **body)
        (sent,) = server.requests
        assert sent.path == "/v1/chat/completions"
        return sent.body

    def test_the_whole_body(self) -> None:
        assert self.sent() == {
            "model": "m",
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "Höi?"},
            ],
            "max_tokens": 40,
            "temperature": 0.7,
            "seed": 123,
        }

    def test_a_schema_becomes_a_response_format(self) -> None:
        schema = {"type": "object", "properties": {"tool": {"const": "scan"}}}
        request = ModelRequest(REQUEST.messages, 40, 0.0, 1, schema)
        assert self.sent(request)["response_format"] == {
            "type": "json_schema",
            "json_schema": {"name": "call", "schema": schema},
        }

    def test_extra_fields_are_sent_as_they_are(self) -> None:
        lora = [{"id": 0, "scale": 1.0}, {"id": 1, "scale": 0.0}]
        sent = self.sent(cache_prompt=True, lora=lora)
        assert (sent["cache_prompt"], sent["lora"]) == (True, lora)

    def test_the_key_comes_from_the_environment(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with ModelServer(chat("x")) as server:
            ask(server)
            monkeypatch.setenv(KEY_VARIABLE, "s3cret")
            ask(server)
        keys = [request.headers.get("Authorization") for request in server.requests]
        assert keys == [None, "Bearer s3cret"]


class TestHost:
    @pytest.fixture
    def server(self) -> Iterator[ModelServer]:
        with ModelServer(chat("x")) as server:
            yield server

    def test_an_adapter_is_asked_for_by_name(self, server: ModelServer) -> None:
        async def both(host: HttpHost) -> list[str]:
            async with host.connect() as model_for:
                models = [model_for(0, None), model_for(1, "adapter-1")]
                for model in models:
                    await model.complete(REQUEST)
                return [model.weights_id for model in models]

        with HttpHost("base", server.url, 2) as host:
            weights = asyncio.run(both(host))
        assert [request.body["model"] for request in server.requests] == ["base", "adapter-1"]
        assert weights == [host.base_id, "adapter-1"]

    def test_the_base_is_the_model_and_the_address(self) -> None:
        ids = {
            HttpHost(model, url, 1).base_id
            for model in ("a", "b")
            for url in ("http://x", "http://y")
        }
        assert len(ids) == 4
        assert HttpHost("a", "http://x", 1).base_id == HttpHost("a", "http://x", 9).base_id

    def test_a_session_is_new_every_time(self) -> None:
        assert len({HttpHost("a", "http://x", 1).session_id for _ in range(5)}) == 5

    @pytest.mark.parametrize(
        "url", ["http://127.0.0.1:{port}/v1", "http://", "http:///v1", "http://h:x/v1"]
    )
    def test_a_server_that_does_not_answer_is_bad_input(self, url: str) -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            closed = url.format(port=taken.getsockname()[1])
            host = open_host(f"openai:m@{closed}")
            with pytest.raises(BadInput, match=r"does not answer .*is it running"), host:
                pass


class TestSpecs:
    def test_a_server_is_named_by_model_and_address(self) -> None:
        host = open_host("openai:org/model:7b@https://host:8000/v1", in_flight=3)
        assert isinstance(host, HttpHost)
        assert (host.name, host.url) == ("org/model:7b", "https://host:8000/v1")
        assert host.lanes == 3
        assert open_host("openai:m@http://h").lanes == 8

    @pytest.mark.parametrize(
        "spec",
        [
            "", "embedded:", "embedded:x", "Embedded", "openai", "openai:", "openai:m", "openai:m@",
            "openai:@http://h", "openai:m@h:8000", "openai:m@ftp://h", "m@http://h", "scripted",
            "anthropic:m@http://h",
        ],
    )  # fmt: skip
    def test_a_wrong_spec_says_how_to_write_it(self, spec: str) -> None:
        with pytest.raises(BadInput, match=r"write|choose") as refusal:
            open_host(spec)
        assert any(name in str(refusal.value) for name in ("openai:my-model@http", "clerk"))

    @pytest.mark.parametrize("name", ["", "nobody", "clerk:x"])
    def test_an_unknown_behaviour_names_the_known_ones(self, name: str) -> None:
        with pytest.raises(BadInput, match=r"\['clerk', 'looper', 'silent'\]"):
            open_host(f"scripted:{name}")


def test_the_test_server_sends_what_it_promises() -> None:
    """The completion the other tests rely on is what a server would send."""
    body = json.loads(chat("x").body)
    assert body["choices"][0]["message"] == {"role": "assistant", "content": "x"}
