"""Longformer's mask."""

from collections.abc import Callable, Sequence

import torch
from torch import Generator, Tensor

from attnbook.exercises.exercise import Case, Exercise, Mistake, Property


def my_pattern(length: int, window: int, global_tokens: Sequence[int]) -> Tensor:
    position = torch.arange(length)
    near = (position - position[:, None]).abs() <= window  # (L, L)
    is_global = torch.tensor([token in global_tokens for token in range(length)])  # (L,)
    return near | is_global | is_global[:, None]


def pattern_filled_in(length: int, window: int, global_tokens: Sequence[int]) -> Tensor:
    mask = torch.ones(length, length, dtype=torch.bool).tril(window).triu(-window)
    for token in global_tokens:
        mask[token, :] = True
        mask[:, token] = True
    return mask


def pattern_cases(generator: Generator) -> list[Case]:
    asked = (
        (5, 1, ()),
        (8, 1, (3,)),
        (7, 0, (2,)),
        (11, 2, (0, 6)),
        (17, 1, (0, 8, 14)),
        (13, 3, (9,)),
        (6, 9, (1,)),
    )
    return [
        Case((n, w, tokens), {"L": n}, f"length {n}, window {w}, global_tokens {tokens}")
        for n, w, tokens in asked
    ]


def pattern(
    near: Callable[[Tensor, int], Tensor] = lambda back, window: back.abs() <= window,
    join: Callable[[Tensor, Tensor], Tensor] = lambda near, column: near | column | column.mT,
) -> Callable[[int, int, Sequence[int]], Tensor]:
    """Longformer's mask, right unless a part is replaced.

    `near` gets i − j, (L, L). `join` gets the window and the global words' columns, both (L, L).
    """

    def wrong(length: int, window: int, global_tokens: Sequence[int]) -> Tensor:
        position = torch.arange(length)
        columns = torch.zeros(length, length, dtype=torch.bool)
        columns[:, list(global_tokens)] = True
        return join(near(position[:, None] - position, window), columns)

    return wrong


def pattern_by_slices(length: int, window: int, global_tokens: Sequence[int]) -> Tensor:
    mask = torch.zeros(length, length, dtype=torch.bool)
    for i in range(length):
        mask[i, i - window : i + window + 1] = True
    for token in global_tokens:
        mask[token, :] = mask[:, token] = True
    return mask


def pattern_by_a_tuple(length: int, window: int, global_tokens: Sequence[int]) -> Tensor:
    mask = my_pattern(length, window, ())
    mask[global_tokens] = True
    mask[:, global_tokens] = True
    return mask


EXERCISE = Exercise(
    title="A window and global words",
    level=1,
    minutes=8,
    section="10.8",
    prompt="""
Write `my_pattern(length, window, global_tokens)`, which returns Longformer's mask: a boolean tensor
of shape (L, L), where True means *may attend*. Each word attends to itself and to `window` words on
each side. `global_tokens` is a tuple of positions such as `(0, 6)`. The words at these positions
attend to every word, and every word attends to them.
""",
    reference=my_pattern,
    cases=pattern_cases,
    axes="L L",
    mistakes=(
        Mistake(
            pattern(lambda back, window: back.abs() < window),
            "Off by one: words at a distance of exactly `window` belong to the window.",
        ),
        Mistake(
            pattern(lambda back, window: (back <= window) & (back > -window)),
            "The last word of each window is missing. `range` and slices stop *before* their end.",
        ),
        Mistake(
            pattern_by_slices,
            "The first windows are empty: i − window is negative there, so the slice counts from "
            "the end. Begin at 0 there.",
        ),
        Mistake(
            pattern(lambda back, window: back.abs() <= window // 2),
            "You halved `window`. It counts the words on *each* side.",
        ),
        Mistake(
            pattern(lambda back, window: (back >= 0) & (back <= window)),
            "Your window contains only earlier words. It should extend to both sides of the word.",
        ),
        Mistake(
            pattern(lambda back, window: back <= window),
            "Your window includes all later words. Use the distance without its sign.",
        ),
        Mistake(
            pattern(join=lambda near, column: near | column.mT),
            "The global words attend to all words, but not all words attend to them: their "
            "columns are missing.",
        ),
        Mistake(
            pattern(join=lambda near, column: near | column),
            "All words attend to the global words, but these attend only to their windows: their "
            "rows are missing.",
        ),
        Mistake(
            pattern(join=lambda near, column: near | (column & column.mT)),
            "Your global words attend only to one another. Each needs its whole row and column.",
        ),
        Mistake(
            pattern(join=lambda near, column: near),
            "The window is right, but the global words have no effect.",
        ),
        Mistake(
            pattern_by_a_tuple,
            "`mask[(0, 6)]` is one cell, row 0 and column 6, and `mask[()]` is the whole mask: "
            "each number in a tuple indexes one axis. Use a list, or set one word at a time.",
        ),
        Mistake(
            pattern(join=lambda near, column: (near | column | column.mT).tril()),
            "You hid the later words. Longformer's mask is not causal.",
        ),
    ),
    properties=(
        Property(
            "Each word should attend to itself, but some of yours do not.",
            lambda answer, case: bool(answer.diagonal().all()),
        ),
    ),
    hints=(
        "The window is about the distance between two positions. Take `torch.arange(length)` "
        "as a row and as a column, and subtract.",
        "A global word fills its row and its column.",
        "`(position - position[:, None]).abs() <= window`, then `|`.",
    ),
    insight="A window allows at most L · (2 · window + 1) pairs, and each global word adds at most "
    "2 · L: the number grows with L, not with L².",
    comes_back="10.hops counts the layers that such masks need.",
    others=(pattern_filled_in,),
)
