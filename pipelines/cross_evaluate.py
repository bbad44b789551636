"""Cross harness × weights × split in one measurement batch. Source: harness-ceiling §5."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import polars as pl
from pydantic import BaseModel, ConfigDict, Field, PositiveInt, field_validator
from pydantic_core import PydanticCustomError

from environments.base import SPLITS, Environment
from harness.bundle import Bundle
from pipelines.measure import reading
from pipelines.rollout import WorkUnit, interleave, plan
from warehouse.events.batch import CellMeasured


class CrossConfig(BaseModel):
    """How many tasks of each split, how many rollouts of each, and the size of a block of units.

    `development` is always among the splits: the diagnosis reads it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    tasks: Mapping[str, PositiveInt] = Field(
        default={"development": 48, "held-out": 72, "out-of-domain": 48}
    )
    rollouts: int = Field(default=4, ge=1)
    block: int = Field(default=12, ge=1)

    @field_validator("tasks")
    @classmethod
    def _splits(cls, tasks: Mapping[str, int]) -> Mapping[str, int]:
        """Refuse splits that no environment has, and a crossing that the diagnosis cannot read."""
        unknown = [split for split in tasks if split not in SPLITS]
        if unknown:
            raise PydanticCustomError(
                "unknown_split", f"there is no split {unknown[0]!r}: choose of {', '.join(SPLITS)}"
            )
        if "development" not in tasks:
            raise PydanticCustomError(
                "no_development", "'development' is missing, and the diagnosis reads it"
            )
        return tasks


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell: names for people, ids for lineage. `adapter` None is the bare base model."""

    harness: str
    bundle: Bundle
    weights: str
    adapter: str | None
    split: str


def cells(
    harnesses: Mapping[str, Bundle], weights: Mapping[str, str | None], config: CrossConfig
) -> list[Cell]:
    """Return every combination of harness, weights and split."""
    return [
        Cell(harness, bundle, name, adapter, split)
        for (harness, bundle), (name, adapter), split in product(
            harnesses.items(), weights.items(), config.tasks
        )
    ]


def units(
    planned: Sequence[Cell],
    env: Environment,
    config: CrossConfig,
    *,
    seed: int,
    temperature: float,
    line_id: str,
    batch_id: str,
) -> list[WorkUnit]:
    """Return all cells' work, interleaved; the cells share tasks and sampling seeds."""
    return interleave(
        [
            plan(
                env.tasks(cell.split, config.tasks[cell.split]),
                cell.bundle,
                rollouts=config.rollouts,
                seed=seed,
                purpose="cross",
                temperature=temperature,
                adapter=cell.adapter,
                line_id=line_id,
                batch_id=batch_id,
            )
            for cell in planned
        ],
        config.block,
    )


def measure(
    planned: Sequence[Cell],
    trajectories: pl.DataFrame,
    labels: pl.DataFrame,
    signals: pl.DataFrame,
    config: CrossConfig,
    *,
    repeats: int,
    base_id: str,
    batch_id: str,
    n_sessions: int,
) -> list[CellMeasured]:
    """Return one fact per cell from the batch's trajectories."""
    found = []
    for cell in planned:
        weights_id = cell.adapter or base_id
        mine = trajectories.filter(
            (pl.col("harness_id") == cell.bundle.id)
            & (pl.col("weights_id") == weights_id)
            & (pl.col("split") == cell.split)
        )
        found.append(
            CellMeasured(
                batch_id=batch_id,
                n_sessions=n_sessions,
                harness=cell.harness,
                harness_id=cell.bundle.id,
                weights=cell.weights,
                weights_id=weights_id,
                split=cell.split,
                reading=reading(
                    mine,
                    labels,
                    signals,
                    planned=config.tasks[cell.split] * config.rollouts,
                    repeats=repeats,
                ),
            )
        )
    return found
