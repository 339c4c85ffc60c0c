"""Beam search as a tree: which hypotheses each step keeps, and which it drops."""

from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from attnbook.corpus.translation import BEGIN, END, Vocabulary
from attnbook.language import _
from attnbook.models.beam_search import Beams, beam_search
from attnbook.models.decoding import log_probabilities
from attnbook.models.transformer import Transformer
from attnbook.widgets.element import play, show_element

__all__ = ["follow_beams"]

N_CANDIDATES = 5  # per step: those that are kept, and the best of the others


class Candidate(NamedTuple):
    """A hypothesis of one step: hypothesis `parent` of the previous step, extended by `word`."""

    score: float
    parent: int
    word: int
    log_prob: float  # of the word
    total: float  # log-probability of all words
    words: tuple[int, ...]


def follow_beams(
    model: Transformer,
    source: Tensor,
    source_mask: Tensor,
    vocabulary: Vocabulary,
    searches: Mapping[str, tuple[int, float]],
    max_length: int,
) -> None:
    """Let the reader step through beam searches for the translation of one sentence.

    Shapes:  source (1, Ls)   source_mask (1, 1, Ls)
             each search: the beam width, at most N_CANDIDATES, and the length penalty
    Raises:  ValueError if there is more than one sentence, or a beam is wider than N_CANDIDATES
    """
    if len(source) != 1:
        raise ValueError(f"source holds {len(source)} sentences: one tree shows one")
    if (widest := max(width for width, _ in searches.values())) > N_CANDIDATES:
        raise ValueError(f"a beam of {widest} is too wide: a step shows {N_CANDIDATES} candidates")
    trees, rows, used = [], [], {END: 0}
    for name, (width, penalty) in searches.items():
        rules = {"begin": BEGIN, "end": END, "max_length": max_length}
        beams = beam_search(
            model, source, source_mask, width=width, length_penalty=penalty, **rules
        )
        tree = [
            [
                [
                    candidate.parent,
                    used.setdefault(candidate.word, len(used)),
                    round(candidate.log_prob, 4),
                ]
                for candidate in step
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
            "name": _("A search for the most probable sentence, word by word"),
            "try": _("Press play, or pick a candidate to read its sentence and its score."),
            **play(),
            "searches": _("beam"),
            "steps": _("step"),
            "over": _("ended"),
            "kept": _("{sentence}: words {count}, log-probability {total}, score {score}. Kept."),
            "dropped": _(
                "{sentence}: words {count}, log-probability {total}, score {score}. "
                "Dropped: the beam keeps {width}."
            ),
        },
    }
    show_element("attn-beam", data, [_("beam"), _("says"), _("log-probability"), _("score")], rows)


@torch.no_grad()
def _candidates(
    model: Transformer, source: Tensor, source_mask: Tensor, penalty: float, beams: Beams
) -> list[list[Candidate]]:
    """The best candidates of each step by score, so that those the search keeps come first."""
    z, _ = model.encode(source, source_mask)
    beam = [Candidate(0.0, 0, BEGIN, 0.0, 0.0, (BEGIN,))]
    steps = []
    for parents, tokens, _ in beams.steps:
        candidates = []
        for parent, hypothesis in enumerate(beam):
            ended = hypothesis.word == END
            written = torch.tensor([hypothesis.words], device=source.device)
            log_probs = log_probabilities(model, written, z, source_mask, None)[0]
            likeliest = log_probs.topk(N_CANDIDATES)
            continuations = zip(*(x.tolist() for x in likeliest), strict=True)
            for log_prob, word in [(0.0, END)] if ended else continuations:
                words = hypothesis.words + (word,) * (not ended)
                total = hypothesis.total + log_prob
                score = total / ((5 + len(words) - 1) / 6) ** penalty  # BEGIN does not count
                candidates.append(Candidate(score, parent, word, log_prob, total, words))
        best = sorted(candidates, reverse=True)[:N_CANDIDATES]
        beam = best[: parents.size(1)]
        kept = list(zip(parents[0].tolist(), tokens[0].tolist(), strict=True))
        assert [(c.parent, c.word) for c in beam] == kept, "not what beam_search has kept"
        steps.append(best)
    return steps
