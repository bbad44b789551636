"""Stream `batch/<batch_id>`: a measurement batch, in which alone cells may be compared."""

from typing import Any, Literal

from warehouse.events.base import Fact
from warehouse.events.line import Reading


class BatchOpened(Fact):
    """A serving process starts (or goes on) measuring; one batch with two sessions was resumed."""

    kind: Literal["batch_opened"] = "batch_opened"
    batch_id: str
    session_id: str
    host: str
    model: str
    in_flight: int


class CellMeasured(Fact):
    """One cell of harness × weights × split."""

    kind: Literal["cell_measured"] = "cell_measured"
    batch_id: str
    n_sessions: int
    harness: str
    harness_id: str
    weights: str
    weights_id: str
    split: str
    reading: Reading


class DiagnosisMade(Fact):
    """Which lever the failure composition names, by which branch of the rule, and why."""

    kind: Literal["diagnosis_made"] = "diagnosis_made"
    harness_id: str
    weights_id: str
    split: str
    lever: Literal["harness", "weights", "evidence", "neither", "done"]
    branch: str
    reason: str
    next_command: str
    figures: dict[str, Any]
