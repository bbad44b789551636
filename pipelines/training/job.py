"""What one training run is told, and what it tells back. Free of torch."""

from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator


class TrainConfig(BaseModel):
    """LoRA hyperparameters. The defaults are the paper's (harness-ceiling App. E).

    `schedule` is a learning-rate schedule of transformers; `modules` are PEFT target modules.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    rank: int = Field(default=32, ge=1)
    alpha: int = Field(default=64, ge=1)
    dropout: float = Field(default=0.05, ge=0, lt=1)
    learning_rate: float = Field(default=1e-4, gt=0)
    schedule: str = "constant"
    warmup_steps: int = Field(default=0, ge=0)
    weight_decay: float = Field(default=0.01, ge=0)
    clip: float = Field(default=1.0, gt=0)
    samples_per_step: int = Field(default=16, ge=1)
    micro_batch: int = Field(default=16, ge=1)
    epochs: float = Field(default=1.0, gt=0)
    max_tokens: int = Field(default=24_576, ge=16)
    modules: str = "all-linear"
    dtype: str = "bfloat16"
    checkpoint_steps: int = Field(default=20, ge=1)
    seed: int | None = Field(default=None, description="null: the experiment's seed")

    @model_validator(mode="after")
    def _whole_batches(self) -> Self:
        if self.samples_per_step % self.micro_batch:
            raise ValueError(
                f"micro_batch {self.micro_batch} does not divide samples_per_step"
                f" {self.samples_per_step}: a step would have other samples than it says"
            )
        return self


class TrainJob(BaseModel):
    """One run: rows as JSON lines of `messages`, a base model folder, a folder for the results."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    base: Path
    rows: Path
    work: Path
    adapter: Path
    threads: int
    config: TrainConfig


class TrainResult(BaseModel):
    """What a finished run reports; `losses` are (step, mean loss since the last report)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    losses: tuple[tuple[int, float], ...]
    n_steps: int
    n_rows: int
    n_trained_tokens: int
    duration_s: float
