"""Shared fixtures."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from warehouse.lake import Lake
from warehouse.log import DeltaEventLog, EventLog, MemoryEventLog


class StepClock:
    """A clock that advances one second per reading, so that tests see the same times."""

    def __init__(self) -> None:
        self.now = datetime(2031, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


@pytest.fixture
def clock() -> StepClock:
    """A deterministic clock."""
    return StepClock()


@pytest.fixture
def lake(tmp_path: Path, clock: StepClock) -> Lake:
    """An empty lake in a temporary folder."""
    return Lake(tmp_path / "lake", clock)


@pytest.fixture(params=["memory", "delta"])
def make_log(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], EventLog]:
    """A factory that reopens the same log, for every implementation."""
    if request.param == "delta":
        return lambda: DeltaEventLog(tmp_path / "events")
    log = MemoryEventLog()
    return lambda: log
