"""Train the translator of chapter 9 from other seeds, and store the weights for its readers.

    .venv/bin/python -m tools.translators

The chapter compares its own translator with these (`load_translator`). Training them takes some
minutes, too long for a chapter. Do it again when the corpus or the training of section 9.6 has
changed; `tests/notebooks/test_chapter_09.py` finds that out.
"""

import contextlib
import io
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch

from attnbook.translation import TRANSLATORS, load_translator
from tools.common import ROOT, UserError, run_tool
from tools.normal_form import read

CHAPTER = ROOT / "book" / "09_translation.ipynb"
CELLS = (
    *("imports", "dictionary-examples", "pairs-numbers", "model-made", "unshifted-run"),
    *("word-loss", "anywhere", "training-run", "decoding-translate"),
)
TRAININGS = ((1, 8), (2, 8), (0, 20), (1, 20))  # seed, farthest
FIRST = 10  # the losses of so many steps tell one training from another


def run_cells(chapter: Path, cells: Iterable[str]) -> dict[str, Any]:
    """Run the chapter's cells that define its training; return the names they define."""
    sources = {cell["id"]: cell["source"] for cell in read(chapter)["cells"]}
    space: dict[str, Any] = {}
    with contextlib.redirect_stdout(io.StringIO()):
        for name in cells:
            exec(sources[name], space)
    return space


def main() -> int:
    """Train, store in float16, and make sure that no translation has changed by that."""
    space, trainings, models = run_cells(CHAPTER, CELLS), {}, {}
    chinese, english, corpus = (space[name] for name in ("chinese", "english", "corpus"))
    for seed, farthest in TRAININGS:
        model, losses = space["teach"](farthest, seed)
        weights = {name: p.cpu().half() for name, p in model.state_dict().items()}
        trainings[seed, farthest] = {
            "weights": weights,
            "steps": len(losses),
            "first_losses": losses[:FIRST],
        }
        models[seed, farthest] = model
        print(f"seed {seed}, farthest {farthest}: loss {sum(losses[-20:]) / 20:.3f}", flush=True)
    words = {"chinese": chinese.words, "english": english.words}
    torch.save({**words, "trainings": trainings}, TRANSLATORS)
    pairs = corpus.new_combinations + corpus.longer
    for (seed, farthest), model in models.items():
        stored = load_translator(chinese, english, seed, farthest)
        if space["translate"](stored, pairs) != space["translate"](model, pairs):
            raise UserError(f"float16 changes a translation of seed {seed}, farthest {farthest}")
    return 0


if __name__ == "__main__":
    run_tool(main)
