"""The translator of chapter 9 on the page: translate sentences, change them, change the model."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor

from attnbook.corpus import BEGIN, END, Batch, Pair, Vocabulary, make_batch
from attnbook.corpus.grammar.corpus import LONGEST
from attnbook.corpus.grammar.lexicon import dictionary
from attnbook.language import _
from attnbook.models.transformer import Transformer
from attnbook.widgets.element import show_element

__all__ = ["explore_translator"]

N_BEST = 5  # how many next words are shown
MAX_LENGTH = 30  # the most words in a translation, END included
ROOM = 19  # the most words in a source: the model was not trained on later positions


class Step(NamedTuple):
    """One step of decoding: the best words, their probabilities, and each head's weights.

    Shapes:  weights (layers · H, Ls)
    """

    best: list[str]
    probabilities: list[float]
    weights: Tensor


def explore_translator(
    model: Transformer,
    chinese: Vocabulary,
    english: Vocabulary,
    sentences: Mapping[str, Pair],
    start: int,
) -> None:
    """Show how the model translates a sentence, which the reader can change in the book's pages.

    The page has the weights of the book's translator and runs the model itself; a notebook shows a
    table.

    sentences: the sentences to choose from, by name; the first is shown initially
    start: the index of the word in its translation that is selected initially
    """
    pair = next(iter(sentences.values()))
    steps = _write(
        model, make_batch([pair], chinese, english, model.to_logits.weight.device), english
    )
    least = min(steps, key=lambda step: step.probabilities[0])
    data = {
        "start": {
            "source": [[word, *_entry(word)] for word in pair.chinese],
            "right": " ".join(pair.english),
            "least": {"word": least.best[0], "chance": f"{least.probabilities[0]:.2f}"},
            "index": start,
            "steps": [
                [
                    best[0],
                    probabilities[0],
                    [*zip(best, probabilities, strict=True)],
                    (100 * weights).round().int().tolist(),
                ]
                for best, probabilities, weights in steps
            ],
        },
        "examples": [
            {"name": name, "chinese": " ".join(one.chinese), "english": " ".join(one.english)}
            for name, one in sentences.items()
        ],
        "heads": steps[0].weights.size(0) // len(model.decoder.layers),
        "longest": LONGEST,
        "room": ROOM,
        "words": _words(),
    }
    rows = []
    for best, probabilities, weights in steps:
        most = pair.chinese[weights.mean(0).argmax()]
        rows.append([best[0], f"{probabilities[0]:.2f}", f"{most} {_entry(most)[0]}"])
    head = [_("word"), _("probability"), _("its heads attend most to")]
    note = _(
        "In this book's pages you can change this sentence, cover words and switch heads off. The "
        "page then runs the translator itself."
    )
    show_element("attn-translate", data, head, rows, note=note)


@torch.no_grad()
def _write(model: Transformer, batch: Batch, english: Vocabulary) -> list[Step]:
    """Translate by greedy decoding, and keep what each step computes."""
    z, _ = model.encode(batch.source, batch.source_mask)
    ids: list[int] = [BEGIN]
    steps: list[Step] = []
    while ids[-1] != END and len(steps) < MAX_LENGTH:
        target = torch.tensor([ids], device=z.device)
        logits, _, to_source = model.decode(target, z, batch.source_mask)
        top = logits[0, -1].softmax(-1).topk(N_BEST)
        best = top.indices.tolist()
        probabilities = [round(p, 3) for p in top.values.tolist()]
        weights = torch.cat([each[0, :, -1] for each in to_source])
        steps.append(Step([english.words[i] for i in best], probabilities, weights))
        ids.append(best[0])
    return steps


def _entry(word: str) -> list[str]:
    """The pinyin of a word and its first meaning, or two empty strings."""
    pinyin, meaning = dictionary.get(word, ("", ()))
    return [pinyin, " ".join(meaning)]


def _words() -> dict[str, Any]:
    """The words of the figure, in the reader's language."""
    return {
        "name": _("The translator, live"),
        "try": _(
            "Press a Chinese word and replace it. "
            "Then press an English word: where do the heads attend?"
        ),
        "examples": _("sentence"),
        "example": _("{name}: {sentence}"),
        "own": _("your own sentence"),
        "type": _("or type Chinese"),
        "translate": _("Translate"),
        "source": _("source (press a word to change it)"),
        "unknown": _("unknown"),
        "covered": _("covered"),
        "replace": _("replace with …"),
        "kinds": {
            "people": _("people"),
            "animals": _("animals"),
            "food and drink": _("food and drink"),
            "things": _("things"),
            "pronouns": _("pronouns"),
            "verbs": _("verbs"),
            "adjectives": _("adjectives"),
            "places": _("places"),
            "times": _("times and days"),
            "measure words": _("measure words"),
            "others": _("others"),
        },
        "insert": _("insert after …"),
        "cover": _("cover"),
        "uncover": _("uncover"),
        "remove": _("remove"),
        "english": _("translation"),
        "plain": _("unchanged"),
        "now": _("now"),
        "undo": _("undo the changes"),
        "layers": [_("first layer"), _("last layer")],
        "head": _("head {head}"),
        "maps": _("Cross-attention, one row per head"),
        "attends": _("Where the heads attend for “{word}” (press one to switch it off)"),
        "next": _("The most probable next words (press one to write it)"),
        "search": _("decoding"),
        "searches": [_("greedy"), _("beam 2"), _("beam 3"), _("beam 4")],
        "penalty": _("length penalty"),
        "first": _("position of the first word"),
        "sure": _(
            "The least certain word of this translation is “{word}”, with probability {chance}."
        ),
        "unsure": _(
            "The least certain word of this translation is “{word}”, with probability {chance}. "
            "That is rare in the test set, so this may be nonsense."
        ),
        "strange": _("Not in the vocabulary: {unknown}. The model reads UNKNOWN there."),
        "long": _("This sentence has {count} words. No training sentence has more than {longest}."),
        "full": _("The model reads only the first {room} words."),
        "endless": _("The model did not write END and was stopped."),
        "moved": _("After the same words, “{word}” had probability {before} and now has {after}."),
        "total": _("Log-probability: {now}. Without the changes: {plain}."),
        "right": _("The right translation is “{right}”."),
        "missing": _("The translator could not be loaded: the file beside this page is missing."),
    }
