"""A PEFT LoRA folder as a GGUF adapter for llama.cpp."""

import json
import re
from pathlib import Path
from typing import Any

from warehouse.errors import BadInput

_NAMES = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}


def write_gguf_adapter(peft: Path, base: Path, target: Path) -> Path:
    """Write `peft` as a GGUF adapter to `target`; `base` is the Hugging Face folder of its model.

    llama.cpp keeps the query and key weights with interleaved rotary halves, so the B matrices of
    those two projections are permuted like the weights.

    Raises:
        BadInput: a tensor belongs to no projection that llama.cpp knows.
    """
    import gguf
    import numpy as np
    from safetensors.torch import load_file

    config = json.loads((base / "config.json").read_text(encoding="utf-8"))
    lora = json.loads((peft / "adapter_config.json").read_text(encoding="utf-8"))
    heads = {
        "self_attn.q_proj": int(config["num_attention_heads"]),
        "self_attn.k_proj": int(config["num_key_value_heads"]),
    }
    writer = gguf.GGUFWriter(str(target), "llama")
    writer.add_type("adapter")
    writer.add_string("adapter.type", "lora")
    writer.add_float32("adapter.lora.alpha", float(lora["lora_alpha"]))
    for name, tensor in load_file(peft / "adapter_model.safetensors").items():
        found = re.search(r"layers\.(\d+)\.(\w+\.\w+)\.lora_([AB])\.weight", name)
        if found is None or found[2] not in _NAMES:
            raise BadInput(f"adapter tensor {name!r} has no place in a llama.cpp adapter")
        block, module, side = found.groups()
        values = tensor.float().numpy()
        if side == "B" and module in heads:
            values = _interleaved(values, heads[module])
        writer.add_tensor(
            f"blk.{block}.{_NAMES[module]}.weight.lora_{side.lower()}",
            np.ascontiguousarray(values, dtype=np.float32),
        )
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return target


def _interleaved(values: Any, heads: int) -> Any:  # noqa: ANN401
    rows = values.shape[0] // heads // 2
    return values.reshape(heads, 2, rows, *values.shape[1:]).swapaxes(1, 2).reshape(values.shape)
