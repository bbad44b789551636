"""A small honest lake: one line from seed harness to trained adapter, and one imported file."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl

from warehouse.events import Event, Stream
from warehouse.events.base import Fact, Purpose
from warehouse.events.batch import BatchOpened, CellMeasured, DiagnosisMade
from warehouse.events.bundle import BundleCaptured
from warehouse.events.dataset import (
    AdapterTrained,
    Check,
    DatasetPublished,
    Edit,
    GateJudged,
    TrajectoryRefused,
    TrajectoryTailored,
)
from warehouse.events.line import (
    AnchorMeasured,
    CandidateChecked,
    CandidateJudged,
    CandidateProposed,
    CandidateRead,
    EvidencePackaged,
    HarnessRetained,
    LineOpened,
    Manifest,
    Reading,
    RoundClosed,
    RoundOpened,
    SpecWritten,
)
from warehouse.events.source import IssueNoted, SourceLoaded
from warehouse.events.trajectory import (
    Delivered,
    HarnessFired,
    MessageAdded,
    ModelCalled,
    ScoreCheck,
    Scored,
    ToolCalled,
    ToolReturned,
    TrajectoryClosed,
    TrajectoryOpened,
)
from warehouse.lake import Lake

LINE = "line-1"
SEED, EVOLVED = "b2:seed", "b2:evolved"
EXAMPLES_VERSION = 1


class Clock:
    """A clock that advances one second per reading."""

    def __init__(self) -> None:
        self.now = datetime(2031, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


def reading(mean: float) -> Reading:
    """Return a reading in which nothing but the mean matters."""
    return Reading(
        m=2,
        n_tasks=4,
        n_rollouts=8,
        n_excluded=0,
        coverage=1.0,
        mean=mean,
        sd=0.05,
        delivery=1.0,
        quality=mean,
        healthy=mean,
        F1=0.0,
        F2=0.0,
        F3=0.0,
        F4=1 - mean,
        repeated_call=0.0,
        turns=2.0,
        input_tokens=100.0,
        output_tokens=20.0,
    )


def rollout(
    name: str,
    purpose: Purpose = "collect",
    *,
    score: float = 1.0,
    round: int | None = None,
    **opened: Any,
) -> list[Event]:
    """Return one whole trajectory: a question, a search, an answer, a score."""
    given = {
        "source": "instar",
        "format": "instar",
        "suite": "docqa",
        "task_id": "task-1",
        "family": "lookup",
        "split": "development",
        "harness_id": SEED,
        "weights_id": "base",
        "model": "scripted",
        "max_turns": 4,
    }
    facts: list[Fact] = [
        TrajectoryOpened.model_validate(given | opened),
        MessageAdded(
            turn=0, role="user", role_raw="user", author="task", content="How tall is it?"
        ),
        ModelCalled(turn=1, response_key="r1", model="scripted", finish_reason="stop"),
        MessageAdded(
            turn=1, role="assistant", role_raw="assistant", author="model", content="search"
        ),
        ToolCalled(
            turn=1,
            call_key="c1",
            name="search",
            arguments_raw='{"q": "tall"}',
            arguments_json='{"q": "tall"}',
            arguments_state="object",
        ),
        ToolReturned(
            turn=1,
            call_key="c1",
            env_output="it is 12 m tall",
            agent_view="it is 12 m tall",
            ok=True,
        ),
        ToolCalled(
            turn=1,
            call_key="c2",
            name="scan",
            arguments_raw="",
            arguments_json="{}",
            arguments_state="empty",
        ),
        ToolReturned(
            turn=1, call_key="c2", env_output=None, agent_view=None, ok=False, error="bad_arguments"
        ),
        HarnessFired(turn=1, component="brake", hook="after_tool", effect="changed", tag="sees"),
        Delivered(answer="12 m"),
        TrajectoryClosed(termination_raw="submitted", termination_class="success", duration_s=1.5),
        Scored(
            scorer="docqa/1",
            value_num=score,
            checks=(ScoreCheck(name="exact", passed=score == 1.0),),
        ),
    ]
    context: dict[str, Any] = {} if purpose == "import" else {"line_id": LINE, "round": round}
    return list(Stream(f"trajectory/{name}", Clock(), purpose=purpose, **context).all(facts))


def of_line(stream_id: str, facts: Iterable[Fact], round: int | None = None) -> list[Event]:
    """Return facts that the line's steps tell in one of their streams."""
    return list(Stream(stream_id, Clock(), line_id=LINE, round=round).all(facts))


def evolution() -> list[Event]:
    """Return one round of the line, in which a candidate is retained."""
    manifest = Manifest(
        title="Brake repeats",
        answers=("group-1",),
        pattern="F3 | repeated_call",
        root_cause="it loops",
        predicted_fix="it stops",
        why_this_component="it sees every call",
        tag="sees",
        fires="brake",
        rollback="no firing",
    )
    measured: dict[str, Any] = {"batch_id": f"{LINE}~r001", "session_id": "host#1"}
    events = Stream(f"line/{LINE}", Clock(), line_id=LINE)
    told: list[tuple[int | None, Fact]] = [
        (
            None,
            LineOpened(
                suite="docqa",
                seed_harness_id=SEED,
                model="scripted",
                weights_id="base",
                proposer="catalog",
                policy="strict",
                seed=0,
                measure={"tasks": 2, "rollouts": 1, "temperature": 0.7, "in_flight": 1},
            ),
        ),
        (0, AnchorMeasured(harness_id=SEED, reading=reading(0.25), **measured)),
        (1, RoundOpened(harness_id=SEED)),
        (1, EvidencePackaged(package_id="package-1", package={"mean": 0.25})),
        (
            1,
            SpecWritten(
                spec_id="spec-1", package_id="package-1", proposer="catalog", spec={"edit": "brake"}
            ),
        ),
        (
            1,
            CandidateProposed(
                candidate_id="candidate-1",
                spec_id="spec-1",
                harness_id=EVOLVED,
                parent_id=SEED,
                files=("middleware/brake.py",),
                manifest=manifest,
            ),
        ),
        (
            1,
            CandidateChecked(
                candidate_id="candidate-1", check="smoke", passed=True, detail="ended"
            ),
        ),
        (
            1,
            CandidateRead(
                candidate_id="candidate-1",
                harness_id=EVOLVED,
                reading=reading(0.75),
                n_fired=8,
                **measured,
            ),
        ),
        (
            1,
            CandidateJudged(
                candidate_id="candidate-1",
                accepted=True,
                retained=True,
                outcome="accepted",
                reason="better by more than noise",
                policy="strict",
                figures={"difference": 0.5, "standard_error": 0.1, "resolvable": 0.2},
            ),
        ),
        (1, HarnessRetained(harness_id=EVOLVED, candidate_id="candidate-1")),
        (1, AnchorMeasured(harness_id=EVOLVED, reading=reading(0.7), **measured)),
        (1, RoundClosed(harness_id=EVOLVED, outcome="retained", reason="the best accepted")),
        (
            1,
            DiagnosisMade(
                harness_id=EVOLVED,
                weights_id="base",
                split="development",
                lever="weights",
                branch="capacity",
                reason="F4 leads",
                next_command="instar tailor",
                figures={"F4": 0.3},
            ),
        ),
    ]
    return [events.add(fact).model_copy(update={"round": round}) for round, fact in told]


def internalization() -> list[Event]:
    """Return how samples became examples, a dataset and an adapter."""
    edit = Edit(position=3, action="drop", reason="hint", before="hint", after=None)
    check = Check(name="replay", passed=True)
    suites = ("contract", "conversation")
    return [
        *of_line(
            f"dataset/{LINE}",
            [
                TrajectoryTailored(
                    sample_id="sample-1",
                    replay_id="replay-1",
                    seed_harness_id=SEED,
                    edits=(edit,),
                    checks=(check,),
                    replay_digest="b2:digest",
                    replay_score=1.0,
                ),
                TrajectoryRefused(
                    sample_id="sample-2",
                    replay_id=None,
                    edits=(),
                    checks=(check.model_copy(update={"passed": False}),),
                    reason="infeasible: no such tool",
                ),
                *(
                    GateJudged(
                        table="sft_examples",
                        table_version=EXAMPLES_VERSION,
                        suite=suite,
                        passed=True,
                        n_in=1,
                        n_quarantined=0,
                        failed_expectations=(),
                        limits_id="b2:limits",
                    )
                    for suite in suites
                ),
                DatasetPublished(
                    dataset_id="b2:dataset",
                    table_version=EXAMPLES_VERSION,
                    n_examples=1,
                    card={"n_tasks": 1},
                ),
            ],
        ),
        *adapter("b2:adapter", "b2:dataset"),
    ]


def adapter(adapter_id: str, dataset_id: str) -> list[Event]:
    """Return the training of one adapter."""
    trained = AdapterTrained(
        adapter_id=adapter_id,
        dataset_id=dataset_id,
        base="model@sha256:0",
        config={"r": 16},
        path=f"adapters/{adapter_id}",
        sha256="0",
        losses=((1, 0.6), (2, 0.1)),
        n_steps=2,
        duration_s=3.0,
    )
    return of_line(f"adapter/{adapter_id}", [trained])


def measurement() -> list[Event]:
    """Return one batch of cells."""
    batch = f"{LINE}~cells"
    opened = BatchOpened(
        batch_id=batch, session_id="host#2", host="host", model="scripted", in_flight=2
    )
    cells = [
        CellMeasured(
            batch_id=batch,
            n_sessions=1,
            harness="seed",
            harness_id=SEED,
            weights=weights,
            weights_id=weights,
            split=split,
            reading=reading(0.5),
        )
        for weights in ("base", "adapter")
        for split in ("development", "held-out")
    ]
    return of_line(f"batch/{batch}", [opened, *cells])


def source(
    path: str = "runs.jsonl", *, n_loaded: int = 1, issues: Sequence[str] = ()
) -> list[Event]:
    """Return the book of an imported file of two records, one of them skipped."""
    noted = [
        IssueNoted(severity="warning", code=code, location=f"{path}:1", message="noted")
        for code in issues
    ]
    loaded = SourceLoaded(
        sha256="ab" * 32,
        path=path,
        format="chat",
        producer="somebody",
        size_bytes=10,
        complete=True,
        n_records=2,
        n_loaded=n_loaded,
        n_quarantined=0,
        n_skipped=1,
        n_trajectories=n_loaded,
        n_events=12,
    )
    return list(Stream(f"source/{path}", lambda: None).all([*noted, loaded]))


def rollouts() -> list[Event]:
    """Return the line's trajectories and one that was imported."""
    units = [
        rollout("anchor-1", "anchor", round=0, score=0.0),
        rollout("reading-1", "candidate", round=1, harness_id=EVOLVED, candidate_id="candidate-1"),
        rollout("sample-1", harness_id=EVOLVED),
        rollout("sample-2", harness_id=EVOLVED, task_id="task-2"),
        rollout("replay-1", "replay", replay_of="sample-1"),
        rollout("cell-1", "cross", split="held-out", task_id="task-9"),
        rollout(
            "imported-1", "import", source="import", format="chat", split=None, harness_id=None
        ),
    ]
    return [event for unit in units for event in unit]


def bundles() -> list[Event]:
    """Return the harnesses that ran."""
    return [
        event
        for harness_id, files in [
            (SEED, {"harness.yaml": "v: 1"}),
            (EVOLVED, {"harness.yaml": "v: 1", "middleware/brake.py": "def brake(): ...\n"}),
        ]
        for event in of_line(
            f"bundle/{harness_id}", [BundleCaptured(harness_id=harness_id, files=files)]
        )
    ]


def events() -> list[Event]:
    """Return every event of the story."""
    return [
        *bundles(),
        *rollouts(),
        *evolution(),
        *internalization(),
        *measurement(),
        *source(issues=["unknown_role"]),
    ]


EXAMPLES = pl.DataFrame(
    {
        "trajectory_id": ["replay-1"],
        "line_id": [LINE],
        "sample_id": ["sample-1"],
        "task_id": ["task-1"],
        "family": ["lookup"],
        "harness_id": [EVOLVED],
        "candidate_id": ["candidate-1"],
        "messages": ['[{"role": "user", "content": "How tall is it?"}]'],
        "tools": ["[]"],
        "n_tokens": [20],
        "n_trained_tokens": [5],
    }
)
GROUPS = pl.DataFrame(
    {
        "group_id": ["group-1"],
        "line_id": [LINE],
        "round": [1],
        "harness_id": [SEED],
        "pattern": ["F3 | repeated_call"],
        "label": ["F3"],
        "signal": ["repeated_call"],
        "n_trajectories": [1],
        "n_tasks": [1],
        "recurring": [False],
        "examples": [["anchor-1"]],
        "suspected_surface": ["middleware"],
        "failed_checks": [["exact"]],
    }
)
LABELS = pl.DataFrame(
    {
        "trajectory_id": ["anchor-1", "sample-1", "sample-2"],
        "label": ["F4", "healthy", "healthy"],
        "signal": ["none", "score", "score"],
        "evidence": ["no process signal fired", "score 1.0", "score 1.0"],
        "taxonomy_version": ["ceiling-1"] * 3,
        "labeller": ["rules"] * 3,
    }
)


def tell(root: Path) -> Lake:
    """Return a lake that holds the whole story."""
    lake = Lake(root, Clock())
    lake.append(events())
    lake.write("failure_labels", LABELS)
    lake.write("failure_groups", GROUPS, {"line_id": LINE, "round": 1})
    version = lake.write("sft_examples", EXAMPLES, {"line_id": LINE})
    assert version == EXAMPLES_VERSION
    return lake
