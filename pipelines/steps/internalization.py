"""From the evolved harness into the weights, step by step, each resumable."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from environments.base import SPLITS, Task
from harness.models.embedded import MODEL_NAME, model_path, model_sha256
from harness.models.host import ModelHost
from pipelines import assemble, gate
from pipelines import sample as sampling
from pipelines import tailor as tailoring
from pipelines import train as training
from pipelines.rollout import plan
from pipelines.steps.bench import Bench
from pipelines.steps.line import current_harness, draw, open_line
from pipelines.steps.rollouts import label_failures, rows_of, run_units
from warehouse.errors import BadInput, GateClosed
from warehouse.events.base import Fact
from warehouse.events.dataset import DatasetPublished
from warehouse.ids import bare
from warehouse.quality import validate

TABLE = "sft_examples"


def sample_best(bench: Bench, host: ModelHost) -> None:
    """Roll out the line's harness on development tasks and keep the best few of each task."""
    open_line(bench, host)
    config = bench.experiment.sample
    units = plan(
        bench.env.tasks("development", config.tasks),
        bench.bundle(current_harness(bench)),
        rollouts=config.rollouts,
        seed=draw(bench, "sample", 0),
        purpose="collect",
        temperature=bench.experiment.measure.temperature,
        line_id=bench.line,
        batch_id=f"{bench.line}~collect",
    )
    ran = run_units(bench, host, units, "sampling")
    label_failures(bench)
    samples = sampling.sample(rows_of(bench, ran), bench.fresh("tool_calls"), bench.line, config)
    bench.lake.write("samples", samples, {"line_id": bench.line})


def tailor_samples(bench: Bench) -> None:
    """Rewrite every sample for the seed harness, replay it there, and keep or refuse it."""
    done = {
        *bench.of_line("tailored")["sample_id"],
        *bench.of_line("tailored_quarantine")["sample_id"],
    }
    waiting = [s for s in _samples(bench) if s.trajectory_id not in done]
    seed, evolved = bench.seed_bundle(), bench.bundle(current_harness(bench))
    for i, sample in enumerate(waiting):
        outcome = asyncio.run(
            tailoring.tailor(sample, bench.env, seed, evolved, bench.line, bench.lake.clock)
        )
        bench.watch("tailoring", i + 1, len(waiting))
        held = bench.lake.log.head(outcome.replay[0].stream_id)
        bench.lake.append([] if held else outcome.replay)
        bench.tell(f"dataset/{bench.line}", [outcome.fact])


def gate_dataset(bench: Bench) -> None:
    """Assemble the examples, run the quality suites, quarantine rows, and judge the version.

    A set that has its verdicts is left alone; a gate that was killed before them is run again.
    """
    sampled = bench.of_line("samples").select(sample_id="trajectory_id")
    tailored = bench.of_line("tailored").join(sampled, on="sample_id", how="semi")
    if _is_judged(bench, tailored):
        return
    tests = _test_tasks(bench)
    frame = assemble.rows(
        tailored,
        bench.fresh("trajectories", "line_id = ?", [bench.line]),
        bench.fresh("messages"),
        bench.fresh("tool_calls"),
        candidate_of=_candidate_of(bench),
        tools=_tools(bench),
        test_tasks={t.task_id for t in tests},
        test_questions={t.prompt for t in tests},
        count_tokens=_counter(bench),
    )
    verdicts = [validate(frame, suite) for suite in gate.suites(bench.experiment.gate)]
    examples, quarantine = assemble.split(frame, verdicts)
    bench.lake.write("sft_quarantine", quarantine, {"line_id": bench.line})
    version = bench.lake.write(TABLE, examples, {"line_id": bench.line})
    judged = [
        gate.judge(
            verdict,
            bench.experiment.gate,
            table=TABLE,
            version=version,
            n_examples=examples.height,
            n_quarantined=quarantine.height,
        )
        for verdict in verdicts
    ]
    facts: list[Fact] = [*judged]
    if all(suite.passed for suite in judged):
        card = assemble.card(
            examples,
            quarantine,
            tailored.height,
            bench.of_line("tailored_quarantine").join(sampled, on="sample_id", how="semi"),
        )
        facts.append(
            DatasetPublished(
                dataset_id=assemble.dataset_id(examples),
                table_version=version,
                n_examples=examples.height,
                card=card,
            )
        )
    bench.tell(f"dataset/{bench.line}", facts)  # one commit: no verdict without its dataset


def train_adapter(bench: Bench) -> str:
    """Train on the line's newest published dataset; return the adapter's id.

    Raises:
        GateClosed: the newest version of the examples has no passed verdict, it was judged by
            other limits than today's, or the examples are no longer those that were judged.
        BadInput: the line's model has its weights elsewhere.
    """
    if not trains(bench):
        raise BadInput(
            f"model {bench.experiment.model!r}: this release trains the embedded model only; what"
            " passed the gate is in `sft_examples`, for a trainer of your own"
        )
    verdicts = gate.newest_verdicts(bench.of_line("gate_results"))
    training.require_open_gate(verdicts, TABLE, gate.limits_id(bench.experiment.gate))
    examples = bench.of_line(TABLE)
    dataset_id = assemble.dataset_id(examples)
    if dataset_id not in bench.of_line("datasets")["dataset_id"].to_list():
        raise GateClosed(
            f"{TABLE} of line {bench.line!r} changed since its verdict; run `instar gate` again"
        )
    base = f"{MODEL_NAME}@sha256:{model_sha256(model_path())[:32]}"
    config = bench.experiment.train
    if config.seed is None:
        config = config.model_copy(update={"seed": bench.experiment.seed})
    name = training.adapter_id(dataset_id, base, config)
    if name in bench.of_line("adapters")["adapter_id"].to_list():
        return name
    trained = training.train(
        examples,
        dataset_id=dataset_id,
        base=base,
        base_model=base_model(bench),
        folder=bench.lake.root / "adapters",
        root=bench.lake.root,
        config=config,
        progress=lambda step, steps, loss: bench.watch(f"training, loss {loss:.3f}", step, steps),
    )
    bench.tell(f"adapter/{bare(name)}", [trained])
    return name


def trains(bench: Bench) -> bool:
    """Whether an adapter can be trained for the line's model and served with it."""
    return not bench.experiment.model.startswith("openai:")


def base_model(bench: Bench) -> Path:
    """Return the embedded model's trainable form, converted on first use."""
    from pipelines.training.base_model import ensure_base_model

    training.require_training_extra()
    source = model_path()
    folder = bench.lake.root / "models" / f"{MODEL_NAME}-{model_sha256(source)[:12]}"
    return ensure_base_model(source, folder)


def adapter_file(bench: Bench, adapter_id: str) -> Path:
    """Return an adapter's GGUF file.

    Raises:
        BadInput: the lake has no adapter of that id.
    """
    rows = bench.fresh("adapters", "adapter_id = ?", [adapter_id])
    if rows.is_empty():
        raise BadInput(
            f"adapter {adapter_id!r}: the lake has none; see `instar sql 'from adapters'`"
        )
    return bench.lake.root / str(rows["path"][0]) / "adapter.gguf"


def _samples(bench: Bench) -> Iterator[tailoring.Sample]:
    samples = bench.of_line("samples")
    tasks = {t.task_id: t for t in bench.env.tasks("development", bench.experiment.sample.tasks)}
    ids = samples.select("trajectory_id")
    messages = (
        bench.fresh("messages")
        .join(ids, on="trajectory_id")
        .partition_by("trajectory_id", as_dict=True)
    )
    calls = (
        bench.fresh("tool_calls")
        .join(ids, on="trajectory_id")
        .partition_by("trajectory_id", as_dict=True)
    )
    answers = dict(
        bench.fresh("trajectories")
        .join(ids, on="trajectory_id")
        .select("trajectory_id", "answer")
        .iter_rows()
    )
    for row in samples.sort("trajectory_id").iter_rows(named=True):
        name = row["trajectory_id"]
        yield tailoring.Sample(
            trajectory_id=name,
            task=tasks[row["task_id"]],
            answer=answers[name] or "",
            steps=tailoring.agent_steps(messages[name,], calls[name,]),
        )


def _is_judged(bench: Bench, tailored: pl.DataFrame) -> bool:
    """Whether the newest verdicts are those of these trajectories under today's limits."""
    newest = gate.newest_verdicts(bench.of_line("gate_results"))
    rows = {*bench.of_line(TABLE)["sample_id"], *bench.of_line("sft_quarantine")["sample_id"]}
    return (
        set(newest["n_in"]) == {tailored.height}
        and set(newest["limits_id"]) == {gate.limits_id(bench.experiment.gate)}
        and rows == set(tailored["sample_id"])
    )


def _test_tasks(bench: Bench) -> list[Task]:
    return [t for split in SPLITS if split != "development" for t in bench.env.tasks(split)]


def _candidate_of(bench: Bench) -> dict[str, str]:
    """Return harness id → candidate; the seed harness stands for itself."""
    rows = bench.of_line("candidates").select("harness_id", "candidate_id").iter_rows()
    return {bench.seed_bundle().id: "seed", **dict(rows)}


def _tools(bench: Bench) -> str:
    session = bench.env.open(bench.development()[0])
    return json.dumps([tool.as_function() for tool in session.tools], ensure_ascii=False)


def _counter(bench: Bench) -> assemble.CountTokens:
    from pipelines.training.base_model import load_tokenizer
    from pipelines.training.tokens import count_tokens

    tokenizer = load_tokenizer(base_model(bench))
    return lambda messages: count_tokens(tokenizer, messages)
