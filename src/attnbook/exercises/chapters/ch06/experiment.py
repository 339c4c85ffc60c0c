"""How far back does a layer look?"""

from collections.abc import Callable

import torch
from torch import Tensor

from attnbook.attention.scaled_dot_product import scaled_dot_product_attention
from attnbook.exercises.exercise import Case, Exercise, Property
from attnbook.language import _

Layer = Callable[[Tensor], Tensor]


def reach(layer: Layer) -> int:
    x, farthest = torch.randn(12, 4), 0
    for j in range(12):
        other = x.clone()
        other[j] = torch.randn(4)
        moved = (layer(other) != layer(x)).any(dim=-1)  # (12,), which outputs change with word j
        farthest = max(farthest, int(moved.nonzero().max()) - j)
    return farthest


def by_gradients(layer: Layer) -> int:
    slopes = torch.autograd.functional.jacobian(layer, torch.randn(12, 4))
    i, _, j, _ = slopes.nonzero().T  # output i depends on word j
    return int((i - j).max())


Offsets = Tensor  # (L, L), how many words back each key is


def attending(*looks: Callable[[Offsets], Tensor]) -> Layer:
    """Return a stack of causal layers, one for each rule about how far back a word may look."""

    def layer(x: Tensor) -> Tensor:
        place = torch.arange(len(x), device=x.device)
        back = place[:, None] - place
        for look in looks:
            mask = (back >= 0) & look(back)
            x = scaled_dot_product_attention(x / 8, x / 8, x, mask)[0]
        return x

    return layer


def windows(*sizes: int) -> Layer:
    """Return a stack of layers, one per size; each word sees that many words, counting itself."""
    return attending(*(lambda back, size=size: back < size for size in sizes))


def same_block(back: Offsets, first: int = 7) -> Tensor:
    """Return whether two words are in the same block of 7; the first block may be shorter."""
    block = (torch.arange(len(back), device=back.device) + 7 - first) // 7
    return block[:, None] == block


ALONE, ONE, DEEP, MIXED, GAP, BLOCKS, SHIFTED = LAYERS = (
    windows(1),
    windows(3),
    windows(3, 3, 3),
    windows(2, 4),
    attending(lambda back: (back == 0) | (back == 5)),
    attending(same_block),
    attending(lambda back: same_block(back, first=4)),
)

EXERCISE = Exercise(
    title="How far back does it look?",
    level=3,
    minutes=12,
    section="6.11",
    prompt="""
You get seven causal programs without their source code. Each takes `x` (L, D), for any L and D, and
returns L rows. How many words back is the farthest word on which some output depends? Write
an experiment like the leak detector of section 6.11: `reach(layer)` calls `layer` on tensors of
your choice and returns that whole number, 0 if each output depends only on its own word. None of
the seven looks back farther than 8 words.
""",
    reference=reach,
    cases=lambda generator: [
        Case((layer,), note=_("program {name}").format(name=name))
        for name, layer in zip("ABCDEFG", LAYERS, strict=True)
    ],
    choices={
        (ONE, 1): "each output also depends on the word two positions back.",
        (DEEP, 2): "one layer reaches that far. The next ones reach farther.",
        (DEEP, 4): "two layers reach that far. Is your text long enough, and does your test notice "
        "small changes?",
        (DEEP, 9): "the windows overlap: each layer adds two words.",
        (MIXED, 1): "the first layer alone reaches that far. The second adds to it.",
        (MIXED, 3): "the second layer alone reaches that far. The first adds to it.",
        (SHIFTED, 3): "word 0 is not seen from farther away, but other words are. Was only word 0 "
        "changed, or is the text too short?",
    },
    properties=(
        Property(
            "none of the seven looks that far back. Count from the word that you changed, and "
            "change it to numbers: 0 times nan is nan.",
            lambda answer, case: answer <= 8,
        ),
        Property(
            "the word itself is 0 words back. Do you count it?",
            lambda answer, case: answer != reach(case.arguments[0]) + 1,
        ),
        Property(
            "some output depends on a word farther back. Do you compare all outputs, and do you "
            "go on after a word that changes nothing?",
            lambda answer, case: answer >= reach(case.arguments[0]),
        ),
    ),
    hints=(
        "Run it on two texts that differ in one word. Which outputs differ?",
        "Change each word of a text of 12 in turn, and look at all outputs after it.",
        "`(layer(other) != layer(x)).any(dim=-1)` shows which rows changed; `.nonzero().max()` is "
        "the last of them. How far is it from the word that you changed?",
    ),
    insight="A single layer sees no farther than its mask permits. In a stack of windows, the "
    "reaches add up. In a stack of the same blocks they do not, because no layer crosses a border.",
    comes_back="Chapter 7 tests in the same way what a layer knows about the order of its words.",
    others=(by_gradients,),
)
