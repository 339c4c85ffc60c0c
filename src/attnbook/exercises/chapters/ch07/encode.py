"""The sinusoidal encoding by hand."""

import math

import torch
from torch import Generator, Tensor

from attnbook.exercises.exercise import Case, Exercise, Mistake, Property
from attnbook.language import _


def encode(length: int, d_model: int) -> Tensor:
    frequencies = 10000.0 ** (-torch.arange(0, d_model, 2) / d_model)  # (D / 2,)
    angles = torch.arange(length)[:, None] * frequencies  # (L, D / 2)
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)


def encode_by_loops(length: int, d_model: int) -> Tensor:
    p = torch.zeros(length, d_model)
    for t in range(length):
        for k in range(d_model // 2):
            omega = 1 / 10000 ** (2 * k / d_model)
            p[t, 2 * k], p[t, 2 * k + 1] = math.sin(omega * t), math.cos(omega * t)
    return p


def encode_cases(generator: Generator) -> list[Case]:
    sizes = ((3, 6), (5, 12), (4, 10), (7, 14), (1, 8))
    return [
        Case(
            (n, d), {"L": n, "D": d}, _("length {length}, width {width}").format(length=n, width=d)
        )
        for n, d in sizes
    ]


def clocks(length: int, frequencies: Tensor, first: int = 0) -> Tensor:
    angles = torch.arange(first, first + length)[:, None] * frequencies
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)


def frequencies_of(d_model: int) -> Tensor:
    return 10000.0 ** (-torch.arange(0, d_model, 2) / d_model)


def own_frequency(length: int, d_model: int, count: int = 1) -> Tensor:
    frequencies = 10000.0 ** (-count * torch.arange(d_model) / d_model)
    angles = torch.arange(length)[:, None] * frequencies
    return torch.where(torch.arange(d_model) % 2 == 0, angles.sin(), angles.cos())


def halves(length: int, d_model: int) -> Tensor:
    angles = torch.arange(length)[:, None] * frequencies_of(d_model)
    return torch.cat((angles.sin(), angles.cos()), dim=-1)


def one_pair_short(d_model: int) -> Tensor:
    return 10000.0 ** (-torch.arange(d_model // 2) / max(d_model // 2 - 1, 1))


EXERCISE = Exercise(
    title="A row of clocks",
    level=2,
    minutes=10,
    section="7.3",
    prompt="""
Write `encode(length, d_model)`: the sinusoidal encodings of the positions 0, 1, …, length − 1.
`d_model`, or D, is even. The answer has shape (L, D) and PyTorch's default dtype: column 2k is the
sine of hand k and column 2k + 1 its cosine. Hand k turns by 10000^(−2k/D) from one position to the
next. Try it without a loop over positions.
""",
    asks_for_dtype=True,
    reference=encode,
    cases=encode_cases,
    axes="L D",
    mistakes=(
        Mistake(
            halves,
            "All your sines come before your cosines, as in many programs. In the formula they "
            "alternate.",
        ),
        Mistake(
            lambda length, d_model: clocks(length, frequencies_of(d_model), first=1),
            "Your first row is that of position 1. Position 0 needs a row, too.",
        ),
        Mistake(
            lambda length, d_model: clocks(length, frequencies_of(d_model) ** 0.5),
            "Your exponents are k/D, half as large as they should be. Use 2k/D. (`arange(0, D, 2)` "
            "already counts 2k.)",
        ),
        Mistake(
            lambda length, d_model: clocks(length, frequencies_of(d_model) ** 2),
            "Your exponents are twice as large as they should be. `arange(0, D, 2)` already "
            "counts 2k.",
        ),
        Mistake(
            own_frequency,
            "Each of your columns has its own frequency. Columns 2k and 2k + 1 should have the "
            "same angle.",
        ),
        Mistake(
            lambda length, d_model: own_frequency(length, d_model, count=2),
            "You used the column index as k. But k counts hands, and each hand has two columns.",
        ),
        Mistake(
            lambda length, d_model: (
                clocks(length, frequencies_of(d_model)).unflatten(-1, (-1, 2)).flip(-1).flatten(1)
            ),
            "Your cosines come before your sines. Row 0 should begin with 0, 1.",
        ),
        Mistake(
            lambda length, d_model: (
                torch.arange(length)[:, None] * frequencies_of(d_model).repeat_interleave(2)
            ).sin(),
            "Every column is a sine here. The odd columns are cosines.",
        ),
        Mistake(
            lambda length, d_model: clocks(length, 1 / frequencies_of(d_model)),
            "Your hands get faster from left to right. The exponent should be negative.",
        ),
        Mistake(
            lambda length, d_model: clocks(length, one_pair_short(d_model)),
            "You divide the exponent by D/2 − 1, so that the slowest hand turns by 1/10000. The "
            "formula divides by D.",
        ),
        Mistake(
            lambda length, d_model: clocks(length, torch.ones(d_model // 2)),
            "All your hands turn by one radian per position. Does a `//` in the exponent drop the "
            "fraction?",
        ),
        Mistake(
            lambda length, d_model: clocks(length, 10000.0 ** -torch.arange(0.0, d_model, 2)),
            "Your exponent is not divided by D.",
        ),
    ),
    properties=(
        Property(
            "A sine and its cosine form a hand of length 1. Yours do not.",
            lambda answer, case: bool(
                (answer.unflatten(-1, (-1, 2)).norm(dim=-1) - 1).abs().max() < 1e-4
            ),
        ),
    ),
    hints=(
        "Each angle is the product of a position and a frequency. There are L positions and D/2 "
        "frequencies.",
        "`torch.arange(length)[:, None] * frequencies` is (L, D/2). Take its sine and its cosine.",
        "`torch.stack((sines, cosines), dim=-1)` is (L, D/2, 2); `.flatten(1)` makes them "
        "alternate.",
    ),
    others=(encode_by_loops,),
    comes_back="Section 7.4 turns these hands, and chapter 11 turns queries and keys instead.",
    insight="An encoding depends neither on the words nor on the length: row 40 is the same in a "
    "text of 41 words and in a book.",
)
