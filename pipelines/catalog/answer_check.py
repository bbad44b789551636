"""Do not let an answer through that no result backs."""

from pipelines.catalog.repair import Changes, Context, Repair, add_middleware


def apply(context: Context) -> Changes | None:
    """Add the component where a tool delivers an answer."""
    if not any(tool.delivers for tool in context.tools):
        return None
    text = "Error: the answer must be words from a result."
    return add_middleware(context.bundle, "answer_check", {"times": 2, "text": text})


REPAIR = Repair(
    name="answer_check",
    title="Block answers that no result backs",
    answers=frozenset({"unbacked_claims"}),
    tag="does",
    fires="middleware/answer_check.py",
    root_cause="the model answers from nowhere",
    predicted_fix="answers are taken from what was read",
    why="a gate at the only place where an answer leaves",
    rollback="the delivery rate falls",
    apply=apply,
)
