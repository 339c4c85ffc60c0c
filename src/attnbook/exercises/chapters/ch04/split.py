"""Split one projection into heads."""

import torch
from torch import Generator, Tensor

from attnbook.exercises.exercise import Case, Exercise, Mistake, draw, named_sizes


def split(x: Tensor, n_heads: int) -> Tensor:
    return x.unflatten(-1, (n_heads, -1)).transpose(-2, -3)


def split_one_by_one(x: Tensor, n_heads: int) -> Tensor:
    width = x.size(-1) // n_heads
    return torch.stack([x[..., h * width : (h + 1) * width] for h in range(n_heads)], dim=-3)


def split_cases(generator: Generator) -> list[Case]:
    def case(note: str, n_heads: int, d_k: int, *sizes: int) -> Case:
        x = draw(generator, *sizes, n_heads * d_k)
        return Case((x, n_heads), named_sizes("A B L H Dk", (*sizes, n_heads, d_k)), note)

    return [
        case("3 words of width 10, 2 heads", 2, 5, 3),
        case("4 words of width 15, 3 heads", 3, 5, 4),
        case("a batch of 2: 5 words of width 21, 3 heads", 3, 7, 2, 5),
        case("two axes in front of the words", 5, 6, 2, 3, 7),
        case("a single head", 1, 5, 2, 3),
    ]


def three_axes(x: Tensor, n_heads: int) -> Tensor:
    B, L, D = x.shape
    return x.view(B, L, n_heads, D // n_heads).transpose(1, 2)


EXERCISE = Exercise(
    title="Split one projection into heads",
    level=2,
    minutes=8,
    section="4.6",
    prompt="""
Write `split(x, n_heads)`. `x` has shape (..., L, D), with any number of leading axes in place of
the dots, or none. The answer has shape (..., H, L, Dk), where H is `n_heads` and Dk is D/H, a whole
number: head 0 gets the first Dk columns of every word, head 1 the next Dk, and so on. (The
library's `split_heads` also passes, but the point is to see how it is done.)
""",
    reference=split,
    cases=split_cases,
    axes="A B H L Dk",
    mistakes=(
        Mistake(
            lambda x, n_heads: x.reshape(*x.shape[:-2], n_heads, x.size(-2), -1),
            "`view` and `reshape` do not move any numbers, so head 0 gets the first words at "
            "their full width. Split the last axis in two first, then swap the axes.",
        ),
        Mistake(
            lambda x, n_heads: x.unflatten(-1, (-1, n_heads)).movedim(-1, -3),
            "Your heads alternate: head 0 has columns 0, H, 2H, and so on. Each head should get "
            "*neighboring* columns.",
        ),
        Mistake(
            lambda x, n_heads: x.unflatten(-1, (n_heads, -1)),
            "Each row is split. Now the head axis has to come before the word axis.",
        ),
        Mistake(
            lambda x, n_heads: x.chunk(n_heads, dim=-1),
            "The pieces are right. They need an axis of their own, before the word axis.",
        ),
        Mistake(
            lambda x, n_heads: x.unflatten(-1, (n_heads, -1)).transpose(0, 1),
            "You swapped axes 0 and 1, which is right only without a batch. Count from the end.",
        ),
        Mistake(
            lambda x, n_heads: x.unflatten(-1, (n_heads, -1)).transpose(1, 2),
            "You swapped axes 1 and 2, which is right only with one batch axis. Count from the "
            "end.",
        ),
        Mistake(
            three_axes,
            "Your function needs three axes, and there may be two, four or more. Count from the "
            "end.",
        ),
        Mistake(
            lambda x, n_heads: torch.stack(x.chunk(n_heads, dim=-1)),
            "Your heads come before the batch. They belong after it, right before the words.",
        ),
    ),
    hints=(
        "Split the last axis into two axes, then swap two axes.",
        "`x.unflatten(-1, (n_heads, -1))` is (..., L, H, Dk).",
        "Then `.transpose(-2, -3)`.",
    ),
    others=(split_one_by_one,),
    comes_back="In section 4.10 the single projection of GPT-2 is split in the same way.",
    insight="The split needs no multiplication: a head is a block of neighboring columns.",
)
