"""Ask for the answer before the budget is gone."""

from pipelines.catalog.repair import Changes, Context, Repair, add_middleware


def apply(context: Context) -> Changes | None:
    """Add the component, naming the tool that delivers."""
    delivering = next((tool.name for tool in context.tools if tool.delivers), None)
    if delivering is None:
        return None
    text = f"This is one of the last turns: call {delivering} now."
    return add_middleware(context.bundle, "budget_nudge", {"turns_left": 2, "text": text})


REPAIR = Repair(
    name="budget_nudge",
    title="A nudge in the last turns",
    answers=frozenset({"budget"}),
    tag="sees",
    fires="middleware/budget_nudge.py",
    root_cause="the model does not know that its budget ends",
    predicted_fix="trajectories end with an answer",
    why="only the loop counts turns",
    rollback="the score among delivered falls",
    apply=apply,
)
