"""The code location."""

import dagster as dg

from assets import evaluation, evolution, failures, lake, training
from assets.checks import CHECKS
from assets.jobs import JOBS
from assets.resources import ModelServer, Workbench

defs = dg.Definitions(
    assets=[
        lake.events,
        *lake.TABLES,
        failures.failure_labels,
        failures.failure_groups,
        *evolution.ASSETS,
        *training.ASSETS,
        evaluation.cells,
    ],
    asset_checks=CHECKS,
    jobs=JOBS,
    resources={"workbench": Workbench(), "server": ModelServer()},
    # One process: steps share the model, and ten of them start faster than one process does.
    executor=dg.in_process_executor,
)
