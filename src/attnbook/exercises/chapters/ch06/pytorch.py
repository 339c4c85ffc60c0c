"""Convert our mask for PyTorch's layer."""

import torch
from torch import Generator, Tensor

from attnbook.exercises.exercise import Case, Exercise, Mistake


def for_pytorch(mask: Tensor, n_heads: int) -> Tensor:
    per_head = mask.expand(-1, n_heads, -1, -1)  # (B, H, Lq, Lk)
    return ~per_head.flatten(0, 1)


def by_stacking(mask: Tensor, n_heads: int) -> Tensor:
    rows = [mask[b, h % mask.size(1)] for b in range(len(mask)) for h in range(n_heads)]
    return torch.stack(rows).logical_not()


def pytorch_cases(generator: Generator) -> list[Case]:
    def case(note: str, n_heads: int, *shape: int) -> Case:
        mask = torch.rand(*shape, generator=generator) < 0.5
        mask[..., 0] = True
        mask[0, 0, 0, 1], mask[-1, 0, 0, 1] = True, False  # the first and last sentence differ
        mask[:, 0, 1, 1], mask[:, -1, 1, 1] = True, shape[1] == 1  # the first and last head differ
        sizes = {"B": shape[0], "H": n_heads, "Lq": shape[2], "Lk": shape[3]}
        return Case((mask, n_heads), sizes, note)

    return [
        case("1 sentence, one mask for 2 heads", 2, 1, 1, 3, 4),
        case("2 sentences, one mask each for all 3 heads", 3, 2, 1, 4, 5),
        case("2 sentences, a mask for each of the 3 heads", 3, 2, 3, 5, 7),
        case("4 sentences, a mask for each of the 2 heads", 2, 4, 2, 3, 6),
    ]


def heads_outside(mask: Tensor, n_heads: int) -> Tensor:
    return mask.transpose(0, 1).expand(n_heads, -1, -1, -1).flatten(0, 1)


EXERCISE = Exercise(
    title="Our mask for PyTorch's layer",
    level=3,
    minutes=12,
    section="6.9",
    prompt="""
`nn.MultiheadAttention` takes one `attn_mask` of shape (B·H, Lq, Lk): first the masks for all heads
of sentence 0, then those for all heads of sentence 1, and so on. In it, True means may NOT look.
Our `mask` (True = may look) has shape (B, 1, Lq, Lk) if it is the same for all `n_heads` heads, and
otherwise (B, H, Lq, Lk). The conversion below runs, and PyTorch accepts what it returns. Repair its
two faults.
""",
    stub="""
def for_pytorch(mask, n_heads):
    raise NotImplementedError  # repair the lines below, then delete this one
    per_head = mask.transpose(0, 1).expand(n_heads, -1, -1, -1)
    return per_head.flatten(0, 1)
""",
    reference=for_pytorch,
    cases=pytorch_cases,
    axes="B·H Lq Lk",
    mistakes=(
        Mistake(
            heads_outside,
            "Both faults are still there. What does True mean to this layer, and which axis comes "
            "first in its order?",
        ),
        Mistake(
            lambda mask, n_heads: ~heads_outside(mask, n_heads),
            "The meaning of True is now right. But the order is still head 0 of all sentences, "
            "then head 1. The sentences come first.",
        ),
        Mistake(
            lambda mask, n_heads: mask.expand(-1, n_heads, -1, -1).flatten(0, 1),
            "The order is now right. But to this layer, True means may NOT look.",
        ),
        Mistake(
            lambda mask, n_heads: ~mask[:, :1].expand(-1, n_heads, -1, -1).flatten(0, 1),
            "Every head got the mask of head 0. If there is an axis of heads already, keep it.",
        ),
        Mistake(
            lambda mask, n_heads: ~mask[:, 0],
            "This is one mask per sentence. This layer needs one per sentence and head.",
        ),
        Mistake(
            lambda mask, n_heads: ~mask.expand(-1, n_heads, -1, -1),
            "Order and meaning are right. Join the axes of sentences and heads with `flatten`.",
        ),
    ),
    hints=(
        "One fault is the meaning of True. The other is the order of the masks, which the shape "
        "does not show.",
        "Flattening (H, B, …) puts all sentences of head 0 first. Which axes do you have to "
        "flatten, and in which order?",
        "Without the `transpose`, `expand` has to stretch axis 1. And add one `~`.",
    ),
    insight="B·H and H·B are the same number, so neither a shape check nor a batch of one sentence "
    "reveals this mistake.",
    comes_back="Chapter 8 gives our masks to PyTorch's Transformer, with the same `~`.",
    others=(by_stacking,),
)
