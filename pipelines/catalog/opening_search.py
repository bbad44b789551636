"""Write the first call for the model: a search for the task's most telling phrase."""

from pipelines.catalog.repair import Changes, Context, Repair, add_middleware


def apply(context: Context) -> Changes | None:
    """Add the component where there is a search tool."""
    if not context.tool("search", "pattern"):
        return None
    parameters = {"tool": "search", "argument": "pattern"}
    return add_middleware(context.bundle, "opening_search", parameters)


REPAIR = Repair(
    name="opening_search",
    title="Open with a search for the task's most telling phrase",
    answers=frozenset({"unbacked_claims", "repeated_call", "budget", "none"}),
    tag="does",
    fires="middleware/opening_search.py",
    root_cause="the first search misses the lines that the task is about",
    predicted_fix="the evidence is on the table before the model writes its first reply",
    why="prompts ask for a good search; a component makes one",
    rollback="the delivery rate falls",
    apply=apply,
)
