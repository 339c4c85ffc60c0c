"""The effect of temperature, top-k and top-p on the next word of a text, and sampled texts."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from attnbook.corpus.translation import BEGIN, Vocabulary
from attnbook.language import _
from attnbook.models.language_model import LanguageModel
from attnbook.models.sampling import keep_top_k, keep_top_p
from attnbook.widgets.element import show_element

__all__ = ["explore_sampling"]

N_NAMED = 10  # how many next words are named
N_TEXTS, MAX_LENGTH = 4, 15  # the number of texts; the most words in each, with END
SETTINGS: dict[str, list[float]] = {
    "temperature": [
        0.1,
        0.2,
        0.3,
        0.4,
        0.5,
        0.6,
        0.7,
        0.8,
        0.9,
        1,
        1.1,
        1.2,
        1.3,
        1.4,
        1.5,
        1.7,
        2,
    ],
    "k": [1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 50, 100, 0],  # 0: all words
    "p": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.98, 1],
}
START: dict[str, float] = {"temperature": 1, "k": 0, "p": 0.9}
RARE = 0.01


@torch.no_grad()
def explore_sampling(model: LanguageModel, vocabulary: Vocabulary, beginning: str) -> None:
    """Let the reader change temperature, k and p, and see the remaining words and sampled texts.

    A notebook shows the row of logits after `beginning`. The book's pages have the weights of
    the stored language model (`load_language_model`, seed 0): there the model writes the texts, and
    the reader can change the beginning.
    """
    device = next(model.parameters()).device

    def logits_after(words: Sequence[str]) -> tuple[list[str], Tensor]:
        """The words in decreasing order of their logits, and these logits."""
        tokens = torch.tensor([[BEGIN, *vocabulary.encode(words)]], device=device)
        logits, order = model(tokens)[0, -1].cpu().sort(descending=True, stable=True)
        return [vocabulary.words[i] for i in order.tolist()], logits

    words = beginning.split()
    names, logits = logits_after(words)
    generator = torch.Generator().manual_seed(0)
    points = torch.randint(1000, (N_TEXTS, MAX_LENGTH), generator=generator)  # in thousandths
    texts = []
    for row in (points / 1000).tolist():
        text: list[tuple[str, bool]] = []
        for point in row:
            likely, scores = logits_after([*words, *(word for word, _ in text)])
            left = _left(scores, **START)
            drawn = int((left.cumsum(-1) <= point).sum())
            text.append((likely[drawn], bool(scores.softmax(-1)[drawn] < RARE)))
            if text[-1][0] == "END":
                break
        texts.append(text)
    data: dict[str, Any] = {
        "beginning": words,
        "logits": (1000 * (logits[0] - logits)).round().int().tolist(),
        "names": names[:N_NAMED],
        "random": points.tolist(),
        "settings": SETTINGS,
        "start": {name: SETTINGS[name].index(value) for name, value in START.items()},
        "texts": texts,
        "words": _words(),
    }
    shown = {_("model"): (1, 0, 1), "T = 0.5": (0.5, 0, 1), "T = 2": (2, 0, 1), "k = 3": (1, 3, 1)}
    columns = [_left(logits, *one) for one in (shown | {"p = 0.9": (1, 0, 0.9)}).values()]
    rows = [[word, *(f"{x[i]:.3f}" for x in columns)] for i, word in enumerate(names[:N_NAMED])]
    others = _("{n} others").format(n=len(names) - N_NAMED)
    rows.append([others, *(f"{x[N_NAMED:].sum():.3f}" for x in columns)])
    show_element("attn-sampling", data, [_("next word"), *shown, "p = 0.9"], rows)


def _left(logits: Tensor, temperature: float, k: float, p: float) -> Tensor:
    """The probabilities after temperature, top-k (0: all words) and top-p, in this order."""
    logits = logits / temperature
    return keep_top_p(keep_top_k(logits, int(k) or len(logits)), p).softmax(-1)


def _words() -> dict[str, Any]:
    """The words of the figure, in the reader's language."""
    return {
        "name": _("The next word by temperature, top-k and top-p, and sampled texts"),
        "try": _(
            "Move a slider: the texts are written again with the same random numbers. "
            "Press a word to write it yourself."
        ),
        "here": _(
            "Move a slider to see which words are left. "
            "In the book's pages the model then writes the texts again."
        ),
        "beginning": _("beginning"),
        "go": _("Continue"),
        "settings": {"temperature": _("temperature"), "k": _("top-k"), "p": _("top-p")},
        "all": _("all"),
        "next": _("next word"),
        "columns": [_("model"), _("left")],
        "others": _("{n} others"),
        "kept": _(
            "{n} of {all} words are left. Together they have a probability of {had} in the model."
        ),
        "strange": _("Not in the vocabulary: {unknown}. The model reads UNKNOWN there."),
        "texts": _("Sampled texts (dotted: a word to which the model gives less than 0.01)"),
        "again": _("Draw again"),
        "back": _("Remove the last word"),
        "missing": _("The model could not be loaded: the file beside this page is missing."),
    }
