"""A model server for tests: a real one, on a local port, that answers what it is told to."""

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self


@dataclass(frozen=True)
class Answer:
    """One HTTP answer. `cut` promises more bytes than it sends; `hang` waits to be released."""

    body: bytes
    status: int = 200
    content_type: str = "application/json"
    cut: bool = False
    hang: bool = False


@dataclass(frozen=True)
class Request:
    """What a client sent."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any] = field(default_factory=dict)


Responder = Callable[[Request], Answer]


def chat(text: str | None, **fields: Any) -> Answer:
    """Return a well-formed chat completion; `fields` replace its own."""
    usage = {
        "prompt_tokens": 11,
        "completion_tokens": 7,
        "prompt_tokens_details": {"cached_tokens": 3},
    }
    body = {
        "id": "chat-1",
        "choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
        "usage": usage,
        **fields,
    }
    return Answer(json.dumps(body).encode())


def refusal(status: int, message: str = "no") -> Answer:
    """Return an error in OpenAI's form."""
    return Answer(json.dumps({"error": {"message": message}}).encode(), status)


class ModelServer:
    """Answers posts with `answers` in turn, the last one for ever; keeps what it was sent."""

    def __init__(self, *answers: Answer, respond: Responder | None = None) -> None:
        self.answers = list(answers)
        self.requests: list[Request] = []
        self.greatest_in_flight = 0
        self._respond = respond
        self._in_flight = 0
        self._lock = threading.Lock()
        self._released = threading.Event()
        self._server = _Quiet(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> Self:
        """Start serving."""
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop serving; whatever hangs is let go."""
        self._released.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _answer(self, request: Request) -> Answer:
        with self._lock:
            self.requests.append(request)
            self._in_flight += 1
            self.greatest_in_flight = max(self.greatest_in_flight, self._in_flight)
            nth = min(len(self.requests), len(self.answers)) - 1
        try:
            return self._respond(request) if self._respond else self.answers[nth]
        finally:
            with self._lock:
                self._in_flight -= 1

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._send(Answer(b'{"data": []}'))

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                answer = outer._answer(Request(self.path, dict(self.headers), json.loads(body)))
                if answer.hang:
                    outer._released.wait(30)
                else:
                    self._send(answer)

            def _send(self, answer: Answer) -> None:
                self.send_response(answer.status)
                self.send_header("Content-Type", answer.content_type)
                self.send_header("Content-Length", str(len(answer.body) + 100 * answer.cut))
                self.end_headers()
                self.wfile.write(answer.body)

            def log_message(self, *args: object) -> None: ...

        return Handler


class _Quiet(ThreadingHTTPServer):
    daemon_threads = False  # closing waits for every answer in progress

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of clients that left."""
