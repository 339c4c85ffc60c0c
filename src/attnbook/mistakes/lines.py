"""Common mistakes in the three lines of attention, shared by the exercises and by `examine`."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from attnbook.mistakes.head import WrongLine, masked_softmax


def unit_length(x: Tensor) -> Tensor:
    return x / x.norm(dim=-1, keepdim=True)


def reverse_axes(x: Tensor) -> Tensor:
    return x.permute(*reversed(range(x.dim())))


SCORE_MISTAKES = (
    WrongLine(
        "scores",
        lambda q, k: q @ k.mT,
        "Your scores are plain dot products. Their spread grows with the width: divide by √Dk.",
        "scale",
    ),
    WrongLine(
        "scores",
        lambda q, k: q @ k.mT / q.size(-1),
        "You divided the scores by Dk. A dot product has variance Dk, so its spread is √Dk.",
        "scale",
    ),
    WrongLine(
        "scores",
        lambda q, k: q @ k.mT * math.sqrt(q.size(-1)),
        "You multiplied the scores by √Dk. Scaling reduces their spread: divide.",
        "scale",
    ),
    WrongLine(
        "scores",
        lambda q, k: q @ k.mT / math.sqrt(k.size(-2)),
        "You divided the scores by √Lk, the number of keys. A dot product sums over the width, so "
        "divide by √Dk. (`size(-2)` counts rows, `size(-1)` columns.)",
        "scale",
    ),
    WrongLine(
        "scores",
        lambda q, k: q @ k.mT / math.sqrt(q.size(-2)),
        "You divided the scores by √Lq, the number of queries. A dot product sums over the width, "
        "so divide by √Dk. (`size(-2)` counts rows, `size(-1)` columns.)",
        "scale",
    ),
    WrongLine(
        "scores",
        lambda q, k: q @ k.mT / math.sqrt(len(q)),
        "`len(...)` and `size(0)` count the first axis, here of the queries or the batch. The "
        "width is the last axis.",
    ),
    WrongLine(
        "scores",
        lambda q, k: q @ k.mT / math.sqrt(len(k)),
        "`len(...)` and `size(0)` count the first axis, here of the keys or the batch. The width "
        "is the last axis.",
    ),
    WrongLine(
        "scores",
        lambda q, k: q @ k.mT / (q.size(-1) / 2),
        "You divided the scores by Dk/2. `x ** 1/2` means (x ** 1)/2.",
        "scale",
    ),
    WrongLine(
        "scores",
        lambda q, k: q @ k.mT / q.size(-1) / 2,
        "You divided the scores by 2 Dk. Is the root written as `** 1/2`? That means (… ** 1)/2.",
        "scale",
    ),
    WrongLine(
        "scores",
        lambda q, k: q @ k.mT - math.sqrt(q.size(-1)),
        "You subtracted √Dk from the scores, which keeps their differences. Divide instead.",
        "scale",
    ),
    WrongLine(
        "scores",
        lambda q, k: k @ q.mT / math.sqrt(q.size(-1)),
        "You swapped keys and queries. Row i of the scores belongs to query i.",
        "transposed",
    ),
    WrongLine(
        "scores",
        lambda q, k: q @ k / math.sqrt(q.size(-1)),
        "A matrix product pairs the rows of the first matrix with the columns of the second. The "
        "keys are rows: transpose them.",
        "transposed",
    ),
    WrongLine(
        "scores",
        lambda q, k: q @ reverse_axes(k) / math.sqrt(q.size(-1)),
        "`.T` reverses all axes, including batch and heads. Only the last two may be swapped: "
        "`.mT`.",
    ),
    WrongLine(
        "scores",
        lambda q, k: unit_length(q) @ unit_length(k).mT,
        "Your scores are cosines. Attention uses plain dot products, divided by √Dk.",
        "numbers",
    ),
    WrongLine(
        "scores",
        lambda q, k: q @ q.mT / math.sqrt(q.size(-1)),
        "You compared the queries with themselves. Compare each query with the keys.",
        "numbers",
    ),
    WrongLine(
        "scores",
        lambda q, k: k @ k.mT / math.sqrt(q.size(-1)),
        "You compared the keys with themselves. Compare each query with the keys.",
        "numbers",
    ),
)


def one_hot_weights(scores: Tensor) -> Tensor:
    return torch.nn.functional.one_hot(scores.argmax(-1), scores.size(-1)).to(scores)


def softmax_over(axis: int) -> Callable[..., Tensor]:
    """Return a softmax along the wrong axis, with or without a mask."""

    def wrong(scores: Tensor, mask: Tensor | None = None) -> Tensor:
        if mask is None:
            return scores.softmax(axis)
        weights = scores.masked_fill(~mask, -torch.inf).softmax(axis)
        return weights.masked_fill(~mask.expand(weights.shape), 0.0)

    return wrong


WEIGHT_MISTAKES = (
    WrongLine(
        "weights",
        softmax_over(-2),
        "The softmax ran over the queries: your columns sum to 1, not your rows. It has to run "
        "over the keys, the last axis.",
        "softmax_axis",
    ),
    WrongLine(
        "weights",
        softmax_over(0),
        "The softmax ran over axis 0, which may be the batch. Count axes from the end: the keys "
        "are the last.",
        "softmax_axis",
    ),
    WrongLine(
        "weights",
        softmax_over(1),
        "The softmax ran over axis 1. With a batch in front, that is not the axis of the keys. "
        "Count axes from the end.",
        "softmax_axis",
    ),
    WrongLine(
        "weights",
        lambda scores, *mask: scores.flatten(-2).softmax(-1).view_as(scores),
        "All weights of a matrix together sum to 1. Instead, each row has to sum to 1.",
        "softmax_axis",
    ),
    WrongLine(
        "weights",
        lambda scores, *mask: scores.flatten().softmax(-1).view_as(scores),
        "All weights of the tensor together sum to 1. Instead, each row has to sum to 1.",
    ),
    WrongLine(
        "weights",
        lambda scores, *mask: scores,
        "The softmax is missing: these are scores.",
        "numbers",
    ),
    WrongLine(
        "weights",
        lambda scores, *mask: scores.exp(),
        "`exp` made the scores positive, but you did not divide each row by its sum.",
        "numbers",
    ),
    WrongLine(
        "weights",
        lambda scores, *mask: scores / scores.sum(-1, keepdim=True),
        "You divided the scores by their sum. Scores may be negative: they need `exp` first.",
    ),
    WrongLine(
        "weights",
        lambda scores, *mask: scores.exp() / scores.exp().sum(-2, keepdim=True),
        "You divided by the sums of the columns. Each row has to sum to 1.",
        "softmax_axis",
    ),
    WrongLine(
        "weights",
        lambda scores, *mask: scores.exp() / scores.exp().sum(),
        "You divided everything by one sum. Each row has its own sum.",
    ),
    WrongLine(
        "weights",
        lambda scores, *mask: masked_softmax(masked_softmax(scores, *mask), *mask),
        "You took two softmaxes, one after the other. The second makes the weights nearly equal.",
        "numbers",
    ),
    WrongLine(
        "weights",
        lambda scores, *mask: scores.log_softmax(-1),
        "`log_softmax` gives the logarithms of the weights.",
    ),
    WrongLine(
        "weights",
        lambda scores, *mask: scores.sigmoid(),
        "A sigmoid treats each score separately. The weights of a row must sum to 1: use softmax.",
        "numbers",
    ),
    WrongLine(
        "weights",
        lambda scores, *mask: one_hot_weights(scores),
        "All weight goes to the largest score. That is a hard look-up, without a slope to learn "
        "from.",
        "numbers",
    ),
    WrongLine(
        "weights",
        lambda scores, *mask: (-scores).softmax(-1),
        "The sign is wrong: the worst match gets the most weight.",
        "numbers",
    ),
)

OUTPUT_MISTAKES = (
    WrongLine(
        "output",
        lambda weights, q, k, v: weights @ k,
        "You averaged the keys. The keys determine the weights, but the output is an average of "
        "the values.",
        "values",
    ),
    WrongLine(
        "output",
        lambda weights, q, k, v: weights.mT @ v,
        "You transposed the weights. (Lq, Lk) times (Lk, Dv) fits as it is.",
        "transposed",
    ),
    WrongLine(
        "output",
        lambda weights, q, k, v: weights,
        "These are the weights. The output is the sum of the values with these weights.",
    ),
    WrongLine(
        "output",
        lambda weights, q, k, v: weights @ v / math.sqrt(q.size(-1)),
        "You divided the output by √Dk. Divide the scores, before the softmax.",
        "numbers",
    ),
    WrongLine(
        "output",
        lambda weights, q, k, v: v.mean(-2, keepdim=True).expand(*weights.shape[:-1], -1),
        "Every output is the plain average of the values: the weights have no effect.",
        "numbers",
    ),
    WrongLine(
        "output",
        lambda weights, q, k, v: weights @ v / v.size(-2),
        "You divided by the number of keys. The weights already sum to 1. (Did you write "
        "`mean` instead of a sum?)",
        "numbers",
    ),
    WrongLine(
        "output",
        lambda weights, q, k, v: v @ weights,
        "The values are on the left. Each row of weights multiplies the rows of values, so "
        "the weights come first.",
    ),
)


ATTENTION_MISTAKES = (*SCORE_MISTAKES, *WEIGHT_MISTAKES, *OUTPUT_MISTAKES)


def renormalized_after_mask(scores: Tensor, mask: Tensor) -> Tensor:
    weights = scores.softmax(-1) * mask
    return weights / weights.sum(-1, keepdim=True)


MASK_MISTAKES = (
    WrongLine(
        "weights",
        lambda scores, mask: scores.masked_fill(~mask, -1e9).softmax(-1),
        "A query that may look at nothing gives all its hidden keys equal weights, because "
        "filling with a number such as −10⁹ makes all scores of its row equal. Set hidden weights "
        "to 0 after the softmax.",
    ),
    WrongLine(
        "weights",
        lambda scores, mask: scores.masked_fill(~mask, -torch.inf).softmax(-1),
        "A query that may look at nothing gives 0/0, which is nan. (0 times nan is also nan, so "
        "fill these entries instead of multiplying them by 0.)",
    ),
    WrongLine(
        "weights",
        lambda scores, mask: scores.softmax(-1),
        "The mask has no effect: every key got a weight.",
        "mask_ignored",
    ),
    WrongLine(
        "weights",
        lambda scores, mask: scores.softmax(-1) * mask,
        "You masked after the softmax, so the rows do not sum to 1 and hidden scores are in the "
        "denominator. Mask before it.",
        "mask_after_softmax",
    ),
    WrongLine(
        "weights",
        renormalized_after_mask,
        "You masked after the softmax and divided each row by its sum. If a hidden score is very "
        "large, that is 0/0. Mask before the softmax.",
    ),
    WrongLine(
        "weights",
        lambda scores, mask: scores.masked_fill(mask, -torch.inf).softmax(-1),
        "You hid what is permitted. `masked_fill` fills where its mask is True, and True means "
        "may look, so invert the mask with `~`.",
        "mask_inverted",
    ),
    WrongLine(
        "weights",
        lambda scores, mask: masked_softmax(scores, ~mask),
        "You swapped hidden and permitted keys. In this book True means may look.",
        "mask_inverted",
    ),
    WrongLine(
        "weights",
        lambda scores, mask: (scores + mask).softmax(-1),
        "You added the mask as numbers: each permitted score grew by 1, but no key is hidden.",
        "mask_soft",
    ),
    WrongLine(
        "weights",
        lambda scores, mask: (scores * mask).softmax(-1),
        "Hidden keys have score 0 here, and e⁰ is 1, so they get an ordinary weight.",
        "mask_soft",
    ),
    WrongLine(
        "weights",
        lambda scores, mask: (scores * mask).softmax(-1) * mask,
        "Hidden keys have score 0 here, so each adds e⁰ = 1 to the denominator.",
        "mask_soft",
    ),
)
