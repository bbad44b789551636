"""Show the model its own successes: one passing development rollout per family."""

from pipelines.catalog.repair import Changes, Context, Repair, add_examples

PATH = "policies/passing_examples.yaml"


def apply(context: Context) -> Changes | None:
    """Put passing conversations in the place of the invented ones."""
    return add_examples(context.bundle, PATH, context.passing, alone=True)


REPAIR = Repair(
    name="passing_examples",
    title="Worked examples from passing development rollouts",
    answers=frozenset({"unbacked_claims", "none"}),
    tag="does",
    fires=PATH,
    root_cause="the worked examples do not cover the kinds of tasks that fail",
    predicted_fix="answers take the form that passed before",
    why="a prompt-level change built from the line's own evidence",
    rollback="the score falls",
    apply=apply,
)
