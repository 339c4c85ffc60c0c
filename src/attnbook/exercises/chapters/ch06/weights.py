"""A softmax with a rule for empty rows."""

import torch
from torch import Generator, Tensor

from attnbook.exercises.chapters.mistake_sets import MistakeSet
from attnbook.exercises.exercise import (
    Case,
    Exercise,
    Mistake,
    Property,
    draw,
    named_sizes,
    some_sizes,
)
from attnbook.language import _
from attnbook.mistakes.lines import MASK_MISTAKES, WEIGHT_MISTAKES


def my_weights(scores: Tensor, mask: Tensor) -> Tensor:
    hidden = scores.masked_fill(~mask, -torch.inf)
    return hidden.softmax(dim=-1).masked_fill(~mask, 0.0)


def filled_once(scores: Tensor, mask: Tensor) -> Tensor:
    return scores.masked_fill(~mask, -torch.inf).softmax(-1).nan_to_num(0.0)


def by_hand(scores: Tensor, mask: Tensor) -> Tensor:
    hidden = scores.masked_fill(~mask, -1e9)
    powers = (hidden - hidden.amax(-1, keepdim=True)).exp() * mask
    return powers / powers.sum(-1, keepdim=True).clamp_min(1e-9)


def weight_cases(generator: Generator) -> list[Case]:
    def some(*shape: int) -> Tensor:
        """A mask with at least one True and one False in each row."""
        places = torch.rand(*shape, generator=generator).argsort(-1)
        return (places < shape[-1] // 2 + 1) & (places != 0)

    def case(
        note: str, mask: Tensor, *sizes: int, hidden: float | None = None, plus: float = 0.0
    ) -> Case:
        scores = draw(generator, *sizes) + plus
        if hidden is not None:
            scores = scores.masked_fill(~mask, hidden)
        return Case((scores, mask), named_sizes("A B H Lq Lk", sizes), note)

    lq, lk = some_sizes(generator, 2)
    empty = some(4, 6)
    empty[1] = False
    lengths = torch.tensor([7, 4])[:, None, None, None]  # (B, 1, 1, 1)
    return [
        case("3 queries, 5 keys", some(3, 5), 3, 5),
        case(_("{queries} queries, {keys} keys").format(queries=lq, keys=lk), some(lq, lk), lq, lk),
        case("padding, a mask of shape (2, 1, 1, 7)", torch.arange(7) < lengths, 2, 3, 5, 7),
        case("one more axis in front, one mask for all", some(5, 6), 2, 4, 3, 5, 6),
        case("every hidden key has the score 1000", some(3, 8), 3, 8, hidden=1000.0),
        case(
            "permitted scores near −20000, hidden ones 0", some(5, 7), 5, 7, hidden=0.0, plus=-2e4
        ),
        case("row 1 may look at nothing", empty, 4, 6),
    ]


def rows_sum_to_one_or_none(answer: Tensor, case: Case) -> bool:
    wanted = case.arguments[1].any(-1).to(answer).expand(answer.shape[:-1])
    return bool((answer.sum(-1) - wanted).abs().max() < 1e-6)


def hidden_are_zero(answer: Tensor, case: Case) -> bool:
    return not bool(answer.masked_select(~case.arguments[1]).any())


EXERCISE = Exercise(
    title="A softmax with a rule for empty rows",
    level=2,
    minutes=12,
    section="6.7",
    prompt="""
Write `my_weights(scores, mask)`: the softmax of each row of `scores` (..., Lq, Lk) over the keys
that `mask` permits (boolean, True = may look, broadcastable to the scores). Hidden keys get a
weight of exactly 0, and a query that may look at nothing gets a row of zeros.
""",
    reference=my_weights,
    cases=weight_cases,
    axes="B H Lq Lk",
    mistakes=(
        Mistake(
            lambda scores, mask: (
                scores.masked_fill(~mask, -20.0).softmax(-1) * mask.any(-1, keepdim=True)
            ),
            "Hidden keys still have a small weight. Fill with −∞ to get exactly 0.",
        ),
        Mistake(
            lambda scores, mask: scores.softmax(-1) * mask.any(-1, keepdim=True),
            "The rows of queries that may look at nothing are right. In the others, hidden keys "
            "got some weight.",
        ),
        Mistake(
            lambda scores, mask: (
                scores.masked_fill(~mask, -torch.inf).softmax(-1).nan_to_num(1 / scores.size(-1))
            ),
            "A query that may look at nothing got equal weights on hidden keys. Its row has to be "
            "all zeros.",
        ),
        Mistake(
            lambda scores, mask: scores.masked_fill(~mask, -1e4).softmax(-1) * mask,
            "A number such as −100 or −10⁴ hides a key only if the permitted scores are far "
            "larger. −∞ is below all of them.",
        ),
    ),
    common_mistakes=MistakeSet(lambda head: head.weights, MASK_MISTAKES, WEIGHT_MISTAKES),
    properties=(
        Property(
            "A row has to sum to 1, or to 0 if its query may look at nothing. Not all of yours do.",
            rows_sum_to_one_or_none,
        ),
        Property(
            "A hidden key needs a weight of exactly 0. At least one of yours is not 0.",
            hidden_are_zero,
        ),
    ),
    hints=(
        "What do you have to do before the softmax, so that no denominator contains a hidden "
        "score? And what do you have to do after it?",
        "`masked_fill(~mask, -torch.inf)` before the softmax makes every row right, except for "
        "queries that may look at nothing. Their rows become 0/0.",
        "After the softmax, fill all hidden entries with 0. No other entry is nan.",
    ),
    insight="Fill in minus infinity before the softmax, and zero after it. Filling, unlike adding "
    "−∞, also keeps nan out of the gradients, because no gradient flows through a filled entry.",
    comes_back="From here on the book's `softmax` does this in every layer.",
    others=(filled_once, by_hand),
)
