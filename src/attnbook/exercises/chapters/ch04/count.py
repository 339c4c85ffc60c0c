"""How many parameters does a layer have?"""

from collections.abc import Callable
from dataclasses import dataclass

from torch import Generator

from attnbook.attention.multi_head import MultiHeadAttention
from attnbook.exercises.chapters.mistake_sets import MistakeSet
from attnbook.exercises.exercise import Case, Exercise, Mistake
from attnbook.mistakes.head import WrongLine


def my_parameters(d_model: int, n_heads: int, bias: bool) -> int:
    matrix = d_model * d_model
    return 4 * (matrix + d_model if bias else matrix)


def parameters_of_a_layer(d_model: int, n_heads: int, bias: bool) -> int:
    layer = MultiHeadAttention(d_model, n_heads, bias=bias)
    return sum(p.numel() for p in layer.parameters())


def count_cases(generator: Generator) -> list[Case]:
    sizes = ((6, 3, False), (10, 2, True), (12, 3, True), (14, 1, False), (768, 12, True))
    return [
        Case((d, h, bias), {"D": d, "H": h}, f"d_model {d}, n_heads {h}, bias {bias}")
        for d, h, bias in sizes
    ]


@dataclass(frozen=True)
class Count:
    """The number of parameters in all matrices, and in all biases; the defaults are right."""

    matrices: Callable[[int, int], int] = lambda d, h: 4 * d * d
    biases: Callable[[int, int], int] = lambda d, h: 4 * d

    def __call__(self, d: int, h: int, bias: bool) -> int:
        return self.matrices(d, h) + (self.biases(d, h) if bias else 0)


COUNT_MISTAKES = (
    WrongLine("matrices", lambda d, h: 3 * d * d, "You counted three matrices. W_O is the fourth."),
    WrongLine(
        "matrices",
        lambda d, h: 4 * h * d * d,
        "You gave each head four matrices of full width. A head is only d_model / n_heads wide.",
    ),
    WrongLine(
        "matrices",
        lambda d, h: (3 * h + 1) * d * d,
        "You gave each head three matrices of full width.",
    ),
    WrongLine(
        "matrices",
        lambda d, h: 4 * d * d // h,
        "You counted the matrices of one head only, which map d_model to d_model / n_heads. "
        "There are n_heads of them.",
    ),
    WrongLine(
        "matrices",
        lambda d, h: 3 * d * d // h + d * d,
        "Your three projections are those of one head. There are n_heads heads.",
    ),
    WrongLine(
        "matrices",
        lambda d, h: 3 * d * d + d * d // h,
        "Your W_O is one head's block. The whole W_O takes the concat of all heads.",
    ),
    WrongLine("biases", lambda d, h: 0, "With `bias=True` each column also gets a learned number."),
    WrongLine("biases", lambda d, h: 1, "`bias` is True, which counts as 1. Each layer adds D."),
    WrongLine("biases", lambda d, h: 4, "A bias has one number per column, not a single number."),
    WrongLine(
        "biases", lambda d, h: d, "You counted one bias. Each of the four linear layers has one."
    ),
    WrongLine("biases", lambda d, h: 3 * d, "You counted three biases. W_O has one as well."),
    WrongLine(
        "biases",
        lambda d, h: 4 * h * d,
        "You gave each head biases of full width. A bias has one number per column.",
    ),
    WrongLine(
        "biases",
        lambda d, h: (3 * h + 1) * d,
        "You gave each head three biases of full width. A bias has one number per column.",
    ),
    WrongLine("biases", lambda d, h: 4 * d // h, "You counted the biases of one head."),
    WrongLine(
        "biases",
        lambda d, h: 3 * d // h + d,
        "For queries, keys and values, you counted only the biases of one head.",
    ),
)

EXERCISE = Exercise(
    title="How many parameters?",
    level=1,
    minutes=5,
    section="4.9",
    prompt="""
Write `my_parameters(d_model, n_heads, bias)`: the number of parameters of `MultiHeadAttention`,
including W_O. All heads together are as wide as the model; `bias` says whether each linear layer
has a bias. Return a whole number. (Counting the parameters of a built layer also passes, but the
point is to find a formula.)
""",
    reference=my_parameters,
    cases=count_cases,
    mistakes=(
        Mistake(
            lambda d, h, bias: 3 * (d * d + (d if bias else 0)),
            "You counted queries, keys and values. W_O is the fourth matrix.",
        ),
        Mistake(
            lambda d, h, bias: 4 * (d * d + d),
            "You counted four biases where there are none: `bias=False` leaves all of them out.",
        ),
    ),
    common_mistakes=MistakeSet(lambda count: count, COUNT_MISTAKES, right=Count()),
    hints=(
        "Count one matrix first, with all heads side by side: how many columns is that?",
        "All four matrices have the same size. A bias has one number per column.",
        "The count is 4 · D² without biases, and 4 · D more with them.",
    ),
    others=(parameters_of_a_layer,),
    comes_back="Chapter 8 adds a feed-forward network to the layer, and counts again.",
    insight="The answer does not depend on `n_heads`: the heads divide the columns among "
    "themselves.",
)
