"""A triangle for the newest words."""

from collections.abc import Callable

import torch
from torch import Generator, Tensor

from attnbook.attention.masks import causal_mask
from attnbook.exercises.exercise import Case, Exercise, Mistake, some_sizes
from attnbook.language import _


def my_causal(n_queries: int, n_keys: int) -> Tensor:
    everyone = torch.ones(n_queries, n_keys, dtype=torch.bool)
    return everyone.tril(n_keys - n_queries)


def last_rows(n_queries: int, n_keys: int) -> Tensor:
    return causal_mask(n_keys)[n_keys - n_queries :]


def by_positions(n_queries: int, n_keys: int) -> Tensor:
    key = torch.arange(n_keys)
    query = key[n_keys - n_queries :, None]  # (Lq, 1), the position of each query
    return key <= query


def causal_cases(generator: Generator) -> list[Case]:
    lq, lk = sorted(some_sizes(generator, 2))
    return [
        Case((4, 4), {"L": 4}, "4 queries, 4 keys"),
        Case((2, 5), {"Lq": 2, "Lk": 5}, "the 2 newest of 5 words"),
        Case((5, 7), {"Lq": 5, "Lk": 7}, "the 5 newest of 7 words"),
        Case(
            (lq, lk),
            {"Lq": lq, "Lk": lk},
            _("the {n} newest of {words} words").format(n=lq, words=lk),
        ),
        Case((1, 6), {"Lq": 1, "Lk": 6}, "the newest of 6 words"),
    ]


def triangle(side: str, shift: int) -> Callable[[int, int], Tensor]:
    """Make a wrong mask: the other triangle, or one whose diagonal is shifted."""

    def wrong(n_queries: int, n_keys: int) -> Tensor:
        everyone = torch.ones(n_queries, n_keys, dtype=torch.bool)
        return getattr(everyone, side)(n_keys - n_queries + shift)

    return wrong


EXERCISE = Exercise(
    title="A triangle for the newest words",
    level=1,
    minutes=8,
    section="6.12",
    prompt="""
Write `my_causal(n_queries, n_keys)`: the causal mask for the newest `n_queries` words of a sentence
of `n_keys` words. With as many queries as keys, it is the triangle of section 6.3; with one query,
it is the row of section 6.12. The answer is boolean (True = may look) and has shape (Lq, Lk).
""",
    reference=my_causal,
    cases=causal_cases,
    axes="Lq Lk",
    mistakes=(
        Mistake(
            lambda n_queries, n_keys: torch.ones(n_queries, n_keys, dtype=torch.bool).tril(),
            "Your triangle starts in the top left corner. The queries are the *newest* words, so "
            "it has to end in the bottom right corner.",
        ),
        Mistake(
            triangle("tril", 1),
            "Off by one: each word also sees the next one, which it has to predict.",
        ),
        Mistake(triangle("tril", -1), "Off by one: a word may also see itself."),
        Mistake(
            triangle("triu", 1),
            "In your mask, True means hidden, as in `nn.MultiheadAttention`. In this book, True "
            "means may look.",
        ),
        Mistake(
            triangle("triu", 0),
            "Each word sees itself and what comes after it. This is the triangle for words in "
            "columns (section 6.4).",
        ),
        Mistake(
            lambda n_queries, n_keys: torch.ones(n_keys, n_queries, dtype=torch.bool).tril(
                n_queries - n_keys
            ),
            "Your rows belong to the keys. A mask has one row per query, like the scores.",
        ),
        Mistake(
            lambda n_queries, n_keys: torch.ones(n_queries, n_keys, dtype=torch.bool).tril(
                n_queries - n_keys
            ),
            "The shift has the wrong sign. The diagonal has to move to the right, which is "
            "positive in `tril`.",
        ),
        Mistake(
            lambda n_queries, n_keys: torch.ones(n_queries, n_keys, dtype=torch.bool),
            "Everything is permitted. That is right only for the newest word.",
        ),
        Mistake(
            lambda n_queries, n_keys: torch.ones(n_queries, n_keys, dtype=torch.bool).triu(1),
            "In your mask, True means hidden, and the triangle starts in the top left corner.",
        ),
        Mistake(
            lambda n_queries, n_keys: torch.ones(n_queries, n_keys).tril(n_keys - n_queries),
            "These are numbers. If they are added to the scores, 1 and 0 hide nothing (section "
            "6.7).",
        ),
        Mistake(
            lambda n_queries, n_keys: torch.full((n_queries, n_keys), -torch.inf).triu(
                n_keys - n_queries + 1
            ),
            "0 and −inf would work if they were added to the scores. The book's masks are boolean.",
        ),
    ),
    hints=(
        "At which position of the sentence is query 0? That many keys come before it.",
        "Query i is at position i + n_keys − n_queries and sees the keys up to there.",
        "`torch.ones(..., dtype=torch.bool).tril(d)` keeps the columns j ≤ i + d of row i.",
    ),
    insight="With one query, the mask is all True: the newest word needs no mask. `is_causal=True` "
    "would show it only the first word.",
    comes_back="06.heads combines the square causal mask with a padding mask.",
    others=(last_rows, by_positions),
)
