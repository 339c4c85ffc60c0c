"""Write the example configurations: the defaults of classes in `transformers`, and what it lacks.

    .venv/bin/python -m tools.configurations

Run it again after `transformers` was upgraded; `tests/library/test_read_config.py` fails until you
do.
"""

import importlib
import json
from typing import Any

from manuscript.common import ROOT, run_tool

FILE = ROOT / "src" / "attnbook" / "models" / "configurations.json"
CLASSES = (
    "GPT2Config FalconConfig LlamaConfig MistralConfig MixtralConfig Gemma3TextConfig "
    "SmolLM3Config GptOssConfig Qwen3NextConfig DeepseekV3Config DeepseekV32Config "
    "KimiLinearConfig"
).split()
# Kimi Linear's file lists its layers, counted from 1. The defaults of its class are other layers.
KIMI_FULL = [4, 8, 12, 16, 20, 24, 27]
KIMI_LAYERS = {
    "full_attn_layers": KIMI_FULL,
    "kda_layers": [i for i in range(1, 28) if i not in KIMI_FULL],
}
CHANGES = {"KimiLinearConfig": {"linear_attn_config": KIMI_LAYERS}}


def collected() -> dict[str, dict[str, Any]]:
    """The fields that each class adds to those of all models, by the type of the model."""
    transformers = importlib.import_module("transformers")
    shared = transformers.PretrainedConfig().to_dict()
    found = {}
    for name in CLASSES:
        config = getattr(transformers, name)(**CHANGES.get(name, {}))
        fields = json.loads(config.to_json_string(use_diff=False))
        added = {k: v for k, v in fields.items() if v is not None and v != shared.get(k, "")}
        found[config.model_type] = added | {"model_type": config.model_type}
    return found


def main() -> int:
    """Write the file."""
    lines = (
        f"{json.dumps(name)}: {json.dumps(fields, sort_keys=True)}"
        for name, fields in collected().items()
    )
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    run_tool(main)
