"""How many tokens a conversation has, and how many of them are trained."""

from collections.abc import Sequence
from typing import Any


def count_tokens(
    tokenizer: Any,  # noqa: ANN401
    messages: Sequence[dict[str, str]],
) -> tuple[int, int]:
    """Return (all tokens, tokens of the model's own turns) of one conversation."""
    encoded = tokenizer.apply_chat_template(
        list(messages), tokenize=True, return_dict=True, return_assistant_tokens_mask=True
    )
    return len(encoded["input_ids"]), sum(encoded["assistant_masks"])
