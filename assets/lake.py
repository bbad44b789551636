"""events → tables: one asset per file in `sql/tables`."""

from typing import Any

import dagster as dg

from assets.resources import Workbench
from warehouse.lake import Lake
from warehouse.project import Projection, projections

DECIDED = frozenset(
    {
        "adapters",
        "anchors",
        "candidate_checks",
        "candidates",
        "cells",
        "datasets",
        "diagnoses",
        "evidence_packages",
        "gate_results",
        "readings",
        "rounds",
        "specs",
        "tailored",
        "tailored_quarantine",
        "verdicts",
    }
)
"""Tables whose facts a stage decides; that stage's asset projects them."""


def table_metadata(lake: Lake, name: str) -> dict[str, Any]:
    """Return what every asset reports: rows, bytes, version of its table."""
    files = lake.store.files(name)
    rows = lake.query(f'select count(*) as n from "{name}"')["n"][0]
    return {
        "dagster/row_count": int(rows),
        "table_version": lake.store.version(name) if lake.store.exists(name) else 0,
        "bytes": sum(_size(file) for file in files),
    }


def _size(path: str) -> int:
    from pathlib import Path

    return Path(path).stat().st_size


def _asset(projection: Projection) -> dg.AssetsDefinition:
    @dg.asset(
        name=projection.name,
        deps=list(projection.deps),
        group_name="lake",
        kinds={"duckdb", "sql", "parquet"},
        description=projection.description,
        code_version=projection.code_id,
    )
    def project(workbench: Workbench) -> dg.MaterializeResult[None]:
        lake = workbench.open_lake()
        lake.refresh([projection.name])
        return dg.MaterializeResult(metadata=table_metadata(lake, projection.name))

    return project


@dg.asset(
    group_name="lake",
    deps=["rollouts"],
    kinds={"delta"},
    description="The append-only event log; the tables of `sql/tables` are rebuilt from it.",
)
def events(workbench: Workbench) -> dg.MaterializeResult[None]:
    """Report the log's size; the facts are appended by whoever does something."""
    lake = workbench.open_lake()
    rows = lake.query("select count(*) as n from events")["n"][0]
    return dg.MaterializeResult(
        metadata={"dagster/row_count": int(rows), "table_version": lake.log.version()}
    )


TABLES = [_asset(p) for name, p in projections().items() if name not in DECIDED]
