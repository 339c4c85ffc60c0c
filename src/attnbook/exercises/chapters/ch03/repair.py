"""Repair three faults in the three lines of attention."""

import math

import torch.nn.functional as F
from torch import Generator, Tensor

from attnbook.exercises.chapters.mistake_sets import MistakeSet
from attnbook.exercises.exercise import Case, Exercise, Mistake, draw, named_sizes, some_sizes
from attnbook.mistakes.lines import ATTENTION_MISTAKES


def attend(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    scores = query @ key.mT / math.sqrt(query.size(-1))
    weights = scores.softmax(dim=-1)
    return weights @ value


def with_pytorch(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    return F.scaled_dot_product_attention(query, key, value)


def attend_cases(generator: Generator) -> list[Case]:
    def case(note: str, *leading: int, sizes: list[int]) -> Case:
        lq, lk, d_k, d_v = sizes
        shapes = ((lq, d_k), (lk, d_k), (lk, d_v))
        drawn = tuple(draw(generator, *leading, *s) for s in shapes)
        return Case(drawn, named_sizes("A B H Lq Lk Dk Dv", (*leading, *sizes)), note)

    return [
        case("3 queries, 5 keys, Dk = 7, Dv = 6", sizes=[3, 5, 7, 6]),
        case("other sizes", sizes=some_sizes(generator, 4)),
        case("a batch of 2 with 3 heads", 2, 3, sizes=[5, 7, 6, 8]),
        case("one more leading axis", 2, 3, 4, sizes=[7, 5, 10, 6]),
    ]


EXERCISE = Exercise(
    title="Three faults in three lines",
    level=2,
    minutes=10,
    section="3.6",
    prompt="""
Each of these three lines of attention has one fault. Fix them. `query` is (..., Lq, Dk), `key` is
(..., Lk, Dk), `value` is (..., Lk, Dv), and the answer is (..., Lq, Dv).
""",
    stub="""
def attend(query, key, value):
    raise NotImplementedError  # repair the lines below, then delete this one
    scores = query @ key.mT / math.sqrt(value.size(-1))
    weights = scores.softmax(dim=-2)
    return weights.mT @ value
""",
    reference=attend,
    cases=attend_cases,
    axes="B H Lq Dv",
    mistakes=(
        Mistake(
            lambda q, k, v: (q @ k.mT / math.sqrt(v.size(-1))).softmax(-2).mT @ v,
            "The last line still transposes the weights. (Lq, Lk) times (Lk, Dv) fits as it is. "
            "Are the other lines right?",
        ),
        Mistake(
            lambda q, k, v: (q @ k.mT / math.sqrt(v.size(-1))).softmax(-1) @ v,
            "The first line still divides by √Dv. Dot products sum over the width of the queries.",
        ),
        Mistake(
            lambda q, k, v: (q @ k.mT / math.sqrt(q.size(-1))).softmax(-2) @ v,
            "The second line still normalizes over the queries. Each row has to sum to 1.",
        ),
        Mistake(
            lambda q, k, v: (q @ k.mT / math.sqrt(v.size(-1))).softmax(-2) @ v,
            "The last line is correct now. In the first line, which width is under the root? In "
            "the second, what sums to 1?",
        ),
        Mistake(
            lambda q, k, v: (q @ k.mT).softmax(-1) @ v,
            "The wrong root is gone, but the scores still have to be divided.",
        ),
        Mistake(
            lambda q, k, v: (q @ k.mT).softmax(-1) @ v / math.sqrt(q.size(-1)),
            "You divide after the softmax. The scores are too large: divide before it.",
        ),
    ),
    common_mistakes=MistakeSet(
        lambda head: head,
        ATTENTION_MISTAKES,
        widths={"Dv": lambda query, key, value: value.size(-1)},
    ),
    hints=(
        "Write the shape at the end of each line. Only the last line can raise an error, and it "
        "raises none if Lq = Lk.",
        "The width under the root is the one that the dot product sums over.",
        "Use `query.size(-1)`, `dim=-1`, and no `.mT` on the weights.",
    ),
    insight="Two of the faults never raise an error, and with Lq = Lk neither does the third. "
    "Comparing numbers with a reference finds all three if Dk and Dv differ.",
    comes_back="Exercises 04.repair and 07.repair each hide another wrong root.",
    others=(with_pytorch,),
)
