"""The embedded model as a trainable one: GGUF to safetensors, once, with a marked template."""

import io
import os
from contextlib import redirect_stderr
from importlib.resources import files
from pathlib import Path
from typing import Any

DONE = ".complete"


def ensure_base_model(gguf: Path, folder: Path) -> Path:
    """Convert `gguf` into a Hugging Face folder at `folder` unless that is there; return it.

    The conversion is built beside and moved into place, so a killed one leaves nothing behind.
    """
    if (folder / DONE).exists():
        return folder
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig
    from transformers.utils import logging

    logging.disable_progress_bar()

    beside = folder.with_name(f".{folder.name}.{os.getpid()}")
    source = {"pretrained_model_name_or_path": str(gguf.parent), "gguf_file": gguf.name}
    tokenizer = AutoTokenizer.from_pretrained(**source)
    tokenizer.chat_template = chat_template()
    tokenizer.save_pretrained(beside)
    # Without dequantizing, save_pretrained refuses the model.
    with redirect_stderr(io.StringIO()):  # a bar of its own that nothing else turns off
        model = AutoModelForCausalLM.from_pretrained(
            **source, dtype=torch.bfloat16, quantization_config=GgufConfig(dequantize=True)
        )
    model.save_pretrained(beside)
    (beside / DONE).touch()
    folder.parent.mkdir(parents=True, exist_ok=True)
    beside.rename(folder)
    return folder


def chat_template() -> str:
    """Return the model's own ChatML template, byte for byte, with marks around what it generates.

    The stock template has no such marks, and a loss on the assistant's turns needs them.
    """
    return (files("pipelines.training") / "chatml.jinja").read_text(encoding="utf-8").strip("\n")


def load_tokenizer(folder: Path) -> Any:  # noqa: ANN401
    """Return the tokenizer of a converted model."""
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(folder)
