"""Write the example configurations: those that `transformers` ships as the defaults of its classes.

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


def collected() -> dict[str, dict[str, Any]]:
    """The fields that each class adds to those of all models, by the type of the model."""
    transformers = importlib.import_module("transformers")
    shared = transformers.PretrainedConfig().to_dict()
    found = {}
    for name in CLASSES:
        config = getattr(transformers, name)()
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
