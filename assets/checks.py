"""Asset checks: the lake's laws in `sql/checks`, and the grain of every projected table."""

import dagster as dg

from assets.resources import Workbench
from warehouse.project import Projection, checks, projections


def _law(law: Projection) -> dg.AssetChecksDefinition:
    @dg.asset_check(
        name=law.name,
        asset=law.deps[0],
        additional_deps=list(law.deps[1:]),
        description=law.description,
    )
    def holds(workbench: Workbench) -> dg.AssetCheckResult:
        broken = workbench.open_lake().query(law.query)
        return dg.AssetCheckResult(
            passed=broken.is_empty(),
            metadata={"rows": broken.height, "first": dg.MetadataValue.json(_first(broken))},
        )

    return holds


def _grain(projection: Projection) -> dg.AssetChecksDefinition:
    columns = ", ".join(f'"{column}"' for column in projection.grain)
    repeated = (
        f'select {columns} from "{projection.name}" group by {columns} having count(*) > 1 limit 5'
    )

    @dg.asset_check(
        name=f"{projection.name}_grain",
        asset=projection.name,
        description=f"One row per {', '.join(projection.grain)}.",
    )
    def unique(workbench: Workbench) -> dg.AssetCheckResult:
        broken = workbench.open_lake().query(repeated)
        return dg.AssetCheckResult(
            passed=broken.is_empty(), metadata={"first": dg.MetadataValue.json(_first(broken))}
        )

    return unique


def _first(frame: object) -> list[dict[str, str]]:
    import polars as pl

    assert isinstance(frame, pl.DataFrame)
    return [{key: str(value) for key, value in row.items()} for row in frame.head(5).to_dicts()]


CHECKS = [*map(_law, checks().values()), *map(_grain, projections().values())]
