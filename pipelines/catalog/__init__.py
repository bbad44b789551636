"""Known repairs: general changes of a harness, each an answer to a failure signal.

Nothing here knows a suite's questions. A repair that needs a tool names it and stands aside where
the environment has none like it. Worked examples are invented, or taken from passing development
rollouts.
"""

from collections.abc import Mapping

from pipelines.catalog import (
    answer_check,
    budget_nudge,
    call_schema,
    opening_search,
    passing_examples,
    repeat_brake,
    restate_task,
    worked_examples,
)
from pipelines.catalog.repair import Repair

REPAIRS: Mapping[str, Repair] = {
    repair.name: repair
    for repair in (
        worked_examples.REPAIR,
        call_schema.REPAIR,
        opening_search.REPAIR,
        answer_check.REPAIR,
        restate_task.REPAIR,
        repeat_brake.REPAIR,
        budget_nudge.REPAIR,
        passing_examples.REPAIR,
    )
}
"""Every repair by name; of two that answer as much, the earlier comes first."""
