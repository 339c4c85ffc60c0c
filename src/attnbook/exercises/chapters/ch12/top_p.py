"""Top-p by hand."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Generator, Tensor

from attnbook.exercises.chapters.mistake_sets import MistakeSet
from attnbook.exercises.exercise import Case, Exercise, Mistake, Property, draw, some_sizes
from attnbook.language import _
from attnbook.mistakes.head import WrongLine


def my_top_p(probabilities: Tensor, p: float) -> Tensor:
    ordered, order = probabilities.sort(descending=True)
    before = ordered.cumsum(dim=-1) - ordered  # (..., V), the sum of all larger ones
    kept = ordered * (before < p)
    kept = kept / kept.sum(dim=-1, keepdim=True)
    return torch.zeros_like(kept).scatter(-1, order, kept)


def top_p_without_sorting(probabilities: Tensor, p: float) -> Tensor:
    larger = probabilities[..., None, :] > probabilities[..., :, None]  # (..., V, V)
    before = (larger * probabilities[..., None, :]).sum(dim=-1)  # (..., V)
    kept = probabilities.masked_fill(before >= p, 0)
    return kept / kept.sum(dim=-1, keepdim=True)


def top_p_cases(generator: Generator) -> list[Case]:
    five = [[0.5, 0.3, 0.11, 0.07, 0.02]]
    exact = [
        [1 / 4, 1 / 16, 1 / 2, 3 / 32, 1 / 32, 1 / 16 - 1 / 64, 1 / 64],
        [1 / 64, 1 / 2, 1 / 16, 1 / 32, 3 / 32, 1 / 4, 1 / 16 - 1 / 64],
    ]

    def drawn(*sizes: int) -> Tensor:
        return (2 * draw(generator, *sizes)).softmax(dim=-1)

    def case(note: str, probabilities: Tensor, p: float) -> Case:
        names = ("A", "B", "L", "V")[-probabilities.dim() :]
        sizes = dict(zip(names, probabilities.shape, strict=True))
        return Case((probabilities, p), sizes, _("{what}, p = {p}").format(what=note, p=p))

    (rows,) = some_sizes(generator, 1)
    chosen = torch.tensor(five, dtype=torch.float64)
    return [
        case(_("the five words of section 12.8"), chosen, 0.7),
        case(_("the same"), chosen, 0.9),
        case(_("the first word is enough"), chosen, 0.45),
        case(_("sums that reach p exactly"), torch.tensor(exact, dtype=torch.float64), 0.75),
        case(_("{n} rows of 12 words").format(n=rows), drawn(rows, 12), 0.83),
        case(_("2 sentences, 3 positions"), drawn(2, 3, 8), 0.62),
        case(_("two axes before the positions"), drawn(2, 3, 4, 9), 0.91),
    ]


@dataclass(frozen=True)
class TopP:
    """Top-p in parts. Each is right unless it is replaced.

    `order` orders the words of each row. `is_kept` receives the ordered probabilities, the sum of
    those before each one, and p. `normalize` receives the probabilities of the kept words, with 0
    for the others, a mask of the kept words, and p. `put_back` receives the result and the order.
    """

    order: Callable[[Tensor], Tensor] = lambda x: x.argsort(-1, descending=True)
    is_kept: Callable[[Tensor, Tensor, float], Tensor] = lambda ordered, before, p: before < p
    normalize: Callable[[Tensor, Tensor, float], Tensor] = lambda kept, stays, p: (
        kept / kept.sum(-1, keepdim=True)
    )
    put_back: Callable[[Tensor, Tensor], Tensor] = lambda kept, order: torch.zeros_like(
        kept
    ).scatter(-1, order, kept)

    def __call__(self, probabilities: Tensor, p: float) -> Tensor:
        order = self.order(probabilities)
        ordered = probabilities.gather(-1, order)
        stays = self.is_kept(ordered, ordered.cumsum(-1) - ordered, p)
        return self.put_back(self.normalize(ordered * stays, stays, p), order)


def first(n: Tensor | int, ordered: Tensor) -> Tensor:
    """A mask of the first n words of each row."""
    return (torch.arange(ordered.size(-1), device=ordered.device) < n).expand(ordered.shape)


def sum_before(ordered: Tensor, axis: int) -> Tensor:
    return ordered.cumsum(axis) - ordered


SAME_NUMBER = "You kept the same number of words in all rows. Each row has its own number."
SHARE = (
    "You kept a fraction p of the words. Keep the most probable words until their *probabilities* "
    "sum to p."
)
OTHER_AXIS = (
    "You added up along another axis. Add up over the words of a row, the last axis: `cumsum(-1)`."
)
MINUS_INFINITY = (
    "You set the words left out to −∞, as before a softmax. These are probabilities: set them to 0."
)
TOP_P_MISTAKES = (
    WrongLine(
        "order",
        lambda x: x.argsort(-1),
        "You began with the *least* probable word: by default, `sort` is ascending.",
    ),
    WrongLine(
        "order",
        lambda x: torch.arange(x.size(-1), device=x.device).expand(x.shape),
        "You added up the probabilities in the order of the ids. Sort them first.",
    ),
    WrongLine(
        "is_kept",
        lambda ordered, before, p: before + ordered <= p,
        "The word that takes the sum past p is missing. If the first word alone has more "
        "than p, nothing is left, and 0/0 is nan.",
    ),
    WrongLine(
        "is_kept",
        lambda ordered, before, p: (before + ordered <= p) | (before == 0),
        "You always keep the first word, but the word that takes the sum past p is missing.",
    ),
    WrongLine(
        "is_kept",
        lambda ordered, before, p: before + ordered < p,
        "You keep a word if the sum *with* it is below p. Use the sum *before* it. Then the "
        "word that reaches p is kept.",
    ),
    WrongLine(
        "is_kept",
        lambda ordered, before, p: before <= p,
        "You keep one word too many where the sum reaches p exactly.",
    ),
    WrongLine(
        "is_kept",
        lambda ordered, before, p: F.pad((before < p)[..., :-1], (1, 0), value=True),
        "You keep one word too many, the one after the word that brings the sum to p.",
    ),
    WrongLine(
        "is_kept",
        lambda ordered, before, p: ordered >= p,
        "You kept the words whose own probability is at least p. Compare p with the sum of the "
        "probabilities before a word. (If no word has as much as p, 0/0 is nan.)",
    ),
    WrongLine(
        "is_kept",
        lambda ordered, before, p: ordered >= 1 - p,
        "You kept the words whose own probability is at least 1 − p. Compare p with the sum of the "
        "probabilities before a word.",
    ),
    WrongLine(
        "is_kept",
        lambda ordered, before, p: ordered >= p * ordered.amax(-1, keepdim=True),
        "You kept the words with at least p times the largest probability. Compare p with the sum "
        "of the probabilities before a word.",
    ),
    WrongLine(
        "is_kept",
        lambda ordered, before, p: first((before < p).sum(-1).max(), ordered),
        SAME_NUMBER,
    ),
    WrongLine(
        "is_kept",
        lambda ordered, before, p: first((before < p).sum(-1).flatten()[0], ordered),
        SAME_NUMBER,
    ),
    WrongLine(
        "is_kept",
        lambda ordered, before, p: first(math.ceil(p * ordered.size(-1)), ordered),
        SHARE,
    ),
    WrongLine(
        "is_kept", lambda ordered, before, p: first(int(p * ordered.size(-1)), ordered), SHARE
    ),
    WrongLine("is_kept", lambda ordered, before, p: sum_before(ordered, 0) < p, OTHER_AXIS),
    WrongLine("is_kept", lambda ordered, before, p: sum_before(ordered, 1) < p, OTHER_AXIS),
    WrongLine(
        "normalize",
        lambda kept, stays, p: kept,
        "You kept the right words, but their probabilities no longer sum to 1: divide by the sum.",
    ),
    WrongLine(
        "normalize",
        lambda kept, stays, p: kept / p,
        "You divided by p. The kept words have p or more together: divide by their sum.",
    ),
    WrongLine(
        "normalize",
        lambda kept, stays, p: (kept / kept.sum(-1, keepdim=True)).masked_fill(~stays, -torch.inf),
        MINUS_INFINITY,
    ),
    WrongLine(
        "normalize",
        lambda kept, stays, p: F.normalize(kept.masked_fill(~stays, -torch.inf), p=1, dim=-1),
        MINUS_INFINITY,
    ),
    WrongLine(
        "normalize",
        lambda kept, stays, p: kept.masked_fill(~stays, -torch.inf).softmax(-1),
        "You took a softmax of probabilities. Softmax is for logits: here, divide by the sum.",
    ),
    WrongLine(
        "put_back",
        lambda kept, order: kept,
        "Your answer is in sorted order. Put each number back at the index of its word.",
    ),
    WrongLine(
        "put_back",
        lambda kept, order: kept.gather(-1, order),
        "`gather(-1, order)`, or `kept[order]`, applies the order a second time. To undo the "
        "sorting, use `scatter`, or `order.argsort()` as the index.",
    ),
)


def sums_to_one(answer: Tensor) -> bool:
    """Whether each row sums to 1, or some numbers are not finite, which says nothing of a sum."""
    return not answer.isfinite().all() or bool((answer.sum(-1) - 1).abs().max() < 1e-6)


def keeps_the_same(answer: Tensor, case: Case) -> bool:
    return torch.equal(answer > 0, my_top_p(*case.arguments) > 0)


EXERCISE = Exercise(
    title="Top-p by hand",
    level=2,
    minutes=12,
    section="12.8",
    prompt="""
Write `my_top_p(probabilities, p)`, without `keep_top_p`. `probabilities` (..., V) sum to 1 over the
V words; no two in the same row are equal. In each row, keep the most probable words until their
probabilities sum to `p` or more. The word that brings the sum to `p` is kept, too. Divide the
probabilities of the kept words by their sum, and set those of all others to 0. Return the result,
(..., V), with each number at the index of its word. `p` is above 0 and below 1. The dots stand for
any number of leading dimensions.
""",
    reference=my_top_p,
    cases=top_p_cases,
    axes="A B L V",
    without=("keep_top_p",),
    gradients=False,
    on_cpu=True,
    mistakes=(
        Mistake(lambda probabilities, p: probabilities, "Nothing is cut: every word is kept."),
        Mistake(
            lambda probabilities, p: my_top_p(probabilities.softmax(-1), p),
            "You took a softmax first, but these are already probabilities, not logits.",
        ),
    ),
    common_mistakes=MistakeSet(lambda top_p: top_p, TOP_P_MISTAKES, right=TopP()),
    properties=(
        Property(
            "Each row has to sum to 1, but not all of yours do. Does each row have its own cut?",
            lambda answer, case: sums_to_one(answer) or keeps_the_same(answer, case),
        ),
        Property(
            "Each row has to sum to 1, but not all of yours do.",
            lambda answer, case: sums_to_one(answer),
        ),
    ),
    hints=(
        "Sort a row in descending order. Which words have a sum of less than p *before* them?",
        "`cumsum` includes the word itself. Subtract its own probability.",
        "Use `ordered, order = probabilities.sort(dim=-1, descending=True)`. Keep the words with "
        "`ordered.cumsum(-1) - ordered < p`, divide their probabilities by the sum, and put these "
        "back with `scatter(-1, order, ...)`.",
    ),
    insight="How many words are kept depends on the row: one where the model is sure, many where "
    "it is not. Together, those words always have a probability of at least p.",
    comes_back="12.repair uses the library's `keep_top_p` in a sampler.",
    others=(top_p_without_sorting,),
)
