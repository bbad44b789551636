"""Data-quality suites over frames, with Great Expectations: which rows break which expectation."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl


@dataclass(frozen=True, slots=True)
class Expectation:
    """One expectation: a name that people read, its Great Expectations type, its arguments."""

    name: str
    kind: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Suite:
    """A named list of expectations over one frame."""

    name: str
    expectations: Sequence[Expectation]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a suite found.

    `rows` maps a row number to the expectations it breaks. `batch` names expectations that failed
    without pointing at rows, or that could not be evaluated: these are failures of the whole batch.
    """

    suite: str
    n_rows: int
    rows: Mapping[int, Sequence[str]] = field(default_factory=dict)
    batch: Sequence[str] = ()


ROW = "_row"


def validate(frame: pl.DataFrame, suite: Suite) -> Verdict:
    """Run a suite over a frame.

    The pandas engine is used because it alone names every bad row; only the columns that the suite
    looks at are handed over.
    """
    os.environ.setdefault("GX_ANALYTICS_ENABLED", "false")
    import great_expectations as gx

    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = {"globally": False}
    built = [
        getattr(gx.expectations, e.kind)(**e.arguments, meta={"name": e.name})
        for e in suite.expectations
    ]
    batch = (
        context.data_sources.add_pandas("frames")
        .add_dataframe_asset("frame")
        .add_batch_definition_whole_dataframe("whole")
    )
    definition = context.validation_definitions.add(
        gx.ValidationDefinition(
            name=suite.name,
            data=batch,
            suite=context.suites.add(gx.ExpectationSuite(name=suite.name, expectations=built)),
        )
    )
    columns = sorted(
        {
            value
            for e in suite.expectations
            for key, value in e.arguments.items()
            if key in {"column", "column_A", "column_B"} and value in frame.columns
        }
    )
    rows = frame.with_row_index(ROW).select(ROW, *columns).to_pandas()
    result = definition.run(
        batch_parameters={"dataframe": rows},
        result_format={"result_format": "COMPLETE", "unexpected_index_column_names": [ROW]},
    )
    return _verdict(suite, frame.height, result.results)


def _verdict(suite: Suite, n_rows: int, results: Sequence[Any]) -> Verdict:
    bad: dict[int, list[str]] = {}
    batch: list[str] = []
    for result in results:
        name = result.expectation_config.meta["name"]
        if _raised(result.exception_info or {}):
            batch.append(f"{name} (could not be evaluated)")
            continue
        listed = (result.result or {}).get("unexpected_index_list") or []
        for row in listed:
            bad.setdefault(int(row[ROW]), []).append(name)
        if not result.success and not listed:
            batch.append(name)
    return Verdict(suite.name, n_rows, bad, tuple(batch))


def _raised(info: Mapping[str, Any]) -> bool:
    if "raised_exception" in info:
        return bool(info["raised_exception"])
    return any(bool(part.get("raised_exception")) for part in info.values())
