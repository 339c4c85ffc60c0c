"""Write the weights of the translator of chapter 9, which runs on a page.

    .venv/bin/python -m tools.train.live_models

The tool trains the translator with the chapter's own cells, which takes a few minutes, and writes
its weights and vocabularies into press/live/translator.json. Run it again after a change to the
corpus or to the training in section 9.6; `tests/notebooks/test_translators.py` fails until you do.

A weight is stored as a 16-bit integer, which is divided by a power of two chosen for its tensor.
The training rounds to multiples of 2^-16, so nothing is lost if no weight of a tensor exceeds
1/2. (float16 has the same size, but rounds weights near 1 to multiples of 2^-11.)
"""

import base64
import json
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from attnbook.corpus.grammar import words
from attnbook.corpus.grammar.lexicon import dictionary, nouns, rows
from attnbook.corpus.translation import Vocabulary
from attnbook.models.transformer import Transformer
from manuscript.common import ROOT, UserError, run_tool
from tools.train.translators import TWO_STACKS, run_cells

TRANSLATOR = ROOT / "press" / "live" / "translator.json"
HEADS, LAYERS, WIDTH, D_FF = 4, 2, 64, 128  # as in section 9.4
LARGEST = 2**15 - 1
PEOPLE = {"person", "kin", "boss"}
ANIMALS = {"animal", "fish"}
FOOD = {"fruit", "snack", "egg", "dish", "soup", "drink", "sauce"}


def kinds() -> Iterator[tuple[str, str]]:
    """The Chinese words of the grammar, each with the category under which a reader finds it."""
    for noun in nouns:
        groups = ((PEOPLE, "people"), (ANIMALS, "animals"), (FOOD, "food and drink"))
        yield noun.zh, next((name for kind, name in groups if noun.kinds & kind), "things")
    tables = {
        "pronouns": words.PRONOUNS,
        "verbs": words.VERBS,
        "adjectives": words.ADJECTIVES + words.FEELINGS + words.COLORS,
        "places": words.PLACES + words.CITIES,
        "times": "\n".join(line.split()[0].replace("_", "\n") for line in lines(words.TIMES)),
        "measure words": words.MEASURES,
    }
    for name, table in tables.items():
        yield from ((row[0], name) for row in rows(table))


def lines(table: str) -> list[str]:
    return [line for line in table.splitlines() if line]


def chinese_words(chinese: Vocabulary) -> list[list[str]]:
    """The word, pinyin, meaning and kind for each id."""
    kind_of = dict(reversed([*kinds()]))
    found = []
    for word in chinese.words:
        pinyin, meaning = dictionary.get(word, ("", ()))
        found.append([word, pinyin, " ".join(meaning), kind_of.get(word, "others")])
    return found


def packed(model: Transformer, chinese: Vocabulary, english: Vocabulary) -> dict[str, Any]:
    """What the page loads: sizes, words, the names and shapes of the weights, and the weights."""
    parameters = {name: p.cpu().numpy() for name, p in model.state_dict().items()}
    bits = {
        name: min(16, math.floor(math.log2(LARGEST / abs(p).max())))
        for name, p in parameters.items()
    }
    integers = [(p * 2.0 ** bits[name]).round().ravel() for name, p in parameters.items()]
    return {
        "heads": HEADS,
        "layers": LAYERS,
        "width": WIDTH,
        "chinese": chinese_words(chinese),
        "english": english.words,
        "tensors": [[name, bits[name], *p.shape] for name, p in parameters.items()],
        "data": base64.b64encode(np.concatenate(integers).astype("<i2").tobytes()).decode(),
    }


def load_packed(text: str) -> tuple[Transformer, Vocabulary, Vocabulary]:
    """Load a model that `packed` has packed, in float64, with its vocabularies."""
    stored = json.loads(text)
    chinese = Vocabulary([[word for word, *_ in stored["chinese"]]])
    english = Vocabulary([stored["english"]])
    integers = torch.from_numpy(np.frombuffer(base64.b64decode(stored["data"]), "<i2").copy())
    sizes = [math.prod(shape) for _, _, *shape in stored["tensors"]]
    weights = {
        name: part.double().view(shape) / 2**bits
        for (name, bits, *shape), part in zip(stored["tensors"], integers.split(sizes), strict=True)
    }
    made = len(chinese), len(english), WIDTH, HEADS, LAYERS, D_FF
    model = Transformer(*made, norm_first=True).double()
    model.load_state_dict(weights)
    return model.eval(), chinese, english


def main() -> int:
    """Train the model, write it, and make sure that rounding has changed no translation."""
    space = run_cells(TWO_STACKS.chapter, TWO_STACKS.cells)
    model, losses = space["teach"](8)
    print(f"loss {sum(losses[-20:]) / 20:.3f}", flush=True)
    text = json.dumps(packed(model, space["chinese"], space["english"]), ensure_ascii=False)
    stored, *_ = load_packed(text)
    pairs = space["corpus"].new_combinations + space["corpus"].longer
    if space["translate"](stored, pairs) != space["translate"](model, pairs):
        raise UserError("rounding to 16 bits changes a translation")
    TRANSLATOR.write_text(text + "\n", encoding="utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    run_tool(main)
