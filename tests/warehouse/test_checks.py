"""The lake's laws: an honest lake keeps them all, and each is broken by what it forbids."""

from collections.abc import Callable
from datetime import UTC, datetime

import polars as pl
import pyarrow as pa
import pytest
from deltalake import write_deltalake

from tests.warehouse import story
from warehouse.events.dataset import DatasetPublished, GateJudged, TrajectoryTailored
from warehouse.events.trajectory import TrajectoryClosed, TrajectoryOpened
from warehouse.lake import Lake
from warehouse.log import SCHEMA
from warehouse.project import checks, projections


def broken(lake: Lake) -> dict[str, int]:
    """Return the number of offending rows by broken law."""
    found = {name: lake.query(law.query).height for name, law in checks().items()}
    return {name: rows for name, rows in found.items() if rows}


def force(lake: Lake, *places: tuple[str, int]) -> None:
    """Write rows behind the log's back, as a broken tool would."""
    row = {"kind": "issue_noted", "version": 1, "event_id": "b2:0", "payload": "{}"}
    row["recorded_at"] = datetime(2031, 1, 1, tzinfo=UTC)
    rows = [row | {"stream_id": stream, "position": position} for stream, position in places]
    table = pa.Table.from_pylist([dict.fromkeys(SCHEMA.names) | r for r in rows], SCHEMA)
    write_deltalake(str(lake.log.root), table, mode="append")


def gate(lake: Lake, **told: object) -> None:
    """Judge another version of the examples, publish it, and train on it."""
    judged = {
        "table": "sft_examples",
        "table_version": 2,
        "suite": "contract",
        "passed": True,
        "n_in": 1,
        "n_quarantined": 0,
        "failed_expectations": (),
        "limits_id": "b2:limits",
    }
    published = DatasetPublished(dataset_id="b2:second", table_version=2, n_examples=1, card={})
    facts = [GateJudged.model_validate(judged | told), published]
    lake.append(story.of_line("dataset/again", facts))
    lake.append(story.adapter("b2:second", "b2:second"))


def example(lake: Lake, sample_id: str) -> None:
    """Put an example that rests on `sample_id` into the training set."""
    frame = story.EXAMPLES.with_columns(sample_id=pl.lit(sample_id))
    lake.write("sft_examples", frame, {"line_id": story.LINE})


def tailored(lake: Lake, replay_id: str, seed_harness_id: str = story.SEED) -> None:
    """Say that a replay shows a rewritten trajectory to be good."""
    fact = TrajectoryTailored(
        sample_id="sample-3",
        replay_id=replay_id,
        seed_harness_id=seed_harness_id,
        edits=(),
        checks=(),
        replay_digest="b2:d",
        replay_score=1.0,
    )
    lake.append(story.of_line("dataset/again", [fact]))


def unopened(lake: Lake, opened: int, closed: int, *, late: bool = False) -> None:
    """Append a trajectory that opens and closes so many times."""
    first = story.rollout("odd")
    start = next(e.fact for e in first if isinstance(e.fact, TrajectoryOpened))
    end = next(e.fact for e in first if isinstance(e.fact, TrajectoryClosed))
    middle = [e.fact for e in first if e.fact not in (start, end)]
    facts = [*[start] * opened, *middle, *[end] * closed]
    facts = [*middle[:1], start, *middle[1:], end] if late else facts
    lake.append(story.of_line("trajectory/odd", facts))


def rollout(lake: Lake, *given: object, **opened: object) -> None:
    lake.append(story.rollout(*given, **opened))


BREAKS: list[tuple[str, str, Callable[[Lake], None]]] = [
    ("streams_are_dense", "a gap", lambda lake: force(lake, ("s/x", 0), ("s/x", 2))),
    ("streams_are_dense", "a double", lambda lake: force(lake, ("s/x", 0), ("s/x", 0))),
    ("streams_are_dense", "both", lambda lake: force(lake, ("s/x", 0), ("s/x", 0), ("s/x", 2))),
    ("streams_are_dense", "a late start", lambda lake: force(lake, ("s/x", 1))),
    ("streams_are_dense", "below 0", lambda lake: force(lake, ("s/x", -1), ("s/x", 0))),
    ("books_balance", "a record too few", lambda lake: lake.append(story.source("b", n_loaded=0))),
    ("books_balance", "a record too many", lambda lake: lake.append(story.source("b", n_loaded=2))),
    ("harnesses_are_recorded", "unknown", lambda lake: rollout(lake, "odd", harness_id="b2:x")),
    ("harnesses_are_recorded", "none", lambda lake: rollout(lake, "odd", harness_id=None)),
    ("trajectories_open_and_close", "never opened", lambda lake: unopened(lake, 0, 1)),
    ("trajectories_open_and_close", "opened twice", lambda lake: unopened(lake, 2, 1)),
    ("trajectories_open_and_close", "opened late", lambda lake: unopened(lake, 1, 1, late=True)),
    ("trajectories_open_and_close", "never closed", lambda lake: unopened(lake, 1, 0)),
    ("trajectories_open_and_close", "closed twice", lambda lake: unopened(lake, 1, 2)),
    *(
        (
            "decisions_read_development_only",
            f"{purpose} on {split}",
            lambda lake, p=purpose, s=split: rollout(lake, "odd", p, split=s),
        )
        for purpose, split in [
            ("anchor", "held-out"),
            ("candidate", "out-of-domain"),
            ("collect", "held-out"),
            ("smoke", "held-out"),
            ("replay", "held-out"),
            ("anchor", None),
        ]
    ),
    ("training_reads_collected_only", "an anchor", lambda lake: example(lake, "anchor-1")),
    ("training_reads_collected_only", "an import", lambda lake: example(lake, "imported-1")),
    ("training_reads_collected_only", "a held-out cell", lambda lake: example(lake, "cell-1")),
    ("training_reads_collected_only", "nobody's", lambda lake: example(lake, "nowhere")),
    ("tailored_replays_pass", "no replay", lambda lake: tailored(lake, "nowhere")),
    ("tailored_replays_pass", "no replay but a sample", lambda lake: tailored(lake, "sample-2")),
    (
        "tailored_replays_pass",
        "another harness",
        lambda lake: tailored(lake, "replay-1", story.EVOLVED),
    ),
    (
        "tailored_replays_pass",
        "a lower score",
        lambda lake: (rollout(lake, "low", "replay", score=0.9), tailored(lake, "low")),
    ),
    (
        "adapters_trained_on_passed_versions",
        "no dataset",
        lambda lake: lake.append(story.adapter("b2:odd", "b2:nowhere")),
    ),
    (
        "adapters_trained_on_passed_versions",
        "a refused version",
        lambda lake: gate(lake, passed=False),
    ),
    (
        "adapters_trained_on_passed_versions",
        "a version nobody judged",
        lambda lake: gate(lake, table_version=3),
    ),
    (
        "adapters_trained_on_passed_versions",
        "a verdict on another table",
        lambda lake: gate(lake, table="tailored"),
    ),
    (
        "adapters_trained_on_passed_versions",
        "one suite of several refused",
        lambda lake: (
            gate(lake),
            lake.append(story.of_line("dataset/third", [_refusal()])),
        ),
    ),
]


def _refusal() -> GateJudged:
    return GateJudged(
        table="sft_examples",
        table_version=2,
        suite="leakage",
        passed=False,
        n_in=1,
        n_quarantined=1,
        failed_expectations=("the task is no test task",),
        limits_id="b2:limits",
    )


def test_an_honest_lake_keeps_every_law(told: Lake):
    assert broken(told) == {}
    told.refresh()
    assert broken(told) == {}


def test_an_empty_lake_keeps_every_law(lake: Lake):
    assert broken(lake) == {}


def test_every_law_is_broken_by_something():
    assert {law for law, _, _ in BREAKS} == set(checks())


@pytest.mark.parametrize(
    ("law", "offend"),
    [(law, offend) for law, _, offend in BREAKS],
    ids=[f"{law}: {how}" for law, how, _ in BREAKS],
)
def test_a_law_is_broken_by_what_it_forbids(told: Lake, law: str, offend: Callable[[Lake], None]):
    offend(told)
    assert broken(told) == {law: 1}


@pytest.mark.parametrize(
    "allow",
    [
        lambda lake: rollout(lake, "more", "cross", split="out-of-domain"),
        lambda lake: rollout(lake, "more", "import", source="import", harness_id=None, split=None),
        lambda lake: example(lake, "sample-2"),
        gate,
        lambda lake: lake.append(story.source("b")),
        lambda lake: rollout(lake, "more", "anchor", score=0.0),
    ],
    ids=["cells on any split", "imports", "a sample", "a passed version", "a book", "a failure"],
)
def test_laws_forbid_no_more(told: Lake, allow: Callable[[Lake], None]):
    allow(told)
    assert broken(told) == {}


@pytest.mark.parametrize("name", projections())
def test_grains_do_not_repeat(told: Lake, name: str):
    grain = ", ".join(f'"{column}"' for column in projections()[name].grain)
    repeated = told.query(f'select {grain} from "{name}" group by all having count(*) > 1')
    assert repeated.is_empty()
    assert told.read(name).height, "the story has a row of every table"
