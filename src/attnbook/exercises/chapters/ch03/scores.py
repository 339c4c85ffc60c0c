"""Compare every query with every key."""

import math

import torch
from torch import Generator, Tensor

from attnbook.exercises.chapters.mistake_sets import MistakeSet
from attnbook.exercises.exercise import Case, Exercise, Mistake, draw, named_sizes, some_sizes
from attnbook.language import _
from attnbook.mistakes.lines import SCORE_MISTAKES


def my_scores(query: Tensor, key: Tensor) -> Tensor:
    return query @ key.mT / math.sqrt(query.size(-1))


def by_einsum(query: Tensor, key: Tensor) -> Tensor:
    return torch.einsum("...id,...jd->...ij", query, key) / math.sqrt(query.size(-1))


def shared_scale(query: Tensor, key: Tensor) -> Tensor:
    root = query.size(-1) ** 0.25
    return (query / root) @ (key / root).transpose(-2, -1)


def score_cases(generator: Generator) -> list[Case]:
    def case(note: str, *leading: int, sizes: tuple[int, int, int]) -> Case:
        lq, lk, d_k = sizes
        drawn = (draw(generator, *leading, lq, d_k), draw(generator, *leading, lk, d_k))
        return Case(drawn, named_sizes("A B H Lq Lk Dk", (*leading, *sizes)), note)

    lq, lk, d_k = some_sizes(generator, 3)
    return [
        case("3 queries, 5 keys, width 7", sizes=(3, 5, 7)),
        case(
            _("{queries} queries, {keys} keys, width {width}").format(
                queries=lq, keys=lk, width=d_k
            ),
            sizes=(lq, lk, d_k),
        ),
        case("a batch of 2 with 3 heads, width 6", 2, 3, sizes=(5, 7, 6)),
        case("one more leading axis, width 10", 2, 3, 4, sizes=(7, 5, 10)),
        case("one query, one key, width 3", sizes=(1, 1, 3)),
    ]


EXERCISE = Exercise(
    title="Compare every query with every key",
    level=1,
    minutes=5,
    section="3.6",
    prompt="""
Write `my_scores(query, key)`: the scaled dot product of each query with each key. `query` has shape
(..., Lq, Dk), `key` has (..., Lk, Dk), and the answer has (..., Lq, Lk). The dots stand for any
number of leading dimensions, such as batch and heads.
""",
    reference=my_scores,
    cases=score_cases,
    axes="B H Lq Lk",
    mistakes=(
        Mistake(
            lambda q, k: (q @ k.mT / math.sqrt(q.size(-1))).softmax(-1),
            "These are already weights. Scores are the input of the softmax.",
        ),
        Mistake(
            lambda q, k: (
                (q[..., : min(q.size(-2), k.size(-2)), :] * k[..., : q.size(-2), :]).sum(-1)
                / math.sqrt(q.size(-1))
            ),
            "You compared query i with key i only. Compare every query with every key.",
        ),
        Mistake(
            lambda q, k: torch.cdist(q, k),
            "These are distances. A good match has a small distance but a large dot product.",
        ),
    ),
    common_mistakes=MistakeSet(lambda head: head.scores, SCORE_MISTAKES),
    hints=(
        "One matrix product gives all dot products if the keys are the columns of its second "
        "matrix.",
        "`key.mT` swaps the last two axes and leaves the axes of batch and heads in place.",
        "Compute `query @ key.mT` and divide it by √Dk, the square root of the width of queries "
        "and keys.",
    ),
    insight="One matrix product compares every query with every key, as the loops of section 3.5 "
    "do.",
    comes_back="Chapter 4 runs this line for all heads at once. Chapter 6 adds a mask, and "
    "chapter 7 adds positions.",
    others=(by_einsum, shared_scale),
)
