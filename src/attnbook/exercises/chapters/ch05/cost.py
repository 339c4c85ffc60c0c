"""Count the multiplications."""

import itertools
import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Generator

from attnbook.exercises.exercise import Case, Exercise, Mistake, Property


def multiplications(Lq: int, Lk: int, D: int, Dc: int, Dk: int, Dv: int) -> int:
    projections = Lq * D * Dk + Lk * Dc * Dk + Lk * Dc * Dv
    scores = Lq * Lk * Dk
    mixing = Lq * Lk * Dv
    return projections + scores + mixing


def cost_cases(generator: Generator) -> list[Case]:
    drawn = [torch.randperm(30, generator=generator)[:6].add(3).tolist() for _ in range(4)]
    return [
        Case(tuple(s), note=f"Lq, Lk, D, Dc, Dk, Dv = {s}")
        for s in ([7, 11, 19, 13, 17, 23], *drawn)
    ]


def products_counted(Lq: int, Lk: int, D: int, Dc: int, Dk: int, Dv: int) -> int:
    products = [(Lq, D, Dk), (Lk, Dc, Dk), (Lk, Dc, Dv), (Lq, Dk, Lk), (Lq, Lk, Dv)]
    return sum(rows * inner * columns for rows, inner, columns in products)


def all_but(term: Callable[..., int]) -> Callable[[Any, Case], bool]:
    """Return a check that fails if only this one of the five products is missing or wrong."""

    def holds(answer: Any, case: Case) -> bool:
        right, sizes = multiplications(*case.arguments), case.arguments
        instead = answer - right + term(*sizes)
        products = (math.prod(p) for n in (2, 3) for p in itertools.combinations(sizes, n))
        return bool(answer == right or (instead != 0 and instead not in products))

    return holds


TERMS: tuple[tuple[str, Callable[..., int]], ...] = (
    ("X times W_Q", lambda Lq, Lk, D, Dc, Dk, Dv: Lq * D * Dk),
    ("the context times W_K", lambda Lq, Lk, D, Dc, Dk, Dv: Lk * Dc * Dk),
    ("the context times W_V", lambda Lq, Lk, D, Dc, Dk, Dv: Lk * Dc * Dv),
    ("queries times keys", lambda Lq, Lk, D, Dc, Dk, Dv: Lq * Dk * Lk),
    ("weights times values", lambda Lq, Lk, D, Dc, Dk, Dv: Lq * Lk * Dv),
)

EXERCISE = Exercise(
    title="Count the multiplications",
    level=2,
    minutes=10,
    section="5.4",
    prompt="""
How many multiplications does one head of cross-attention take? Count the three projections, the
scores, and the mixing of the values, but not the scaling or the softmax. X is (Lq, D), the context
(Lk, Dc), W_Q (D, Dk), W_K (Dc, Dk), and W_V (Dc, Dv). Multiplying an (a, b) matrix by a (b, c)
matrix takes a·b·c multiplications. Return a whole number. (One head has no W_O.)
""",
    reference=multiplications,
    cases=cost_cases,
    mistakes=(
        Mistake(
            lambda Lq, Lk, D, Dc, Dk, Dv: Lq * Lk * (Dk + Dv),
            "Scores and mixing are right. The three projections are missing.",
        ),
        Mistake(
            lambda Lq, Lk, D, Dc, Dk, Dv: Lq * D * Dk + Lk * Dc * (Dk + Dv),
            "The projections are right. The scores and the mixing are missing.",
        ),
        Mistake(
            lambda Lq, Lk, D, Dc, Dk, Dv: 2 * multiplications(Lq, Lk, D, Dc, Dk, Dv),
            "Your number is exactly twice the right one: you also counted the additions.",
        ),
        Mistake(
            lambda Lq, Lk, D, Dc, Dk, Dv: multiplications(Lq, Lk, D, Dc, Dk, Dv) + Lq * Lk,
            "Your number is too large by Lq·Lk, one for each score. Do not count the scaling "
            "or the softmax.",
        ),
        Mistake(
            lambda Lq, Lk, D, Dc, Dk, Dv: multiplications(Lq, Lk, D, Dc, Dk, Dv) + Lq * Dv * D,
            "You counted a W_O. One head has none.",
        ),
        Mistake(
            lambda Lq, Lk, D, Dc, Dk, Dv: Lq * Lk * D * Dc * Dk * Dv,
            "You multiplied all six sizes. Count each of the five products, then add them.",
        ),
        Mistake(
            lambda Lq, Lk, D, Dc, Dk, Dv: D * Dk + Dc * Dk + Dc * Dv + Lq * Lk * (Dk + Dv),
            "You counted each number in the three matrices once. But every row of X or of the "
            "context is multiplied by them.",
        ),
        Mistake(
            lambda Lq, Lk, D, Dc, Dk, Dv: Lq * (D * Dk + (Dc + Lk) * (Dk + Dv)),
            "The context has Lk rows, not Lq.",
        ),
        Mistake(
            lambda Lq, Lk, D, Dc, Dk, Dv: Lq * D * Dk + Lk * Dc * (Dk + Dv) + Lq * Lq * (Dk + Dv),
            "You counted Lq² scores, as in self-attention. Cross-attention has Lq·Lk.",
        ),
        Mistake(
            lambda Lq, Lk, D, Dc, Dk, Dv: Lq * D * Dk + Lk * D * (Dk + Dv) + Lq * Lk * (Dk + Dv),
            "The rows of the context are Dc wide, not D.",
        ),
        Mistake(
            lambda Lq, Lk, D, Dc, Dk, Dv: Lq * D * Dk + 2 * Lk * Dc * Dk + 2 * Lq * Lk * Dk,
            "Values are Dv wide, both in their projection and in the mixing.",
        ),
    ),
    properties=tuple(
        Property(f"Only one product is wrong: {name}.", all_but(term)) for name, term in TERMS
    ),
    hints=(
        "There are five products. What are the two shapes in each of them?",
        "X W_Q is (Lq, D)(D, Dk): Lq·D·Dk. The context has two such products, with Dc.",
        "Q Kᵀ takes Lq·Lk·Dk, and A V takes Lq·Lk·Dv.",
    ),
    others=(products_counted,),
    comes_back="Chapter 10 reduces the terms with Lq·Lk and counts again.",
    insight="Only two of the five terms contain Lq·Lk. For a prompt of fixed length, the total "
    "grows with the number of patches, not with its square.",
)
