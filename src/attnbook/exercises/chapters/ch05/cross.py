"""A cross-attention layer by hand."""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Generator, Tensor

from attnbook.exercises.chapters.mistake_sets import MistakeSet
from attnbook.exercises.exercise import Case, Exercise, Mistake, draw, named_sizes, some_sizes
from attnbook.mistakes.lines import ATTENTION_MISTAKES


def my_cross(x: Tensor, context: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor) -> Tensor:
    query, key, value = x @ w_q, context @ w_k, context @ w_v
    weights = (query @ key.mT / math.sqrt(query.size(-1))).softmax(dim=-1)
    return weights @ value


def cross_by_pytorch(x: Tensor, context: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor) -> Tensor:
    return F.scaled_dot_product_attention(x @ w_q, context @ w_k, context @ w_v)


def cross_row_by_row(x: Tensor, context: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor) -> Tensor:
    key, value, rows = context @ w_k, context @ w_v, []
    for i in range(x.size(-2)):
        query = x[..., i : i + 1, :] @ w_q  # (..., 1, Dk)
        scores = (query * key).sum(dim=-1) / w_q.size(1) ** 0.5  # (..., Lk)
        rows.append((scores.softmax(dim=-1)[..., None] * value).sum(dim=-2))
    return torch.stack(rows, dim=-2)


def cross_cases(generator: Generator) -> list[Case]:
    def case(note: str, lq: int, lk: int, d: int, d_k: int, d_v: int, *leading: int) -> Case:
        rows = [draw(generator, *leading, n, d) for n in (lq, lk)]
        matrices = [draw(generator, d, width) / d**0.5 for width in (d_k, d_k, d_v)]
        sizes = named_sizes("A B Lq Lk D Dk Dv", (*leading, lq, lk, d, d_k, d_v))
        return Case((*rows, *matrices), sizes, note)

    return [
        case("2 queries, 3 keys", 2, 3, 7, 5, 6),
        case("other sizes", *some_sizes(generator, 5)),
        case("a batch of 2", 7, 9, 8, 6, 5, 2),
        case("two leading axes", 5, 8, 6, 10, 7, 2, 3),
        case("1 query, 9 keys", 1, 9, 5, 7, 6),
    ]


def from_sides(asks: int, labels: int, contents: int) -> Callable[..., Tensor]:
    """Return the layer with each of its three inputs taken from x (0) or the context (1)."""

    def belief(x: Tensor, context: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor) -> Tensor:
        sides = (x, context)
        query, key, value = sides[asks] @ w_q, sides[labels] @ w_k, sides[contents] @ w_v
        return (query @ key.mT / math.sqrt(query.size(-1))).softmax(dim=-1) @ value

    return belief


EXERCISE = Exercise(
    title="Cross-attention by hand",
    level=1,
    minutes=8,
    section="5.3",
    prompt="""
Write `my_cross(x, context, w_q, w_k, w_v)`: one head of cross-attention, scaled as usual, with no
mask. The queries come from `x` (..., Lq, D), the keys and values from `context` (..., Lk, D). The
matrices are w_q (D, Dk), w_k (D, Dk) and w_v (D, Dv), and rows are multiplied by them: `x @ w_q`.
The answer is (..., Lq, Dv); the dots stand for any number of axes, or none.
""",
    reference=my_cross,
    cases=cross_cases,
    axes="A B Lq Dv",
    others=(cross_row_by_row, cross_by_pytorch),
    mistakes=(
        Mistake(from_sides(0, 0, 0), "You never use the context. That is self-attention."),
        Mistake(
            from_sides(1, 0, 0),
            "The roles are reversed: the output needs one row for each row of x.",
        ),
        Mistake(from_sides(1, 1, 1), "You never use x: the context queries itself."),
        Mistake(
            from_sides(0, 1, 0),
            "Your keys come from the context and your values from x. Both have to come from the "
            "same rows.",
        ),
        Mistake(
            from_sides(0, 0, 1),
            "Your keys come from x and your values from the context. Both have to come from the "
            "same rows.",
        ),
        Mistake(
            lambda x, context, w_q, w_k, w_v: (
                ((context @ w_k) @ (x @ w_q).mT / math.sqrt(w_q.size(-1))).softmax(-1)
                @ (context @ w_v)
            ),
            "You multiply the values by a matrix (Lk, Lq). Row i of the weights belongs to row i "
            "of x, so the weights are (Lq, Lk).",
        ),
        Mistake(
            lambda x, context, w_q, w_k, w_v: my_cross(x, context, w_k, w_q, w_v),
            "You exchanged W_Q and W_K. They have the same shape, so this raises no error.",
        ),
        Mistake(
            lambda x, context, w_q, w_k, w_v: my_cross(x, context, w_q, w_q, w_v),
            "You made the keys with W_Q. They have their own matrix.",
        ),
        Mistake(
            lambda x, context, w_q, w_k, w_v: my_cross(
                x, torch.cat((x, context), -2), w_q, w_k, w_v
            ),
            "You made the keys and values from x and the context together. They come from the "
            "context alone.",
        ),
        Mistake(
            lambda x, context, w_q, w_k, w_v: my_cross(x, context, w_q.mT, w_k.mT, w_v.mT),
            "You transposed the matrices, as nn.Linear stores them. Here, multiply the rows by "
            "them as they are.",
        ),
    ),
    common_mistakes=MistakeSet(
        lambda head: lambda x, context, w_q, w_k, w_v: head(x @ w_q, context @ w_k, context @ w_v),
        ATTENTION_MISTAKES,
        widths={
            "D": lambda x, context, w_q, w_k, w_v: x.size(-1),
            "Dv": lambda x, context, w_q, w_k, w_v: w_v.size(-1),
        },
    ),
    hints=(
        "There are three projections. Which two use the same sequence, and why?",
        "A key leads to its value, so both are made from the context. Only the query is made from "
        "x.",
        "After the projections, the equation of chapter 3 applies unchanged.",
    ),
    insight="Only one thing differs from self-attention: `context` replaces `x` for keys "
    "and values.",
    comes_back="The decoder of chapter 8 reads the encoder's output with these three lines.",
)
