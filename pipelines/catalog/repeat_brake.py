"""Block a call that was already made."""

from pipelines.catalog.repair import Changes, Context, Repair, add_middleware


def apply(context: Context) -> Changes | None:
    """Add the component."""
    text = "You already did that. Do something else."
    return add_middleware(context.bundle, "repeat_brake", {"text": text})


REPAIR = Repair(
    name="repeat_brake",
    title="A brake on repeated calls",
    answers=frozenset({"repeated_call", "budget"}),
    tag="does",
    fires="middleware/repeat_brake.py",
    root_cause="the model makes the same call until its budget is spent",
    predicted_fix="a repeated call is turned into another one",
    why="only the loop knows what was called before",
    rollback="the delivery rate falls",
    apply=apply,
)
