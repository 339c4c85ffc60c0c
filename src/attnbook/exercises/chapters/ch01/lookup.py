"""Ask the library one question."""

import math

import torch
from torch import Generator, Tensor

from attnbook.exercises.chapters.ch01.shared import MIXTURE
from attnbook.exercises.chapters.mistake_sets import MistakeSet
from attnbook.exercises.exercise import Case, Exercise, Mistake, draw, some_sizes
from attnbook.language import _
from attnbook.mistakes.head import Head
from attnbook.mistakes.lines import OUTPUT_MISTAKES, WEIGHT_MISTAKES


def lookup(query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    weights = (keys @ query).softmax(dim=0)
    return weights @ values


def lookup_by_loops(query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    scores = [sum(wish * offer for wish, offer in zip(query, key, strict=True)) for key in keys]
    powers = [score.exp() for score in scores]
    report = torch.zeros_like(values[0])
    for power, value in zip(powers, values, strict=True):
        report = report + power / sum(powers) * value
    return report


def lookup_cases(generator: Generator) -> list[Case]:
    sizes = ((3, 5, 6), some_sizes(generator, 3), (6, 11, 1), (1, 3, 5))
    return [
        Case(
            (draw(generator, dk), draw(generator, lk, dk), draw(generator, lk, dv)),
            {"Lk": lk, "Dk": dk, "Dv": dv},
            _("{n} books").format(n=lk) if lk > 1 else _("a library of one book"),
        )
        for lk, dk, dv in sizes
    ]


EXERCISE = Exercise(
    title="One question, one report",
    level=1,
    minutes=5,
    section="1.2",
    prompt="""
Write `lookup(query, keys, values)`: match, focus and mix for one question. `query` has shape (Dk,),
`keys` (Lk, Dk), `values` (Lk, Dv), and the report (Dv,). All are PyTorch tensors. Use the plain
scores of section 1.2, without dividing them.
""",
    reference=lookup,
    others=(lookup_by_loops,),
    cases=lookup_cases,
    axes="Dv",
    mistakes=(
        Mistake(
            lambda q, k, v: (k @ q / math.sqrt(q.size(0))).softmax(0) @ v,
            "You divided the scores by √Dk, as section 1.6 does. This card asks for the plain "
            "scores.",
        ),
        Mistake(
            lambda q, k, v: torch.cosine_similarity(k, q[None]).softmax(0) @ v,
            "Your scores are cosines. A dot product also depends on the lengths.",
        ),
        Mistake(
            lambda q, k, v: (-(k - q).norm(dim=1)).softmax(0) @ v,
            "Your scores are negative distances. A score is a dot product: multiply and add up.",
        ),
        Mistake(
            lambda q, k, v: (k @ q).relu() / (k @ q).relu().sum() @ v,
            "You set negative scores to 0. The softmax gives even a bad match a small weight.",
        ),
        Mistake(
            lambda q, k, v: (k @ q).softmax(0)[:, None] * v,
            "You weighted the books but did not add them up into one report.",
        ),
        Mistake(
            lambda q, k, v: (k * q).softmax(0).sum(1) @ v,
            "The softmax came too early. Each book has one score: multiply, add up, then take the "
            "softmax.",
        ),
    ),
    common_mistakes=MistakeSet(
        lambda head: lambda query, keys, values: head(query[None], keys, values)[0],
        WEIGHT_MISTAKES,
        OUTPUT_MISTAKES,
        right=Head(scores=lambda query, keys: query @ keys.mT),
    ),
    properties=(MIXTURE,),
    hints=(
        "There are three steps: a score for each book, weights from the scores, and one mixture "
        "of the values.",
        "`keys @ query` gives all scores at once, shape (Lk,).",
        "`.softmax(dim=0)` turns them into weights; `weights @ values` is the mixture.",
    ),
    insight="That was attention. The open question is where queries and keys come from.",
    comes_back="Chapter 3 computes a query, a key and a value for each word, with three matrices.",
)
