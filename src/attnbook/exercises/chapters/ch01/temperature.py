"""How sharp a look-up is."""

import math

import torch
from torch import Generator, Tensor

from attnbook.exercises.chapters.properties import ROWS_SUM_TO_ONE
from attnbook.exercises.exercise import Case, Exercise, Mistake, draw


def temper(scores: Tensor, temperature: float) -> Tensor:
    return (scores / temperature).softmax(dim=-1)


def temper_shifted(scores: Tensor, temperature: float) -> Tensor:
    powers = torch.exp((scores - scores.amax(-1, keepdim=True)) / temperature)
    return powers / powers.sum(-1, keepdim=True)


def temper_cases(generator: Generator) -> list[Case]:
    return [
        Case((draw(generator, 3), 2.5), {"Lk": 3}, "3 books, temperature 2.5"),
        Case((draw(generator, 10), 0.3), {"Lk": 10}, "10 books, temperature 0.3"),
        Case(
            (draw(generator, 4, 7), 3.0),
            {"Lq": 4, "Lk": 7},
            "4 questions to 7 books, temperature 3",
        ),
        Case(
            (draw(generator, 2, 3, 5, 6), 1.7),
            {"A": 2, "B": 3, "Lq": 5, "Lk": 6},
            "two more leading axes, temperature 1.7",
        ),
        Case((draw(generator, 2, 5), math.inf), {"Lq": 2, "Lk": 5}, "an infinite temperature"),
        Case(
            (torch.tensor([[10.0], [20.0], [30.0]]) + 0.01 * draw(generator, 3, 7), 0.01),
            {"Lq": 3, "Lk": 7},
            "temperature 0.01: exponents above 1,000",
        ),
        Case(
            (
                torch.tensor([[10.0], [20.0], [30.0]])
                + 0.001 * draw(generator, 3, 8)
                - torch.tensor([0.0, 5, 0, 0, 5, 0, 5, 0]),
                0.001,
            ),
            {"Lq": 3, "Lk": 8},
            "temperature 0.001: exponents above 10,000",
        ),
    ]


def overflowing(scores: Tensor, temperature: float) -> Tensor:
    powers = (scores / temperature).exp()
    return powers / powers.sum(dim=-1, keepdim=True)


def powers_of_weights(scores: Tensor, temperature: float) -> Tensor:
    powers = scores.softmax(-1) ** (1 / temperature)
    return powers / powers.sum(dim=-1, keepdim=True)


EXERCISE = Exercise(
    title="Hot and cold",
    level=2,
    minutes=10,
    section="1.4",
    prompt="""
Write `temper(scores, temperature)`, which returns the weights at a given temperature, a positive
number. At temperature 1 they are the plain softmax, above 1 they are more even, and below 1 they
are sharper. `scores` and the answer have shape (..., Lk), with any number of leading axes, and
the answer's rows sum to 1. Temperatures such as 0.001 and `math.inf` have to work.
""",
    reference=temper,
    others=(temper_shifted,),
    cases=temper_cases,
    axes="A B Lq Lk",
    mistakes=(
        Mistake(
            lambda scores, temperature: (scores * temperature).softmax(-1),
            "You multiplied by the temperature. A higher temperature has to make the weights more "
            "even: divide.",
        ),
        Mistake(
            lambda scores, temperature: scores.softmax(-1),
            "The temperature has no effect here. It has to change the differences between the "
            "scores.",
        ),
        Mistake(
            lambda scores, temperature: (scores - temperature).softmax(-1),
            "You subtracted the temperature from all scores, which changes none of their "
            "differences. Divide instead.",
        ),
        Mistake(
            lambda scores, temperature: scores.softmax(-1) / temperature,
            "You divided the weights, so they no longer sum to 1. Divide the scores, before the "
            "softmax.",
        ),
        Mistake(
            overflowing,
            "e to the power of 1,000 is too large for a float. Subtract each row's largest score "
            "first, or let `softmax` do it.",
        ),
        Mistake(
            lambda scores, temperature: overflowing(scores - scores.max(), temperature),
            "You subtracted one maximum from all rows. In the other rows every power underflows, "
            "and 0/0 is nan.",
        ),
        Mistake(
            powers_of_weights,
            "You raised the weights to a power. By then, small weights have underflowed to 0. "
            "Divide the scores instead.",
        ),
        Mistake(
            lambda scores, temperature: (scores / temperature).softmax(0),
            "The softmax ran over axis 0. The books are the last axis, so count from the end.",
        ),
        Mistake(
            lambda scores, temperature: (scores / temperature).softmax(min(1, scores.dim() - 1)),
            "The softmax ran over axis 1, which is right only if there are two axes. Count from "
            "the end.",
        ),
        Mistake(
            lambda scores, temperature: (
                torch.ones_like(scores) / len(scores)
                if temperature == math.inf
                else temper(scores, temperature)
            ),
            "At an infinite temperature you divided by the size of the first axis. (Does infinity "
            "need a case of its own?)",
        ),
    ),
    properties=(ROWS_SUM_TO_ONE,),
    hints=(
        "Section 1.4 multiplies the scores by a number, which is 1 / temperature.",
        "Divide the scores and take the softmax over the last axis. At an infinite temperature, "
        "every score becomes 0.",
        "Compute `scores / temperature`, then call `softmax` with `dim=-1`: it does not overflow.",
    ),
    insight="Dividing scores by √Dk sets this number to √Dk. A chatbot's *temperature* is such a "
    "number in another softmax, the one that chooses the next word.",
    comes_back="Chapter 3 lowers the temperature and measures how much of a gradient is left.",
)
