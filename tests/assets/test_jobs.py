"""The jobs run, for real, with the scripted model."""

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
}


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


def test_round_keys_go_there_and_back():
    assert parse_round(round_key("main-2", 3)) == ("main-2", 3)


@pytest.mark.parametrize("key", ["main", "main~r", "main~r000", "~r001", "main~x001"])
def test_a_key_of_another_form_is_refused_with_an_example(key):
    with pytest.raises(BadInput, match="main~r001"):
        parse_round(key)
