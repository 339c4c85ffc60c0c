"""Decoding as a tree: which beginnings a search keeps, and which it drops."""

from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from attnbook.decoding import Beams, beam_search, log_probabilities
from attnbook.transformer import Transformer
from attnbook.translation import BEGIN, END, Vocabulary
from attnbook.widgets.element import show_element

__all__ = ["follow_beams"]

SHOWN = 5  # candidates of a step: those that are kept, and the best of the others


class Candidate(NamedTuple):
    """A beginning that a step has found: `parent` is the place of what it continues by `word`."""

    score: float
    parent: int
    word: int
    chance: float  # the word's log-probability
    total: float
    words: tuple[int, ...]


def follow_beams(
    model: Transformer,
    source: Tensor,
    source_mask: Tensor,
    vocabulary: Vocabulary,
    searches: Mapping[str, tuple[int, float]],
    max_length: int,
) -> None:
    """Let the reader step through searches for the likeliest translation of one sentence.

    Shapes:  source (1, Ls)   source_mask (1, 1, Ls)
             searches: by name the width, at most SHOWN, and the length penalty
    Raises:  ValueError if there is more than one sentence, or a beam is wider than what is shown
    """
    if len(source) != 1:
        raise ValueError(f"source holds {len(source)} sentences: one tree shows one")
    if (widest := max(width for width, _ in searches.values())) > SHOWN:
        raise ValueError(f"a beam of {widest} is too wide: a step shows {SHOWN} candidates")
    trees, rows, used = [], [], {END: 0}
    for name, (width, penalty) in searches.items():
        rules = {"begin": BEGIN, "end": END, "max_length": max_length}
        beams = beam_search(
            model, source, source_mask, width=width, length_penalty=penalty, **rules
        )
        tree = [
            [
                [one.parent, used.setdefault(one.word, len(used)), round(one.chance, 4)]
                for one in step
            ]
            for step in _candidates(model, source, source_mask, penalty, beams)
        ]
        trees.append({"name": name, "width": width, "penalty": penalty, "steps": tree})
        best = " ".join(vocabulary.decode(beams.tokens[0, 0]))
        rows.append([name, best, *(f"{x[0, 0]:.2f}" for x in (beams.log_probs, beams.scores))])
    data = {
        "vocabulary": [vocabulary.words[word] for word in used],
        "trees": trees,
        "words": {
            "name": "A search for the likeliest sentence, word by word",
            "searches": "beam",
            "steps": "step",
            "over": "over",
            "kept": "{sentence}: words {count}, log-probability {total}, score {score}. Kept.",
            "dropped": "{sentence}: words {count}, log-probability {total}, score {score}. "
            "Dropped: the beam keeps {width}.",
        },
    }
    show_element("attn-beam", data, ["beam", "says", "log-probability", "score"], rows)


@torch.no_grad()
def _candidates(
    model: Transformer, source: Tensor, source_mask: Tensor, penalty: float, beams: Beams
) -> list[list[Candidate]]:
    """Of each step the best candidates by their score, those that the search has kept first."""
    z, _ = model.encode(source, source_mask)
    beam = [Candidate(0.0, 0, BEGIN, 0.0, 0.0, (BEGIN,))]
    steps = []
    for parents, tokens, _ in beams.steps:
        found = []
        for place, begun in enumerate(beam):
            over = begun.word == END
            written = torch.tensor([begun.words], device=source.device)
            chances = log_probabilities(model, written, z, source_mask, None)[0].topk(SHOWN)
            longer = zip(*(x.tolist() for x in chances), strict=True)
            for chance, word in [(0.0, END)] if over else longer:
                words, total = begun.words + (word,) * (not over), begun.total + chance
                score = total / ((5 + len(words) - 1) / 6) ** penalty  # BEGIN does not count
                found.append(Candidate(score, place, word, chance, total, words))
        best = sorted(found, reverse=True)[:SHOWN]
        beam = best[: parents.size(1)]
        kept = list(zip(parents[0].tolist(), tokens[0].tolist(), strict=True))
        assert [(one.parent, one.word) for one in beam] == kept, "not what beam_search has kept"
        steps.append(best)
    return steps
