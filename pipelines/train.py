"""Train a LoRA adapter on a gated dataset, in a process of its own."""

import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl

from pipelines.training.job import TrainConfig, TrainJob, TrainResult
from warehouse.errors import GateClosed, Unavailable
from warehouse.events.dataset import AdapterTrained
from warehouse.ids import bare, content_id

Progress = Callable[[int, int, float], None]
"""Called with (step, steps, loss)."""


def require_open_gate(verdicts: pl.DataFrame, table: str, limits_id: str) -> None:
    """Let a table version pass only if every suite passed it, by these limits.

    Args:
        verdicts: the rows of `gate_results` on that version.
        table: the table's name, for the error.
        limits_id: what the gate asks for today.

    Raises:
        GateClosed: there is no verdict, one that is not "passed", or one by other limits.
    """
    if verdicts.is_empty():
        raise GateClosed(f"{table} has no gate verdict; run `instar gate` first")
    version = verdicts["version"][0]
    if set(verdicts["limits_id"]) != {limits_id}:
        raise GateClosed(f"{table} was judged by other limits; run `instar gate` again")
    failed = verdicts.filter(~pl.col("passed"))["suite"].to_list()
    if failed:
        raise GateClosed(
            f"{table} version {version} failed the suites {failed}; nothing may train on it"
        )


def adapter_id(dataset_id: str, base: str, config: TrainConfig) -> str:
    """Return the id of the adapter that this training would give."""
    return content_id({"dataset": dataset_id, "base": base, "config": config.model_dump()})


def train(
    examples: pl.DataFrame,
    *,
    dataset_id: str,
    base: str,
    base_model: Path,
    folder: Path,
    root: Path,
    config: TrainConfig,
    progress: Progress,
) -> AdapterTrained:
    """Train on `examples` (`sft_examples`) and publish the adapter under `folder`.

    A killed run leaves its checkpoints in `<folder>/.<id>` and goes on from them; the finished
    adapter is moved into place as a whole.

    Raises:
        Unavailable: the training extra is missing, or the training process failed.
    """
    name = adapter_id(dataset_id, base, config)
    work = folder / f".{bare(name)}"
    work.mkdir(parents=True, exist_ok=True)
    rows = work / "rows.jsonl"
    rows.write_text(
        "".join(
            json.dumps({"messages": json.loads(text)}, ensure_ascii=False) + "\n"
            for text in examples.sort("trajectory_id")["messages"]
        ),
        encoding="utf-8",
    )
    job = TrainJob(
        base=base_model,
        rows=rows,
        work=work / "checkpoints",
        adapter=work / "adapter",
        threads=len(os.sched_getaffinity(0)),
        config=config,
    )
    result = _run(job, work / "job.json", progress)
    target = folder / bare(name)
    if not target.exists():
        (work / "adapter").rename(target)
    shutil.rmtree(work)
    with (target / "adapter_model.safetensors").open("rb") as weights:
        sha256 = hashlib.file_digest(weights, "sha256").hexdigest()
    return AdapterTrained(
        adapter_id=name,
        dataset_id=dataset_id,
        base=base,
        config=config.model_dump(),
        path=target.relative_to(root).as_posix(),
        sha256=sha256,
        losses=result.losses,
        n_steps=result.n_steps,
        duration_s=result.duration_s,
    )


def require_training_extra() -> None:
    """Check that the training packages are installed, without importing them.

    Raises:
        Unavailable: one is missing.
    """
    missing = [
        p for p in ("torch", "transformers", "trl", "peft") if not importlib.util.find_spec(p)
    ]
    if missing:
        raise Unavailable(
            f"training needs {', '.join(missing)}: run `make setup`, or install instar[train]"
        )


def _run(job: TrainJob, path: Path, progress: Progress) -> TrainResult:
    require_training_extra()
    path.write_text(job.model_dump_json(), encoding="utf-8")
    log = path.with_suffix(".log")
    command = [sys.executable, "-m", "pipelines.training.fit", str(path)]
    with (
        log.open("w", encoding="utf-8") as told,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=told, text=True) as process,
    ):
        last = "{}"
        assert process.stdout is not None
        try:
            for line in process.stdout:
                last = line if line.startswith('{"') else last
                told_now = json.loads(last)
                if "loss" in told_now:
                    progress(told_now["step"], told_now["steps"], told_now["loss"])
        finally:
            process.terminate()
    code = process.returncode
    if code != 0 or "n_steps" not in json.loads(last):
        tail = "\n".join(log.read_text(encoding="utf-8").splitlines()[-8:])
        raise Unavailable(f"training ended with exit code {code}; the end of its log:\n{tail}")
    return TrainResult.model_validate_json(last)
