"""Write the weights of the language model that generates text on the page of chapter 12.

    .venv/bin/python -m tools.train.live_writer

The model is the stored language model of seed 0 (`load_language_model`). Run the tool again after
a change to that model; `tests/press/widgets/test_sampling.py` fails until you do.
"""

import base64
import json

import numpy as np

from attnbook.models.language_model import Block
from attnbook.training.trained import load_language_model
from manuscript.common import ROOT, run_tool

WRITER = ROOT / "press" / "live" / "writer.json"


def packed() -> str:
    """What the page loads: sizes, words, the weights' names and shapes, and the float16 weights."""
    model, english = load_language_model(0)
    block = model.blocks[0]
    assert isinstance(block, Block)
    attention = block.attention
    weights = dict(model.named_parameters())  # the tied matrix appears once
    halves = [p.detach().half().numpy().ravel() for p in weights.values()]
    stored = {
        "heads": attention.n_heads,
        "keyHeads": attention.n_kv_heads,
        "layers": len(model.blocks),
        "width": attention.d_model,
        "words": english.words,
        "tensors": [[name, None, *p.shape] for name, p in weights.items()],
        "data": base64.b64encode(np.concatenate(halves).astype("<f2").tobytes()).decode(),
    }
    return json.dumps(stored, ensure_ascii=False) + "\n"


def main() -> int:
    """Write the file."""
    WRITER.write_text(packed(), encoding="utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    run_tool(main)
