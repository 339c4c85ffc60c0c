"""Fool `examine`: a real fault that it does not find."""

import math
from collections.abc import Callable, Sequence

import torch
from torch import Generator, Tensor

from attnbook.attention.scaled_dot_product import scaled_dot_product_attention
from attnbook.examination.examine import examine
from attnbook.exercises.checker.answers import with_article
from attnbook.exercises.exercise import Case, Exercise, Mistake, draw
from attnbook.language import _

Attend = Callable[[Tensor, Tensor, Tensor], Tensor]
Inputs = Sequence[tuple[Tensor, Tensor, Tensor]]


class Word(str):
    """A word that a card does not show."""

    __slots__ = ()

    def __repr__(self) -> str:
        return _("a word that only the judge knows")


def judge_with(word: str, inputs: Inputs) -> Callable[[Attend], str]:
    """Return a judge, which says whether a function fools `examine`, and proves its fault.

    It returns "refused", "found", "right" or "tiny", or else the word, which neither its
    attributes nor its printed form shows.
    """

    def judge(attend: Attend) -> str:
        report = examine(attend, kind="core")
        if report.refusal:
            return "refused"
        if report.findings:
            return "found"
        fault = max(size_of_fault(attend, *qkv) for qkv in inputs)
        return "right" if fault == 0 else "tiny" if fault < 0.001 else word

    return judge


def size_of_fault(attend: Attend, *qkv: Tensor) -> float:
    """How far the output is from attention: 0 if it is rounding, infinity if it is not finite."""
    wanted = scaled_dot_product_attention(*qkv)[0]
    output = attend(*(x.clone() for x in qkv))
    if not isinstance(output, Tensor) or output.shape != wanted.shape:
        name = type(output).__name__
        got = str(tuple(output.shape)) if isinstance(output, Tensor) else with_article(name)
        message = _(
            "`attend` has to return one tensor (..., Lq, Dv), here of shape {wanted}; it returned "
            "{got}"
        )
        raise TypeError(message.format(wanted=tuple(wanted.shape), got=got))
    difference = (output - wanted).abs().max().item()
    if not math.isfinite(difference):
        return math.inf
    return 0.0 if difference < 1e-9 else difference


def fool(judge: Callable[[Attend], str]) -> str:
    def attend(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        key, value = key[..., :50, :], value[..., :50, :]
        return scaled_dot_product_attention(query, key, value)[0]

    return judge(attend)


def fool_with_a_buffer(judge: Callable[[Attend], str]) -> str:
    """Rows beyond a buffer's end overwrite its last one."""

    def attend(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        slots = torch.arange(key.size(-2), device=key.device).clamp(max=63)
        return scaled_dot_product_attention(query, key[..., slots, :], value[..., slots, :])[0]

    return judge(attend)


def judges(generator: Generator) -> list[Case]:
    def some(*sizes: int) -> tuple[Tensor, Tensor, Tensor]:
        queries, keys, width = sizes
        shapes = ((2, queries, width), (2, keys, width), (2, keys, width))
        query, key, value = (draw(generator, *shape) for shape in shapes)
        return query, key, value

    words = [
        Word(f"fooled {int(n)}") for n in torch.randint(1000, 10000, (2,), generator=generator)
    ]
    inputs = [(some(300, 300, 8), some(5, 300, 6)), (some(7, 9, 12), some(200, 200, 10))]
    notes = "texts of up to 300 words", "texts of up to 200 words"
    return [
        Case((judge_with(word, qkv),), note=note)
        for qkv, word, note in zip(inputs, words, notes, strict=True)
    ]


EXERCISE = Exercise(
    title="Fool `examine`",
    level=3,
    minutes=15,
    section="15.9",
    prompt="""
Write a function with a real fault that `examine` does not find. `fool(judge)` gets a judge. Define
`attend(query, key, value)` in it, which takes (..., Lq, Dk), (..., Lk, Dk), (..., Lk, Dv) and
returns (..., Lq, Dv), and end with `return judge(attend)`. The judge calls
`examine(attend, kind="core")` and requires that it finds nothing. Then it compares `attend` with
attention without a mask, on texts of up to 300 words with ordinary numbers, and requires that it
differs there by 0.001 or more. It returns a word that only it knows if you have succeeded.
""",
    stub="""
def fool(judge):
    raise NotImplementedError  # put a fault into attend, then delete this line
    def attend(query, key, value):
        return scaled_dot_product_attention(query, key, value)[0]
    return judge(attend)
""",
    reference=fool,
    cases=judges,
    mistakes=(
        Mistake(
            lambda judge: "found",
            '`examine` finds the fault. `examine(attend, kind="core")` shows its report; the '
            "last lines say what it can't see.",
        ),
        Mistake(
            lambda judge: "right",
            "This computes attention in everything that the judge tried. It needs a fault.",
        ),
        Mistake(
            lambda judge: "tiny",
            "The fault changes the output by less than 0.001. Nobody would call it one.",
        ),
        Mistake(
            lambda judge: "refused",
            "`examine` could not call the function. It takes a query, a key and a value.",
        ),
    ),
    hints=(
        "What does `examine` say that it can't see? Let it examine a right function, and read the "
        "last lines of the report.",
        "It tries only a few rows. What could go wrong with many?",
        "Use no more than the first 50 keys, as a buffer that is too short would.",
    ),
    insight="Silence is a statement about the inputs that were tried. A short buffer, a far "
    "position, a window: whatever begins beyond a few rows needs a test at the length that you "
    "use.",
    comes_back="Give your own tests the lengths of your own texts.",
    others=(fool_with_a_buffer,),
)
