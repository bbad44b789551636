"""The asset graph, pinned: what exists, what depends on what, what starts it."""

from collections.abc import Iterator

import dagster as dg

from assets.definitions import defs
from warehouse.project import checks, projections
from warehouse.tables import STAGE_TABLES


def _lines() -> Iterator[str]:
    graph = defs.resolve_asset_graph()
    for key in sorted(graph.get_all_asset_keys(), key=lambda k: k.to_user_string()):
        node = graph.get(key)
        parents = ", ".join(sorted(parent.to_user_string() for parent in node.parent_keys))
        partitions = f" by {node.partitions_def.name}" if node.partitions_def else ""
        yield f"{node.group_name}/{key.to_user_string()}{partitions} <- {parents}"
    for check in sorted(graph.asset_check_keys, key=str):
        yield f"check {check.asset_key.to_user_string()}:{check.name}"
    for job in sorted(defs.resolve_all_job_defs(), key=lambda job: job.name):
        if not job.name.startswith("__"):
            steps = sorted(k.to_user_string() for k in job.asset_layer.executable_asset_keys)
            yield f"job {job.name}: {', '.join(steps)}"


def test_the_graph_is_the_pinned_one(snapshot):
    assert "\n".join(_lines()) == snapshot


def test_every_table_is_an_asset_of_its_name():
    keys = {k.to_user_string() for k in defs.resolve_asset_graph().get_all_asset_keys()}
    assert {*projections(), *STAGE_TABLES, "events", "rollouts"} == keys


def test_every_asset_is_described():
    graph = defs.resolve_asset_graph()
    bare = [k for k in graph.get_all_asset_keys() if not graph.get(k).description]
    assert bare == []


def test_every_law_is_a_check():
    names = {check.name for check in defs.resolve_asset_graph().asset_check_keys}
    assert set(checks()) <= names


def test_definitions_load():
    dg.Definitions.validate_loadable(defs)
