"""Latent attention without keys and values."""

import math
from collections.abc import Callable

import torch.nn.functional as F
from torch import Generator, Tensor

from attnbook.exercises.exercise import Case, Exercise, Mistake, draw, limited_to, some_sizes
from attnbook.language import _


def absorbed(query: Tensor, latents: Tensor, w_k: Tensor, w_v: Tensor) -> Tensor:
    moved = query @ w_k.mT  # (..., H, Lq, d_c)
    scores = moved @ latents.unsqueeze(-3).mT / math.sqrt(query.size(-1))
    mixed = scores.softmax(dim=-1) @ latents.unsqueeze(-3)  # (..., H, Lq, d_c)
    return mixed @ w_v


def absorbed_in_fused_attention(query: Tensor, latents: Tensor, w_k: Tensor, w_v: Tensor) -> Tensor:
    """The latents are keys and values at once, the same for all heads."""
    moved = query @ w_k.mT
    rows = latents.unsqueeze(-3).expand(*moved.shape[:-2], *latents.shape[-2:])
    scale = query.size(-1) ** -0.5
    return F.scaled_dot_product_attention(moved, rows, rows, scale=scale) @ w_v


def absorb_cases(generator: Generator) -> list[Case]:
    def case(note: str, *sizes: int) -> Case:
        *front, heads, lq, lk, rank, dk, dv = sizes
        latents = draw(generator, *front, lk, rank)
        query = draw(generator, *front, heads, lq, dk)
        matrices = (draw(generator, heads, rank, width) for width in (dk, dv))
        names = ("A", "B", "H", "Lq", "Lk", "d_c", "Dk", "Dv")[-len(sizes) :]
        arguments = (query, latents, *matrices)
        return Case(arguments, dict(zip(names, sizes, strict=True)), note)

    lq, lk, rank, dk, dv = some_sizes(generator, 5)
    many = case("one head, a step over 40 latents", 1, 1, 40, 5, 7, 8)
    small = limited_to(40 * 5, _("the latents"))
    return [
        case("2 heads", 2, 3, 5, 4, 6, 7),
        case("a step: one query", 3, 1, 6, 7, 5, 8),
        case("a batch of 2", 2, 3, 4, 7, 5, 8, 6),
        case("one more leading axis", 3, 2, 5, 4, 7, 8, 6, 10),
        case("one head", 1, lq, lk, rank, dk, dv),
        Case(tuple(x.as_subclass(small) for x in many.arguments), many.sizes, many.note),
    ]


def in_parts(
    move: Callable[[Tensor, Tensor], Tensor] = lambda query, w_k: query @ w_k.mT,
    size: Callable[..., float] = lambda query, rows, value: query.size(-1),
    weigh: Callable[[Tensor], Tensor] = lambda scores: scores.softmax(-1),
    out: Callable[..., Tensor] = lambda weights, rows, w_v: weights @ rows @ w_v,
) -> Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]:
    """The absorbed form, right unless one of its parts is replaced."""

    def wrong(query: Tensor, latents: Tensor, w_k: Tensor, w_v: Tensor) -> Tensor:
        rows = latents.unsqueeze(-3)
        scores = move(query, w_k) @ rows.mT / math.sqrt(size(query, rows, w_v))
        return out(weigh(scores), rows, w_v)

    return wrong


def with_keys_and_values(query: Tensor, latents: Tensor, w_k: Tensor, w_v: Tensor) -> Tensor:
    rows = latents.unsqueeze(-3)
    scores = query @ (rows @ w_k).mT / math.sqrt(query.size(-1))
    return scores.softmax(dim=-1) @ (rows @ w_v)


EXERCISE = Exercise(
    title="A step that computes no keys",
    level=3,
    minutes=15,
    section="14.3",
    second_reading=True,
    prompt="""
H heads of latent attention read the `latents` of a text, (..., Lk, d_c). Head h has the matrices
`w_k[h]` (d_c, Dk) and `w_v[h]` (d_c, Dv): its keys would be latents @ w_k[h], and its values
latents @ w_v[h]. Write `absorbed(query, latents, w_k, w_v)`, which computes the heads' outputs,
(..., H, Lq, Dv), from `query` (..., H, Lq, Dk) without ever computing a key or a value. There are
no rotary positions and no mask, and scores are divided by √Dk as always.
""",
    reference=absorbed,
    cases=absorb_cases,
    axes="A B H Lq Dv",
    mistakes=(
        Mistake(
            with_keys_and_values,
            "These are the right outputs, but you computed all keys. Move each query by w_k "
            "instead, and compare it with the latents themselves.",
        ),
        Mistake(
            in_parts(out=lambda weights, rows, w_v: weights @ (rows @ w_v)),
            "These are the right outputs, but you computed all values. Sum the latents first, and "
            "apply w_v to the sum.",
        ),
        Mistake(
            in_parts(size=lambda query, rows, w_v: rows.size(-1)),
            "You divided the scores by √d_c. The moved query is d_c wide, but its scores are those "
            "of queries and keys of width Dk: divide by √Dk.",
        ),
        Mistake(
            in_parts(size=lambda query, rows, w_v: w_v.size(-1)),
            "You divided the scores by √Dv. Divide by √Dk, the width of the queries.",
        ),
        Mistake(
            in_parts(size=lambda query, rows, w_v: 1),
            "The scores are not divided by √Dk.",
        ),
        Mistake(
            in_parts(size=lambda query, rows, w_v: query.size(-1) ** 2),
            "You divided the scores by Dk. Divide by √Dk.",
        ),
        Mistake(
            in_parts(move=lambda query, w_k: query @ w_k[:1].mT),
            "All your heads use the key matrix of head 0. Each head has its own.",
        ),
        Mistake(
            in_parts(out=lambda weights, rows, w_v: weights @ rows @ w_v[:1]),
            "All your heads use the value matrix of head 0. Each head has its own.",
        ),
        Mistake(
            in_parts(out=lambda weights, rows, w_v: weights @ rows),
            "These are mixtures of latents. Each head still has to apply its value matrix.",
        ),
        Mistake(
            in_parts(weigh=lambda scores: scores.softmax(-2)),
            "The softmax ran over the queries. It has to run over the latents, the last axis.",
        ),
        Mistake(
            in_parts(weigh=lambda scores: scores),
            "The softmax is missing: latents were mixed with scores.",
        ),
        Mistake(
            in_parts(move=lambda query, w_k: query @ w_k),
            "The query is Dk wide, and w_k has d_c rows. Transpose w_k: the query moves from Dk "
            "to d_c numbers.",
        ),
    ),
    hints=(
        "A score is the dot product of a query and a key: q · (c w_k). Which other product of the "
        "three gives the same number?",
        "q · (c w_k) = (q w_kᵀ) · c. So move each query once, and compare it with all latents. For "
        "the output, sum first, and apply w_v to the sum.",
        "`moved = query @ w_k.mT`, then scores with `latents.unsqueeze(-3).mT`, and the output is "
        "`weights @ latents.unsqueeze(-3) @ w_v`.",
    ),
    insight="Both matrices left the sum over the words: w_k moves to the query and w_v to the "
    "output, and each is applied once per step instead of once per word. This works because they "
    "are linear and the same for all words. A rotation between them, which differs from word to "
    "word, would prevent it.",
    comes_back="`LatentAttention` does this in every step with a cache.",
    others=(absorbed_in_fused_attention,),
)
