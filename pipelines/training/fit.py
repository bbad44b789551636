"""Train one LoRA adapter: `python -m pipelines.training.fit JOB.json`.

Progress goes to standard output as JSON lines `{"step", "steps", "loss"}`; the last line is the
`TrainResult`. A killed run continues from its last checkpoint when it is started again.
"""

import json
import os
import shutil
import sys
import time
from pathlib import Path
from typing import Any

from pipelines.training.base_model import load_tokenizer
from pipelines.training.gguf_adapter import write_gguf_adapter
from pipelines.training.job import TrainJob, TrainResult
from pipelines.training.tokens import count_tokens


def main(path: str) -> None:
    """Run the job described in a file."""
    job = TrainJob.model_validate_json(Path(path).read_text(encoding="utf-8"))
    os.environ.update(
        OMP_NUM_THREADS=str(job.threads), HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="false"
    )
    _tell(fit(job).model_dump())


def fit(job: TrainJob) -> TrainResult:
    """Train, save the PEFT folder to `job.adapter` and its GGUF twin beside it."""
    import torch

    torch.set_num_threads(job.threads)
    started = time.monotonic()
    trainer, n_trained = _trainer(job)
    trainer.train(resume_from_checkpoint=_last_checkpoint(job.work))
    losses = tuple(
        (int(row["step"]), round(float(row["loss"]), 4))
        for row in trainer.state.log_history
        if "loss" in row
    )
    if any(loss != loss for _, loss in losses):
        raise SystemExit("the loss became NaN; lower the learning rate")
    trainer.save_model(str(job.adapter))
    write_gguf_adapter(job.adapter, job.base, job.adapter / "adapter.gguf")
    return TrainResult(
        losses=losses,
        n_steps=trainer.state.global_step,
        n_rows=len(trainer.train_dataset),
        n_trained_tokens=n_trained,
        duration_s=round(time.monotonic() - started, 2),
    )


def _last_checkpoint(work: Path) -> str | None:
    """Return the newest checkpoint that was written to its end; remove those that were not."""
    from transformers.trainer_utils import get_last_checkpoint

    for folder in work.glob("checkpoint-*"):
        try:  # the trainer writes its state last
            json.loads((folder / "trainer_state.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            shutil.rmtree(folder)
    return get_last_checkpoint(str(work)) if work.is_dir() else None


def _trainer(job: TrainJob) -> tuple[Any, int]:
    import torch
    from datasets import Dataset
    from peft import LoraConfig
    from transformers import AutoModelForCausalLM, PrinterCallback, TrainerCallback
    from trl import SFTConfig, SFTTrainer

    class Progress(TrainerCallback):  # type: ignore[misc]
        def on_log(self, args, state, control, logs=None, **rest):  # type: ignore[no-untyped-def]
            if logs and "loss" in logs:
                loss = float(logs["loss"])
                _tell({"step": state.global_step, "steps": state.max_steps, "loss": loss})

    config = job.config
    tokenizer = load_tokenizer(job.base)
    with job.rows.open(encoding="utf-8") as file:
        rows = [{"messages": json.loads(line)["messages"]} for line in file]
    n_trained = sum(count_tokens(tokenizer, row["messages"])[1] for row in rows)
    model = AutoModelForCausalLM.from_pretrained(job.base, dtype=getattr(torch, config.dtype))
    settings = SFTConfig(
        output_dir=str(job.work),
        per_device_train_batch_size=config.micro_batch,
        gradient_accumulation_steps=config.samples_per_step // config.micro_batch,
        num_train_epochs=config.epochs,
        learning_rate=config.learning_rate,
        lr_scheduler_type=config.schedule,
        warmup_steps=config.warmup_steps,
        weight_decay=config.weight_decay,
        max_grad_norm=config.clip,
        logging_steps=1,
        save_strategy="steps",
        save_steps=config.checkpoint_steps,
        save_total_limit=1,
        report_to=[],
        assistant_only_loss=True,
        max_length=config.max_tokens,
        use_cpu=not torch.cuda.is_available(),
        bf16=False,
        gradient_checkpointing=False,
        packing=False,
        dataloader_num_workers=0,
        disable_tqdm=True,
        seed=config.seed or 0,
    )
    lora = LoraConfig(
        r=config.rank,
        lora_alpha=config.alpha,
        lora_dropout=config.dropout,
        target_modules=config.modules,
        task_type="CAUSAL_LM",
    )
    trainer = SFTTrainer(
        model=model,
        args=settings,
        train_dataset=Dataset.from_list(rows),
        processing_class=tokenizer,
        peft_config=lora,
        callbacks=[Progress()],
    )
    trainer.remove_callback(PrinterCallback)  # it would mix its own lines into the protocol
    return trainer, n_trained


def _tell(value: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1])
