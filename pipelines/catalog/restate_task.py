"""Repeat the task under every result."""

from pipelines.catalog.repair import Changes, Context, Repair, add_middleware


def apply(context: Context) -> Changes | None:
    """Add the component."""
    return add_middleware(context.bundle, "restate_task", {"lead": "Question: "})


REPAIR = Repair(
    name="restate_task",
    title="The task again under every result",
    answers=frozenset({"unbacked_claims", "none"}),
    tag="sees",
    fires="middleware/restate_task.py",
    root_cause="by the time a result is read, the task is far up in the context",
    predicted_fix="answers fit what was asked",
    why="a change of what is shown; the model's own text is not touched",
    rollback="repeated calls rise",
    apply=apply,
)
