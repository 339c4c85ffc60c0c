"""Grouped-query attention."""

import math
from collections.abc import Callable

import torch
from torch import Generator, Tensor

from attnbook.exercises.chapters.mistake_sets import MistakeSet
from attnbook.exercises.exercise import Case, Exercise, Mistake, draw, some_sizes
from attnbook.mistakes.head import Head
from attnbook.mistakes.lines import ATTENTION_MISTAKES


def grouped(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    shared = query.size(-3) // key.size(-3)
    key, value = (x.repeat_interleave(shared, dim=-3) for x in (key, value))
    weights = (query @ key.mT / math.sqrt(query.size(-1))).softmax(dim=-1)
    return weights @ value


def grouped_without_copies(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    groups = query.unflatten(-3, (key.size(-3), -1))  # (..., G, H / G, Lq, Dk)
    scores = groups @ key.unsqueeze(-3).mT / math.sqrt(query.size(-1))
    return (scores.softmax(dim=-1) @ value.unsqueeze(-3)).flatten(-4, -3)


def share_cases(generator: Generator) -> list[Case]:
    def case(note: str, *sizes: int) -> Case:
        *front, h, g, lq, lk, dk, dv = sizes
        query = draw(generator, *front, h, lq, dk)
        key, value = draw(generator, *front, g, lk, dk), draw(generator, *front, g, lk, dv)
        names = ("A", "B", "H", "G", "Lq", "Lk", "Dk", "Dv")[-len(sizes) :]
        named = dict(zip(names, sizes, strict=True))
        if g == h:
            del named["G"]
        return Case((query, key, value), named, note)

    lq, lk, dk, dv = some_sizes(generator, 4)
    return [
        case("4 heads, 2 key heads", 4, 2, 3, 5, 6, 7),
        case("6 heads, 2 key heads", 6, 2, 3, 5, 7, 8),
        case("a batch of 2: 9 heads, 3 key heads", 2, 9, 3, 5, 8, 7, 6),
        case("one more leading axis", 3, 2, 8, 4, 5, 6, 7, 10),
        case("4 heads, 1 key head", 4, 1, lq, lk, dk, dv),
        case("3 heads, 3 key heads", 3, 3, 5, 7, 6, 8),
    ]


def repeated(
    repeat: Callable[[Tensor, int], Tensor] = lambda x, n: x.repeat_interleave(n, dim=-3),
    values: Callable[[Tensor, int], Tensor] | None = None,
    head: Head = Head(),  # noqa: B008  frozen
) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    """Grouped-query attention, right unless the repetition or the head is replaced."""

    def wrong(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        n = query.size(-3) // key.size(-3)
        return head(query, repeat(key, n), (values or repeat)(value, n))

    return wrong


EXERCISE = Exercise(
    title="Grouped-query attention",
    level=2,
    minutes=12,
    section="11.4",
    prompt="""
Write `grouped(query, key, value)` for grouped-query attention without a mask. `query` has shape
(..., H, Lq, Dk), `key` (..., G, Lk, Dk), `value` (..., G, Lk, Dv), and the output
(..., H, Lq, Dv). H is a multiple of G. *Neighboring* heads share: with 6 heads and 2 key heads,
heads 0, 1, 2 use key head 0, and heads 3, 4, 5 use key head 1. The dots stand for any number of
leading dimensions.
""",
    reference=grouped,
    cases=share_cases,
    axes="A B H Lq Dv",
    mistakes=(
        Mistake(
            repeated(lambda x, n: torch.cat([x] * n, dim=-3)),
            "Your heads take turns: heads 0, 2, 4 use key head 0. Neighbors share, so the key "
            "heads have to be repeated in the order 0 0 1 1, not 0 1 0 1.",
        ),
        Mistake(
            repeated(values=lambda x, n: torch.cat([x] * n, dim=-3)),
            "The keys are right, but the values are repeated in another order, 0 1 0 1. A head "
            "needs the values of its own key head.",
        ),
        Mistake(
            repeated(lambda x, n: x.repeat(n, 1, 1)),
            "`repeat(n, 1, 1)` works only with three axes, and it repeats heads in the order 0 1 "
            "0 1. Neighbors share: 0 0 1 1.",
        ),
        Mistake(
            repeated(lambda x, n: x[..., [0] * n * x.size(-3), :, :]),
            "All heads use key head 0. Each group has its own key head.",
        ),
        Mistake(
            repeated(lambda x, n: x.repeat_interleave(n, dim=0)),
            "You repeated along axis 0, which is the batch if there is one. Count from the end.",
        ),
        Mistake(
            repeated(lambda x, n: x.repeat_interleave(n, dim=1)),
            "You repeated along axis 1, which works only with one batch axis. Count from the end.",
        ),
        Mistake(
            repeated(lambda x, n: x),
            "You combined H query heads with G heads of keys or values. Broadcasting stretches "
            "only an axis of size 1.",
        ),
        Mistake(
            repeated(head=Head(scores=lambda q, k: k @ q.mT / math.sqrt(q.size(-1)))),
            "The shapes of two matrices do not match. Scores and weights have the shape (Lq, Lk).",
        ),
        Mistake(
            repeated(
                head=Head(weights=lambda s: (s + torch.full_like(s, -math.inf).triu(1)).softmax(-1))
            ),
            "You masked later words. The card asks for no mask.",
        ),
    ),
    common_mistakes=MistakeSet(
        lambda head: repeated(head=head),
        ATTENTION_MISTAKES,
        widths={"Dv": lambda query, key, value: value.size(-1)},
    ),
    hints=(
        "How many heads share one key head? Give each of them a copy.",
        "The copies come in the order 0 0 0 1 1 1. PyTorch has two functions that repeat, and they "
        "differ in this order.",
        "`key.repeat_interleave(query.size(-3) // key.size(-3), dim=-3)`, and the same "
        "for the values.",
    ),
    insight="With G = H this is multi-head attention, and with G = 1 it is multi-query attention. "
    "All three compute equally many scores, but with fewer key heads there are fewer keys and "
    "values to keep and, without copies, fewer to read.",
    comes_back="The chapter's `GroupedQueryAttention` adds the projections.",
    others=(grouped_without_copies,),
)
