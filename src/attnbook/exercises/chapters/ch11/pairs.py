"""Reorder rotary pairs: halves or neighbors."""

from collections.abc import Callable

import torch
from torch import Generator, Tensor

from attnbook.exercises.exercise import Case, Exercise, Mistake, draw


def for_pairs(weight: Tensor, n_heads: int) -> Tensor:
    halves = weight.unflatten(0, (n_heads, 2, -1))  # (H, 2, Dk / 2, D)
    return halves.transpose(1, 2).flatten(0, 2)


def for_pairs_by_numbers(weight: Tensor, n_heads: int) -> Tensor:
    width = len(weight) // n_heads
    rows = []
    for h in range(n_heads):
        for k in range(width // 2):
            rows += [h * width + k, h * width + k + width // 2]
    return weight[rows]


def pairs_cases(generator: Generator) -> list[Case]:
    def case(note: str, h: int, dk: int, d: int) -> Case:
        return Case((draw(generator, h * dk, d), h), {"H": h, "Dk": dk, "D": d}, note)

    return [
        case("1 head of width 6", 1, 6, 7),
        case("2 heads of width 6", 2, 6, 5),
        case("3 heads of width 10", 3, 10, 7),
        case("5 heads of width 14", 5, 14, 11),
    ]


def reordered(order: Callable[[Tensor], Tensor]) -> Callable[[Tensor, int], Tensor]:
    """Make a function that reorders the rows. `order` gets their indices, (H, Dk)."""

    def wrong(weight: Tensor, n_heads: int) -> Tensor:
        rows = torch.arange(len(weight), device=weight.device).view(n_heads, -1)
        return weight[order(rows).flatten()]

    return wrong


def half_and_half(rows: Tensor) -> Tensor:
    return rows.unflatten(-1, (2, -1)).mT.flatten(-2)


EXERCISE = Exercise(
    title="Halves or neighbors",
    level=3,
    minutes=15,
    section="11.7",
    second_reading=True,
    prompt="""
In Hugging Face's version of Llama, rotary positions rotate column k of a head together with column
k + Dk/2. Ours rotate columns 2k and 2k + 1, as Meta's own code does. Both give the same scores if
the columns of queries and keys are reordered to match. Write `for_pairs(weight, n_heads)`. It gets
the weight of Hugging Face's `q_proj` or `k_proj` as `nn.Linear` stores it, (H · Dk, D). Its *rows*
compute the columns of a query, and the first Dk rows belong to head 0. Return the weight for our
layer, with the rows in the order that our `apply_rotary` needs.
""",
    reference=for_pairs,
    cases=pairs_cases,
    axes="H·Dk D",
    mistakes=(
        Mistake(
            reordered(lambda rows: rows.unflatten(-1, (-1, 2)).mT),
            "This is the reverse, from neighbors to halves: 0, 2, 4, …, 1, 3, 5, …",
        ),
        Mistake(
            reordered(lambda rows: half_and_half(rows.flatten())),
            "You treated all heads as one. Each head has its own two halves.",
        ),
        Mistake(
            reordered(lambda rows: half_and_half(rows)[:1].repeat(len(rows), 1)),
            "Every head got the rows of head 0. Head h begins at row h · Dk.",
        ),
        Mistake(
            reordered(lambda rows: rows.unflatten(-1, (2, -1)).transpose(0, 1)),
            "You swapped heads and halves. Swap halves and columns instead.",
        ),
        Mistake(
            reordered(lambda rows: rows),
            "The rows are still in Hugging Face's order. Reshaping back and forth moves no row.",
        ),
        Mistake(
            reordered(lambda rows: half_and_half(rows).unflatten(-1, (-1, 2)).flip(-1)),
            "The pairs are right, but each is reversed, so it would rotate the other way.",
        ),
        Mistake(
            reordered(lambda rows: rows.unflatten(-1, (2, -1)).flip(-2)),
            "You swapped the two halves. They have to be interleaved.",
        ),
        Mistake(
            reordered(lambda rows: rows.mT),
            "Your rows alternate between heads. The order should change only within a head.",
        ),
        Mistake(
            lambda weight, n_heads: torch.cat((weight[:, 0::2], weight[:, 1::2]), dim=1),
            "You reordered the *columns*, which belong to the input. Reorder the rows.",
        ),
    ),
    hints=(
        "For a head of width 6, our pairs are rows (0, 1), (2, 3), (4, 5). Which rows does Hugging "
        "Face pair?",
        "The order is 0, 3, 1, 4, 2, 5. Two halves of three rows become three pairs: two axes are "
        "swapped.",
        "`weight.unflatten(0, (n_heads, 2, -1))`, swap the two axes in the middle, then flatten.",
    ),
    insight="A dot product does not depend on the order of its terms, as long as queries and keys "
    "agree. So the values and W_O stay as they are.",
    comes_back="Section 11.7 says how closely our layer then matches Llama.",
    others=(for_pairs_by_numbers,),
)
