"""Top-p by hand."""

from collections.abc import Callable

import torch
from torch import Generator, Tensor

from attnbook.exercises.exercise import Case, Exercise, Mistake, Property, draw, some_sizes
from attnbook.language import _


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


def top_p(
    is_kept: Callable[[Tensor, Tensor, float], Tensor] = lambda o, before, p: before < p,
    normalize: Callable[[Tensor, Tensor, float], Tensor] = lambda kept, is_kept, p: (
        kept / kept.sum(-1, keepdim=True)
    ),
    put_back: Callable[[Tensor, Tensor], Tensor] = lambda kept, order: torch.zeros_like(
        kept
    ).scatter(-1, order, kept),
    sort: Callable[[Tensor], Tensor] = lambda x: x.argsort(-1, descending=True),
) -> Callable[[Tensor, float], Tensor]:
    """Top-p, right unless a part is replaced.

    `is_kept` gets the ordered probabilities, the sum of those before each one, and p.
    """

    def wrong(probabilities: Tensor, p: float) -> Tensor:
        order = sort(probabilities)
        ordered = probabilities.gather(-1, order)
        stays = is_kept(ordered, ordered.cumsum(-1) - ordered, p)
        return put_back(normalize(ordered * stays, stays, p), order)

    return wrong


def first_always(ordered: Tensor, before: Tensor, p: float) -> Tensor:
    return (before + ordered <= p) | (before == 0)


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
        Mistake(
            top_p(lambda ordered, before, p: before + ordered <= p),
            "The word that takes the sum past p is missing. If the first word alone has more "
            "than p, nothing is left, and 0/0 is nan.",
        ),
        Mistake(
            top_p(first_always),
            "You always keep the first word, but the word that takes the sum past p is missing.",
        ),
        Mistake(
            top_p(lambda ordered, before, p: before + ordered < p),
            "You keep a word if the sum *with* it is below p. Use the sum *before* it. Then the "
            "word that reaches p is kept.",
        ),
        Mistake(
            top_p(lambda ordered, before, p: before <= p),
            "You keep one word too many where the sum reaches p exactly.",
        ),
        Mistake(lambda probabilities, p: probabilities, "Nothing is cut: every word is kept."),
        Mistake(
            lambda probabilities, p: my_top_p(probabilities.softmax(-1), p),
            "You took a softmax first, but these are already probabilities, not logits.",
        ),
        Mistake(
            top_p(normalize=lambda kept, stays, p: kept),
            "You kept the right words, but their probabilities no longer sum to 1: divide by the "
            "sum.",
        ),
        Mistake(
            top_p(
                normalize=lambda kept, stays, p: kept.masked_fill(~stays, -torch.inf).softmax(-1)
            ),
            "You took a softmax of probabilities. Softmax is for logits: here, divide by the sum.",
        ),
        Mistake(
            top_p(put_back=lambda kept, order: kept),
            "Your answer is in sorted order. Put each number back at the index of its word.",
        ),
        Mistake(
            top_p(put_back=lambda kept, order: kept.gather(-1, order)),
            "`gather(-1, order)`, or `kept[order]`, applies the order a second time. To undo the "
            "sorting, use `scatter`, or `order.argsort()` as the index.",
        ),
        Mistake(
            top_p(sort=lambda x: x.argsort(-1)),
            "You began with the *least* probable word: by default, `sort` is ascending.",
        ),
        Mistake(
            top_p(sort=lambda x: torch.arange(x.size(-1), device=x.device).expand(x.shape)),
            "You added up the probabilities in the order of the ids. Sort them first.",
        ),
    ),
    properties=(
        Property(
            "Each row has to sum to 1, but not all of yours do. Does each row have its own cut?",
            lambda answer, case: bool((answer.sum(-1) - 1).abs().max() < 1e-6),
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
