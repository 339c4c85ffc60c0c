"""Attention of our own, right or with one known mistake, to compare numbers with."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import torch
from torch import Tensor

from attnbook.language import _
from attnbook.mistakes.head import RIGHT, Head, scaled_scores
from attnbook.mistakes.lines import (
    MASK_MISTAKES,
    OUTPUT_MISTAKES,
    SCORE_MISTAKES,
    WEIGHT_MISTAKES,
)


class Variant(NamedTuple):
    """Attention with one mistake: what it is called, what the reader is told, and the head."""

    fault: str
    sentence: str
    head: Head


def lowered_a_little(scores: Tensor, mask: Tensor) -> Tensor:
    return (scores - 10.0 * ~mask).softmax(-1)


def variants(*, has_mask: bool) -> Iterator[Variant]:
    """Yield attention with each known mistake, those of masks last."""
    groups = [SCORE_MISTAKES, WEIGHT_MISTAKES, OUTPUT_MISTAKES]
    for wrong in (line for group in groups for line in group if line.fault):
        yield Variant(wrong.fault, _(wrong.message), replace(RIGHT, **{wrong.line: wrong.wrong}))
    if not has_mask:
        return
    for wrong in (line for line in MASK_MISTAKES if line.fault):
        sentence = inverted() if wrong.fault == "mask_inverted" else _(wrong.message)
        yield Variant(wrong.fault, sentence, replace(RIGHT, weights=wrong.wrong))
    sentence = _(
        "Hidden scores are only 10 lower than the others, so a large hidden score comes through. "
        "Fill them with −∞."
    )
    yield Variant("mask_soft", sentence, replace(RIGHT, weights=lowered_a_little))


def inverted() -> str:
    """Say that a mask is inverted, and what True means."""
    return _(
        "The mask is inverted: it hides what may be seen. True means hidden in `masked_fill` and "
        "in nn.MultiheadAttention, but visible in `F.scaled_dot_product_attention`: use `~`."
    )


def scaled_head(scale: float) -> Head:
    """Attention whose dot products are multiplied by this number."""
    return replace(RIGHT, scores=lambda q, k: q @ k.mT * scale)


def divided_head(size: float) -> Head:
    """Attention whose scores are divided by the root of a size."""
    return replace(RIGHT, scores=lambda q, k: scaled_scores(size, q, k))


def run_head(head: Head, q: Tensor, k: Tensor, v: Tensor, keep: Tensor | None) -> Tensor | None:
    """Return the output of a head, or None if the mistake does not fit these shapes.

    A query that may look at nothing gets 0.
    """
    masks = () if keep is None else (keep.expand(*q.shape[:-1], k.size(-2)),)
    try:
        return head(q, k, v, *masks).nan_to_num(0.0)
    except (RuntimeError, IndexError):
        return None


def measured_scale(distance: Callable[[float], float]) -> float:
    """Return the scale at which a distance is smallest: the best of a grid, refined."""
    grid = [sign * 10 ** (e / 8) for sign in (1, -1) for e in range(-32, 17)]
    best, step = min((distance(scale), scale) for scale in grid), 10 ** (1 / 8)
    for _round in range(24):
        step = step**0.5
        best = min(best, *((distance(x), x) for x in (best[1] / step, best[1] * step)))
    return best[1]


def evidence(yours: Tensor, right: Tensor | None) -> str:
    """Say where an output differs most from that of right attention."""
    if right is None or right.shape != yours.shape:
        return ""
    where = int((yours - right).abs().nan_to_num(0.0).argmax())
    sentence = _(
        " Where attention gives {right:.3g}, your code gives {yours:.3g}, and so does attention "
        "with this mistake."
    )
    return sentence.format(right=right.flatten()[where].item(), yours=yours.flatten()[where].item())


def largest(difference: Any) -> float:
    return float(difference.abs().max()) if isinstance(difference, Tensor) else torch.inf
