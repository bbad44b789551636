"""Cross harness × weights × split in one measurement batch. Source: harness-ceiling §5."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import polars as pl
from pydantic import BaseModel, ConfigDict, Field

from environments.base import Environment
from harness.bundle import Bundle
from pipelines.measure import reading
from pipelines.rollout import WorkUnit, interleave, plan
from warehouse.events.batch import CellMeasured


class CrossConfig(BaseModel):
    """How many tasks of each split, how many rollouts of each, and the size of a block of units."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    tasks: Mapping[str, int] = Field(
        default={"development": 48, "held-out": 72, "out-of-domain": 48}
    )
    rollouts: int = Field(default=4, ge=1)
    block: int = Field(default=12, ge=1)


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
    config: CrossConfig,
    *,
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
                reading=reading(mine, labels, planned=config.tasks[cell.split] * config.rollouts),
            )
        )
    return found
