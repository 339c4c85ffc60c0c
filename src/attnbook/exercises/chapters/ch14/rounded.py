"""Round keys to a few bits."""

from collections.abc import Callable

import torch
from torch import Generator, Tensor

from attnbook.exercises.exercise import Case, Exercise, Mistake, Property, draw, some_sizes
from attnbook.language import _


def my_rounded(key: Tensor, bits: int) -> Tensor:
    low, high = key.aminmax(dim=-1, keepdim=True)  # (..., L, 1)
    step = (high - low) / (2**bits - 1)
    return low + ((key - low) / step).round() * step


def rounded_to_a_list_of_levels(key: Tensor, bits: int) -> Tensor:
    low, high = key.amin(-1, keepdim=True), key.amax(-1, keepdim=True)
    parts = torch.arange(2**bits).to(key) / (2**bits - 1)
    levels = low + (high - low) * parts  # (..., L, levels)
    nearest = (key[..., None] - levels[..., None, :]).abs().argmin(-1)
    return levels.gather(-1, nearest)


def rounded_cases(generator: Generator) -> list[Case]:
    def case(note: str, bits: int, *sizes: int) -> Case:
        names = ("A", "B", "H", "L", "Dk")[-len(sizes) :]
        drawn = draw(generator, *sizes) * 2 + 1
        return Case((drawn, bits), dict(zip(names, sizes, strict=True)), note)

    length, dk = some_sizes(generator, 2)
    return [
        case("3 words, 2 bits", 2, 3, 5),
        case(_("{n} words, 3 bits").format(n=length), 3, length, dk),
        case("1 bit", 1, 4, 6),
        case("2 sentences, 3 heads, 4 bits", 4, 2, 3, 5, 7),
        case("one more leading axis", 3, 4, 2, 3, 5, 6),
    ]


def rounding(
    over: Callable[[Tensor], tuple[Tensor, Tensor]] = lambda x: x.aminmax(dim=-1, keepdim=True),
    steps: Callable[[int], int] = lambda bits: 2**bits - 1,
    whole: Callable[[Tensor], Tensor] = torch.round,
    back: Callable[[Tensor, Tensor, Tensor], Tensor] = lambda low, step, n: low + step * n,
) -> Callable[[Tensor, int], Tensor]:
    """Return a rounding that is right unless a part is replaced."""

    def wrong(key: Tensor, bits: int) -> Tensor:
        low, high = over(key)
        step = (high - low) / steps(bits)
        return back(low, step, whole((key - low) / step))

    return wrong


def around_zero(key: Tensor, bits: int) -> Tensor:
    step = 2 * key.abs().amax(-1, keepdim=True) / (2**bits - 1)
    return (key / step).round() * step


EXERCISE = Exercise(
    title="Keys rounded to a few bits",
    level=1,
    minutes=8,
    section="14.10",
    second_reading=True,
    prompt="""
Write `my_rounded(key, bits)`. `key` (..., L, Dk) holds the keys of L words. The range of each key,
from the smallest of its Dk numbers to the largest, is divided into equal steps, so that there are
2 to the power of `bits` levels, the smallest and the largest number among them. Return the keys
with each number moved to the nearest level, (..., L, Dk).
""",
    reference=my_rounded,
    cases=rounded_cases,
    axes="A B H L Dk",
    gradients=False,
    mistakes=(
        Mistake(
            rounding(steps=lambda bits: 2**bits),
            "2 to the power of `bits` *levels* have one step fewer between them. With your step, "
            "the largest number would be one level too many.",
        ),
        Mistake(
            rounding(steps=lambda bits: 2 ** (bits - 1)),
            "You divided the range into 2^(b − 1) steps. With b bits there are 2^b levels, which "
            "have 2^b − 1 steps between them.",
        ),
        Mistake(
            rounding(steps=lambda bits: 2 ^ bits - 1),
            "In Python, `^` is the exclusive or of two whole numbers. Write `2 ** bits`.",
        ),
        Mistake(
            rounding(steps=lambda bits: bits),
            "You divided the range into `bits` steps. With b bits there are 2^b levels.",
        ),
        Mistake(
            rounding(over=lambda x: (x.amin(), x.amax())),
            "All keys share one range: `.min()` without an axis takes the smallest number of all. "
            "Each key has its own range.",
        ),
        Mistake(
            rounding(
                over=lambda x: (x.amin((-2, -1), keepdim=True), x.amax((-2, -1), keepdim=True))
            ),
            "All words of a head share one range. Each key, the vector of one word, has its own.",
        ),
        Mistake(
            rounding(over=lambda x: x.aminmax(dim=-2, keepdim=True)),
            "Your range is that of a column, over the words. Each *key* has its own range, over "
            "its Dk numbers.",
        ),
        Mistake(
            rounding(whole=torch.floor),
            "You rounded down, to the level below. Take the nearest level.",
        ),
        Mistake(
            rounding(whole=torch.ceil),
            "You rounded up, to the level above. Take the nearest level.",
        ),
        Mistake(
            rounding(back=lambda low, step, n: step * n),
            "The smallest number of the key has to be added again at the end.",
        ),
        Mistake(
            rounding(back=lambda low, step, n: n),
            "These are the numbers of the levels. Turn them back: the smallest number, plus the "
            "number of the level times the step.",
        ),
        Mistake(
            around_zero,
            "Your levels are spread around 0. They should go from the smallest number of the key "
            "to the largest.",
        ),
    ),
    properties=(
        Property(
            "The smallest and the largest number of each key are levels, so they should stay as "
            "they are. Some of yours do not.",
            lambda answer, case: torch.allclose(
                torch.stack(answer.aminmax(dim=-1)),
                torch.stack(case.arguments[0].aminmax(dim=-1)),
            ),
        ),
    ),
    hints=(
        "For each key you need its smallest and its largest number. Which axis is that, and how "
        "do the shapes stay compatible?",
        "Measure a number in steps above the smallest one, round, and turn it back.",
        "`low, high = key.aminmax(dim=-1, keepdim=True)`, a step of `(high - low) / (2**bits - "
        "1)`, and `low + ((key - low) / step).round() * step`.",
    ),
    insight="Each key has its own two numbers, its smallest one and its step, so a key with large "
    "numbers does not spoil the others.",
    comes_back="Weights of large models are rounded in the same way, in groups of a few columns.",
    others=(rounded_to_a_list_of_levels,),
)
