"""Train the translators that chapters 9 and 12 load, and store their weights for readers.

    .venv/bin/python -m tools.train.translators                 # all
    .venv/bin/python -m tools.train.translators one_sequence    # only those of chapter 12

Chapter 9 compares its own translator with others (`load_translator`), and chapter 12 compares
models without an encoder (`load_one_sequence`). Training these takes several minutes, which is too
long for a chapter. Run the tool again after a change to the corpus or to the training in section
9.6 or 12.10; the tests of the two chapters fail until you do.
"""

import argparse
import contextlib
import copy
import io
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import nn

from attnbook.training.trained import ONE_SEQUENCE, TRANSLATORS, load_one_sequence, load_translator
from manuscript.common import ROOT, UserError, run_tool
from manuscript.normal_form import read

FIRST = 10  # the losses of the first ten steps identify a training run


class Stored(NamedTuple):
    """A file of models that a chapter's `teach` has trained, one for each (seed, farthest)."""

    file: Path
    chapter: Path
    cells: tuple[str, ...]  # those that define `teach` and `translate`
    trainings: tuple[tuple[int, int], ...]
    words: dict[str, str]  # the name of each vocabulary in the file, and in the chapter
    load: Callable[..., nn.Module]  # takes the vocabularies, seed and farthest


TWO_STACKS = Stored(
    TRANSLATORS,
    ROOT / "book" / "09_translation.ipynb",
    (
        *("imports", "dictionary-examples", "pairs-numbers", "model-made", "unshifted-run"),
        *("word-loss", "anywhere", "training-run", "decoding-translate"),
    ),
    ((1, 8), (2, 8), (0, 20), (1, 20)),
    {"chinese": "chinese", "english": "english"},
    load_translator,
)
ONE_STACK = Stored(
    ONE_SEQUENCE,
    ROOT / "book" / "12_language_model.ipynb",
    (
        *("imports", "train-fit", "joint-pairs", "joint-place", "joint-batches", "joint-teach"),
        "joint-translate",
    ),
    ((0, 0), (1, 0), (0, 8), (1, 8)),
    {"Chinese and English": "joint"},
    load_one_sequence,
)


def run_cells(chapter: Path, cells: Iterable[str]) -> dict[str, Any]:
    """Run the chapter's cells that define its training; return the names they define."""
    sources = {cell["id"]: cell["source"] for cell in read(chapter)["cells"]}
    space: dict[str, Any] = {}
    with contextlib.redirect_stdout(io.StringIO()):
        for name in cells:
            exec(sources[name], space)
    return space


def train_and_store(stored: Stored) -> None:
    """Train models, store them in float16, and make sure that rounding changes no translation."""
    space, trainings, models = run_cells(stored.chapter, stored.cells), {}, {}
    vocabularies = {name: space[variable] for name, variable in stored.words.items()}
    for seed, farthest in stored.trainings:
        model, losses = space["teach"](farthest, seed)
        weights = copy.deepcopy(model).cpu().half().state_dict()  # tied weights stay tied
        trainings[seed, farthest] = {
            "weights": weights,
            "steps": len(losses),
            "first_losses": losses[:FIRST],
        }
        models[seed, farthest] = model
        print(f"seed {seed}, farthest {farthest}: loss {sum(losses[-20:]) / 20:.3f}", flush=True)
    words = {name: vocabulary.words for name, vocabulary in vocabularies.items()}
    torch.save({**words, "trainings": trainings}, stored.file)
    pairs = space["corpus"].new_combinations + space["corpus"].longer
    for (seed, farthest), model in models.items():
        loaded = stored.load(*vocabularies.values(), seed, farthest)
        if space["translate"](loaded, pairs) != space["translate"](model, pairs):
            raise UserError(f"float16 changes a translation of seed {seed}, farthest {farthest}")


def main() -> int:
    """Train what the command line names, or everything."""
    files = {stored.file.stem: stored for stored in (TWO_STACKS, ONE_STACK)}
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("files", nargs="*", choices=[[], *files], metavar="file")
    for name in parser.parse_args().files or files:
        train_and_store(files[name])
    return 0


if __name__ == "__main__":
    run_tool(main)
