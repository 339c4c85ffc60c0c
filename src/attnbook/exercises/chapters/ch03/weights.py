"""A softmax that does not overflow."""

import torch
from torch import Generator, Tensor

from attnbook.exercises.chapters.mistake_sets import MistakeSet
from attnbook.exercises.chapters.properties import ROWS_SUM_TO_ONE
from attnbook.exercises.exercise import Case, Exercise, Mistake, draw, named_sizes, some_sizes
from attnbook.language import _
from attnbook.mistakes.lines import WEIGHT_MISTAKES


def my_weights(scores: Tensor) -> Tensor:
    powers = (scores - scores.amax(dim=-1, keepdim=True)).exp()
    return powers / powers.sum(dim=-1, keepdim=True)


def by_logarithms(scores: Tensor) -> Tensor:
    return (scores - scores.logsumexp(dim=-1, keepdim=True)).exp()


def weight_cases(generator: Generator) -> list[Case]:
    lq, lk = some_sizes(generator, 2)
    around = torch.tensor([[1000.0], [-1000.0], [0.0], [800.0], [300.0]])

    def case(note: str, *sizes: int, scale: float = 1.0) -> Case:
        return Case((scale * draw(generator, *sizes),), named_sizes("A B H Lq Lk", sizes), note)

    return [
        case("3 queries, 5 keys", 3, 5),
        case(_("{queries} queries, {keys} keys").format(queries=lq, keys=lk), lq, lk),
        case("batch and heads", 2, 3, 5, 7),
        case("one more leading axis", 2, 4, 3, 6, 5),
        case("scores in the thousands", 4, 6, scale=1000.0),
        Case(
            (draw(generator, 5, 6) + around,),
            {"Lq": 5, "Lk": 6},
            "rows of scores around 1000, −1000, 0, 800 and 300",
        ),
    ]


def overflowing(scores: Tensor) -> Tensor:
    return scores.exp() / scores.exp().sum(dim=-1, keepdim=True)


def column_shifted(scores: Tensor) -> Tensor:
    return overflowing(scores - scores.amax(dim=-2, keepdim=True))


EXERCISE = Exercise(
    title="A softmax that does not overflow",
    level=2,
    minutes=10,
    section="3.7",
    prompt="""
Write `my_weights(scores)`: the softmax along each row. Build it from `exp` and sums, without
calling a softmax. `scores` and the answer have shape (..., Lq, Lk). The function has to work for
scores such as 1000 and −1000.
""",
    reference=my_weights,
    cases=weight_cases,
    axes="B H Lq Lk",
    mistakes=(
        Mistake(
            overflowing,
            "exp(1000) is too large for a float, and exp(−900) is too small. First subtract each "
            "row's largest score.",
        ),
        Mistake(
            column_shifted,
            "You subtracted each column's maximum. A shift cancels only if it is the same for a "
            "whole row.",
        ),
        Mistake(
            lambda scores: overflowing(scores.clamp(-50, 50)),
            "You clipped the scores, so those beyond the limit became equal. Shift the row "
            "instead, which changes no weight.",
        ),
        Mistake(
            lambda scores: overflowing(scores - scores.mean(-1, keepdim=True)),
            "You subtracted each row's mean. A score far above it still overflows.",
        ),
        Mistake(
            lambda scores: overflowing(scores - scores.amin(-1, keepdim=True)),
            "You subtracted each row's smallest score, so every exponent is 0 or more. No "
            "exponent should be above 0.",
        ),
        Mistake(
            lambda scores: overflowing(scores).nan_to_num(0.0),
            "You replaced nan with 0, so the largest scores get no weight. Keep `exp` from "
            "overflowing instead.",
        ),
        Mistake(
            lambda scores: (scores - scores.amax(-1, keepdim=True)).exp(),
            "The shift and `exp` are right. Divide each row by its sum.",
        ),
        Mistake(
            lambda scores: overflowing(scores - scores.max()),
            "You subtracted one maximum from all rows. A row far below that maximum underflows to "
            "0/0.",
        ),
    ),
    common_mistakes=MistakeSet(lambda head: head.weights, WEIGHT_MISTAKES),
    properties=(ROWS_SUM_TO_ONE,),
    without=("softmax", "log_softmax", "Softmax"),
    hints=(
        "If you shift a whole row, the shift cancels in the quotient. Which shift makes every "
        "exponent ≤ 0?",
        "`scores.amax(dim=-1, keepdim=True)` is each row's largest score.",
        "Subtract it, take `exp`, and divide by `.sum(dim=-1, keepdim=True)`.",
    ),
    insight="Softmax functions in libraries do this, so large scores do not produce nan.",
    comes_back="The book's `softmax` handles another case: in chapter 6 a query may have nothing "
    "to attend to.",
    others=(by_logarithms,),
)
