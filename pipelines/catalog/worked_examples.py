"""Show what acting looks like: two invented tasks, worked from the question to the answer."""

from collections.abc import Sequence

from environments.base import Call
from harness.bundle import Bundle
from harness.calls import call_text
from harness.messages import ChatMessage
from harness.render import render
from pipelines.catalog.repair import Changes, Context, Repair, add_examples

PATH = "policies/worked_examples.yaml"
_INVENTED: Sequence[tuple[str, str, str, str]] = (
    (
        "What colour is the gate of house 12? Answer with the colour only.",
        "house 12",
        "1 matches for 'house 12':\nL31: The gate of house 12 was painted green.",
        "green",
    ),
    (
        "Who repaired the pump P-9? Answer with the full name.",
        "P-9",
        "2 matches for 'P-9':\nL8: Pump P-9 stands in hall B.\n"
        "L55: Mara Holt repaired pump P-9 in May.",
        "Mara Holt",
    ),
)


def apply(context: Context) -> Changes | None:
    """Add the examples, in the form of the harness's own prompts."""
    if not (context.tool("search", "pattern") and context.tool("submit", "answer")):
        return None
    found = [_example(context.bundle, *invented) for invented in _INVENTED]
    return add_examples(context.bundle, PATH, found, alone=False)


def _example(
    bundle: Bundle, question: str, pattern: str, result: str, answer: str
) -> list[ChatMessage]:
    prompts = bundle.spec.prompts
    return [
        ChatMessage("user", render(bundle, prompts.task, prompt=question)),
        ChatMessage("assistant", call_text(Call("search", {"pattern": pattern}))),
        ChatMessage("user", render(bundle, prompts.result, text=result, ok=True)),
        ChatMessage("assistant", call_text(Call("submit", {"answer": answer}))),
    ]


REPAIR = Repair(
    name="worked_examples",
    title="Two invented worked examples",
    answers=frozenset({"no_call", "budget"}),
    tag="does",
    fires=PATH,
    root_cause="the model does not see what a valid reply looks like, and talks instead of calling",
    predicted_fix="replies are tool calls, and answers are delivered within the budget",
    why="a prompt-level change: nothing is enforced, the model is shown",
    rollback="the delivery rate does not rise",
    apply=apply,
)
