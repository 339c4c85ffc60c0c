"""Ask the library many questions at once."""

import math

import torch
import torch.nn.functional as F
from torch import Generator, Tensor

from attnbook.exercises.chapters.ch01.shared import MIXTURE
from attnbook.exercises.chapters.mistake_sets import MistakeSet
from attnbook.exercises.exercise import Case, Exercise, Mistake, draw, some_sizes
from attnbook.language import _
from attnbook.mistakes.lines import ATTENTION_MISTAKES


def lookups(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    scores = queries @ keys.T / math.sqrt(keys.size(-1))
    return scores.softmax(dim=-1) @ values


def lookups_one_by_one(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    reports = []
    for query in queries:
        powers = torch.exp(keys @ query / keys.size(1) ** 0.5)
        reports.append(powers / powers.sum() @ values)
    return torch.stack(reports)


def lookups_by_pytorch(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    return F.scaled_dot_product_attention(queries, keys, values)


def lookups_cases(generator: Generator) -> list[Case]:
    sizes = ((3, 5, 6, 7), some_sizes(generator, 4), (7, 6, 11, 1), (1, 5, 3, 6), (5, 1, 3, 7))
    return [
        Case(
            (draw(generator, lq, dk), draw(generator, lk, dk), draw(generator, lk, dv)),
            {"Lq": lq, "Lk": lk, "Dk": dk, "Dv": dv},
            _("{n} questions to {books} books, cards of width {width}").format(
                n=lq, books=lk, width=dk
            ),
        )
        for lq, lk, dk, dv in sizes
    ]


EXERCISE = Exercise(
    title="A queue of questions, answered at once",
    level=2,
    minutes=10,
    section="1.6",
    prompt="""
Write `lookups(queries, keys, values)`: the equation of section 1.6, including √Dk, in PyTorch.
`queries` has shape (Lq, Dk), `keys` (Lk, Dk), `values` (Lk, Dv), and the answer (Lq, Dv): one
report per query.
""",
    reference=lookups,
    others=(lookups_one_by_one, lookups_by_pytorch),
    cases=lookups_cases,
    axes="Lq Dv",
    mistakes=(
        Mistake(
            lambda q, k, v: (
                (q.mean(0) @ k.T / math.sqrt(k.size(1))).softmax(0).expand(len(q), -1) @ v
            ),
            "You averaged the queries first, so they all get the same report.",
        ),
        Mistake(
            lambda q, k, v: (k @ q.T / math.sqrt(k.size(1))).softmax(1) @ v,
            "Your weights have shape (Lk, Lq). Row i belongs to query i, so they should be (Lq, "
            "Lk).",
        ),
    ),
    common_mistakes=MistakeSet(
        lambda head: lambda queries, keys, values: head(queries, keys, values),
        ATTENTION_MISTAKES,
        widths={"Dv": lambda queries, keys, values: values.size(-1)},
    ),
    properties=(MIXTURE,),
    hints=(
        "You need two matrix products with a softmax between them. What is the shape after each "
        "step?",
        "`queries @ keys.T` is (Lq, Lk): row i has the scores of query i. Which axis has to sum "
        "to 1?",
        "Divide by `math.sqrt(keys.size(1))`, take `.softmax(dim=1)`, and multiply by `values`.",
    ),
    insight="The queries do not affect each other: answered one at a time or all at once, they "
    "get the same reports.",
    comes_back="Chapter 6 relies on this: training processes all words at once, but the model "
    "writes one word at a time.",
)
