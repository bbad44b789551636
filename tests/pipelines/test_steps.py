"""The steps of a line on a real lake with scripted models: what is fresh, held, kept apart."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import polars as pl
import pytest

from harness.messages import ModelReply, ModelRequest
from harness.models import open_host
from harness.models.host import ModelFor
from harness.models.scripted import ScriptedHost, ScriptedModel
from pipelines import flow
from pipelines.settings import Experiment
from pipelines.steps import evolution, internalization, readings
from pipelines.steps import line as lines
from pipelines.steps.bench import Bench
from pipelines.steps.evaluation import cross_evaluate
from pipelines.steps.rollouts import label_failures
from warehouse.errors import BadInput, GateClosed, ModelUnavailable, Unavailable
from warehouse.lake import Lake

SMALL = {
    "line": "t",
    "model": "scripted:clerk",
    "measure": {"tasks": 11, "rollouts": 2},
    "evolve": {"rounds": 1, "candidates": 2},
    "select": {"policy": "paired_k_se", "k": 1},
    "sample": {"tasks": 22, "rollouts": 2},
    "gate": {"min_examples": 1, "max_quarantined_share": 1.0, "max_tokens": 1024},
}


def bench_of(lake: Lake, **changed) -> Bench:
    """Return a bench on the small experiment, with some of it changed."""
    return Bench.open(lake, Experiment.of({**SMALL, **changed}, "test"))


def evolve(bench: Bench) -> None:
    """Run the bench's rounds."""
    with open_host(bench.experiment.model) as host:
        flow.evolve(bench, host)


class Flaky(ScriptedHost):
    """A clerk whose server fails the requests that `fails` picks by their number."""

    def __init__(self, fails) -> None:
        super().__init__("clerk", lanes=2)
        self.fails = fails
        self.asked = 0

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[ModelFor]:
        """See `ModelHost.connect`."""
        host = self

        class Sometimes(ScriptedModel):
            async def complete(self, request: ModelRequest) -> ModelReply:
                host.asked += 1
                if host.fails(host.asked):
                    raise ModelUnavailable("the server went away")
                return await super().complete(request)

        yield lambda lane, adapter: Sometimes("clerk", adapter or host.base_id)


@pytest.fixture(scope="module")
def evolved(tmp_path_factory):
    """A lake with one closed round, for tests that only read it."""
    lake = Lake(tmp_path_factory.mktemp("evolved") / "lake")
    evolve(bench_of(lake))
    return lake


def drawn(lake: Lake, where: str) -> dict[tuple[str, int], int]:
    rows = lake.read("trajectories", where).select("task_id", "rollout", "seed").rows()
    return {(task, rollout): seed for task, rollout, seed in rows}


def test_a_candidate_draws_the_luck_of_the_anchor_that_it_is_judged_against(evolved):
    anchor = drawn(evolved, "purpose = 'anchor' and round = 0")
    assert len(anchor) == 22
    assert drawn(evolved, "purpose = 'candidate' and round = 1") == anchor


def test_the_anchor_after_a_round_is_drawn_afresh(evolved):
    assert evolved.read("rounds")["outcome"].to_list() == ["retained"]
    first = drawn(evolved, "purpose = 'anchor' and round = 0")
    second = drawn(evolved, "purpose = 'anchor' and round = 1")
    assert first.keys() == second.keys()
    assert not set(first.values()) & set(second.values())


def test_rounds_follow_one_another(evolved):
    with pytest.raises(BadInput, match="round 3 cannot begin before round 2 is closed"):
        evolution.open_round(bench_of(evolved), 3)


@pytest.mark.parametrize(
    "changed",
    [
        {"measure": {"tasks": 12, "rollouts": 2}},
        {"measure": {"tasks": 11, "rollouts": 2, "temperature": 0.1}},
        {"seed": 1},
        {"in_flight": 3},
        {"suite": "docqa@1"},
        {"model": "scripted:looper"},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_a_line_goes_on_only_as_it_began(evolved, changed):
    bench = bench_of(evolved, **changed)
    with (
        open_host(bench.experiment.model, {}, bench.experiment.in_flight) as host,
        pytest.raises(BadInput, match="was opened differently"),
    ):
        internalization.sample_best(bench, host)


def test_passing_rollouts_that_may_be_shown_are_of_tasks_that_no_reading_measures(tmp_path):
    lake = Lake(tmp_path / "lake")
    bench = bench_of(lake, evolve={"rounds": 2, "candidates": 2})
    evolve(bench)
    explored = set(lake.read("trajectories", "purpose = 'collect'")["task_id"])
    measured = {task.task_id for task in bench.development()}
    assert len(explored) == 33
    assert not explored & measured
    assert not explored & {task.task_id for task in bench.env.tasks("development", 220)}
    assert set(evolution._passing(bench, 2)["task_id"]) <= explored


def test_where_nothing_passes_nothing_is_looked_for(evolved):
    assert evolved.read("trajectories", "purpose = 'collect' and round = 1").is_empty()


def test_what_the_infrastructure_failed_is_tried_anew_and_the_rest_is_not(tmp_path):
    lake = Lake(tmp_path / "lake")
    bench = bench_of(lake)
    with Flaky(lambda n: n % 9 == 0) as host:
        lines.open_line(bench, host)
        with pytest.raises(Unavailable, match="anchor of round 0: only"):
            readings.measure_anchor(bench, host, 0)
    failed = lake.read("trajectories", "termination_class = 'infra_error'").height
    assert 0 < failed < 22
    assert lake.read("anchors").is_empty()

    with Flaky(lambda n: False) as host:
        readings.measure_anchor(bench, host, 0)
    found = lake.read("trajectories", "termination_class <> 'infra_error'")
    assert (found.height, lake.read("trajectories").height) == (22, 22 + failed)
    anchor = bench.of_line("anchors").row(0, named=True)
    assert (anchor["n_rollouts"], anchor["n_excluded"], anchor["coverage"]) == (22, 0, 1.0)
    assert anchor["session_id"] is None


def test_a_candidate_that_could_not_be_run_is_read_when_it_can(tmp_path):
    lake = Lake(tmp_path / "lake")
    bench = bench_of(lake)
    with Flaky(lambda n: False) as host:
        lines.open_line(bench, host)
        readings.measure_anchor(bench, host, 0)
        evolution.open_round(bench, 1)
        evolution.group_failures(bench, 1)
        evolution.specify(bench, 1)
        evolution.propose(bench, 1)
        readings.check_candidates(bench, host, 1)
        host.fails = lambda n: n % 3 == 0
        with pytest.raises(Unavailable):
            readings.read_candidates(bench, host, 1)
        assert bench.of_line("readings", 1).is_empty()
        host.fails = lambda n: False
        readings.read_candidates(bench, host, 1)
    read = bench.of_line("readings", 1)
    assert read["coverage"].to_list() == [1.0] * bench.of_line("candidates", 1).height
    assert (read["n_fired"] <= read["n_rollouts"]).all()


def test_an_outage_ends_the_run_early(tmp_path):
    lake = Lake(tmp_path / "lake")
    bench = bench_of(lake)
    with Flaky(lambda n: n > 20) as host:
        lines.open_line(bench, host)
        with pytest.raises(Unavailable, match=r"8 rollouts in a row .*the server went away"):
            readings.measure_anchor(bench, host, 0)
    assert 8 <= lake.read("trajectories", "termination_class = 'infra_error'").height < 15


def test_labels_of_one_line_are_not_those_of_another(tmp_path):
    lake = Lake(tmp_path / "lake")
    evolve(bench_of(lake))
    before = lake.read("failure_labels").sort("trajectory_id")
    other = bench_of(lake, line="u", taxonomy={"version": "mine", "budget_share": 0.1})
    evolve(other)
    after = lake.read("failure_labels").join(before, on="trajectory_id", how="semi")
    assert after.sort("trajectory_id").equals(before)
    label_failures(bench_of(lake))
    versions = dict(
        lake.read("failure_labels")
        .join(lake.read("trajectories"), on="trajectory_id")
        .select("line_id", "taxonomy_version")
        .unique()
        .iter_rows()
    )
    assert versions == {"t": "ceiling-1", "u": "mine"}


@pytest.fixture
def sampled(tmp_path):
    """A lake whose line is evolved, sampled and tailored."""
    lake = Lake(tmp_path / "lake")
    bench = bench_of(lake)
    evolve(bench)
    sample(bench)
    return lake


def sample(bench: Bench) -> None:
    """Sample and tailor."""
    with open_host(bench.experiment.model) as host:
        internalization.sample_best(bench, host)
    internalization.tailor_samples(bench)


def words(bench: Bench):
    """Return a token counter that needs no model."""
    return lambda messages: (sum(len(m["content"].split()) for m in messages), 5)


@pytest.fixture
def gate(monkeypatch):
    """The gate, with words for tokens."""
    monkeypatch.setattr(internalization, "_counter", words)
    return internalization.gate_dataset


def test_fewer_sampled_tasks_leave_only_theirs_in_the_set(sampled, gate):
    gate(bench_of(sampled))
    whole = sampled.read("sft_examples")["task_id"].n_unique()
    fewer = bench_of(sampled, sample={"tasks": 11, "rollouts": 2})
    sample(fewer)
    gate(fewer)
    left = sampled.read("sft_examples")
    tasks = {t.task_id for t in fewer.env.tasks("development", 11)}
    assert 0 < left["task_id"].n_unique() < whole
    assert set(left["task_id"]) <= tasks


def test_a_gate_that_closed_opens_when_its_limits_change(sampled, gate):
    closed = bench_of(sampled, gate={**SMALL["gate"], "min_examples": 1_000})
    gate(closed)
    gate(closed)
    assert closed.of_line("datasets").is_empty()
    assert closed.of_line("gate_results").height == 3
    with pytest.raises(GateClosed, match="failed the suites"):
        internalization.train_adapter(closed)
    bench = bench_of(sampled)
    gate(bench)
    assert bench.of_line("datasets").height == 1
    assert bench.of_line("gate_results").filter(pl.col("passed")).height == 3


def test_a_set_without_a_verdict_trains_nothing(sampled):
    with pytest.raises(GateClosed, match="no gate verdict"):
        internalization.train_adapter(bench_of(sampled))


def test_a_set_judged_by_other_limits_trains_nothing(sampled, gate):
    gate(bench_of(sampled))
    with pytest.raises(GateClosed, match="other limits"):
        internalization.train_adapter(bench_of(sampled, gate={**SMALL["gate"], "max_tokens": 900}))


def test_without_an_adapter_the_evolved_harness_is_diagnosed(tmp_path):
    tasks = {"development": 11, "held-out": 13}
    bench = bench_of(Lake(tmp_path / "lake"), cross={"tasks": tasks, "rollouts": 1, "block": 8})
    evolve(bench)
    with open_host(bench.experiment.model) as host:
        cross_evaluate(bench, host, {})
    made = bench.of_line("diagnoses").filter(pl.col("round").is_null())
    assert made["harness_id"].to_list() == [lines.current_harness(bench)]
    assert bench.of_line("cells").height == 4


def test_weights_that_are_elsewhere_are_not_trained(tmp_path):
    bench = bench_of(Lake(tmp_path / "lake"), model="openai:big@http://host:8000/v1")
    assert not internalization.trains(bench)
    with pytest.raises(BadInput, match="trains the embedded model only"):
        internalization.train_adapter(bench)
