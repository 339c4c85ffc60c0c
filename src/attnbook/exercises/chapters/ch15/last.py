"""The last real word of each sentence."""

import torch
from torch import Generator, Tensor

from attnbook.exercises.exercise import Case, Exercise, Mistake, draw


def last_real(x: Tensor, keep: Tensor) -> Tensor:
    from_here_on = keep.flip(1).cumsum(1).flip(1)  # (B, L), how many real words
    return x[keep & (from_here_on == 1)]


def last_real_by_flipping(x: Tensor, keep: Tensor) -> Tensor:
    from_the_end = keep.flip(1).int().argmax(dim=1)
    last = x.size(1) - 1 - from_the_end
    return x.gather(1, last[:, None, None].expand(-1, 1, x.size(2)))[:, 0]


def picked(x: Tensor, slot: Tensor) -> Tensor:
    return x[torch.arange(len(x), device=x.device), slot]


def last_slot(keep: Tensor) -> Tensor:
    return keep.size(1) - 1 - keep.flip(1).int().argmax(1)


def last_cases(generator: Generator) -> list[Case]:
    def case(note: str, width: int, *rows: str) -> Case:
        keep = torch.tensor([[mark == "1" for mark in row] for row in rows])
        sizes = {"B": len(rows), "L": len(rows[0]), "D": width}
        return Case((draw(generator, *keep.shape, width), keep), sizes, note)

    return [
        case("padding on the right", 3, "11100", "11110"),
        case("padding on the left", 5, "0011", "0111", "1111"),
        case("some left, some right", 6, "0001111", "1100000", "1111100", "0000001"),
        case("on both sides", 7, "001100", "011110", "100000"),
    ]


EXERCISE = Exercise(
    title="The last real word",
    level=1,
    minutes=6,
    section="15.10",
    second_reading=True,
    prompt="""
A classifier reads the vector of the last real word. Write `last_real(x, keep)`. `x` (B, L, D) are
the output's rows, and `keep` (B, L) is boolean, True for real words. A sentence may be padded on
the left, on the right, or on both sides; there is no padding inside it. Return (B, D), the row of
each sentence's last real word.
""",
    axes="B D",
    reference=last_real,
    cases=last_cases,
    mistakes=(
        Mistake(
            lambda x, keep: x[:, -1],
            "This is the last *slot*. With padding on the right, it is padding.",
        ),
        Mistake(
            lambda x, keep: x[:, last_slot(keep)],
            "`x[:, last]` takes these slots from *every* sentence. Index both axes.",
        ),
        Mistake(
            lambda x, keep: picked(x, last_slot(keep) + 1),
            "Off by one: this is the slot after the last real word. Slots are counted from 0.",
        ),
        Mistake(
            lambda x, keep: picked(x, keep.sum(1) - 1),
            "The number of real words, minus 1, is the last slot only if there is no padding on "
            "the left.",
        ),
        Mistake(
            lambda x, keep: picked(x, keep.int().argmax(1)),
            "`argmax` finds the *first* True. You need the last.",
        ),
        Mistake(
            lambda x, keep: picked(x, keep.flip(1).int().argmax(1)),
            "You counted from the end, and used the number as if it were counted from the front.",
        ),
        Mistake(
            lambda x, keep: (x * keep[..., None]).sum(1) / keep.sum(1, keepdim=True),
            "This is the mean of the real words' rows. Only the last row is wanted.",
        ),
        Mistake(
            lambda x, keep: picked(x, keep.int().argmin(1) - 1),
            "You took the slot before the first False. With padding on the left, the first False "
            "is slot 0.",
        ),
    ),
    hints=(
        "Which slot is the last one with True? The answer differs from sentence to sentence.",
        "Slot numbers times `keep` are 0 at padding. What is the largest?",
        "`x[torch.arange(len(x)), last]` picks one row of each sentence.",
    ),
    insight="A rule such as `lengths - 1` contains an assumption about the side of the padding. "
    "The mask doesn't need one.",
    comes_back="In 15.batch the padding is on the left, so that all last words are in one column.",
    others=(last_real_by_flipping,),
)
