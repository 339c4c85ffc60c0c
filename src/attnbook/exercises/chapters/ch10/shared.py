"""Shared by exercises of chapter 10: attention in chunks, and bounds of a mixture."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

Pair = Callable[[Tensor, Tensor], Tensor]


def lies_between(answer: Tensor, low: Tensor, high: Tensor) -> bool:
    return not bool(((answer < low - 1e-6) | (answer > high + 1e-6)).any())  # nan passes


def chunked_by_merging(query: Tensor, key: Tensor, value: Tensor, chunk: int) -> Tensor:
    outputs, lse = [], []
    for keys, values in zip(key.split(chunk, dim=-2), value.split(chunk, dim=-2), strict=True):
        scores = query @ keys.mT / math.sqrt(query.size(-1))
        outputs.append(scores.softmax(-1) @ values)
        lse.append(scores.logsumexp(-1))
    shares = torch.stack(lse).softmax(0)[..., None]
    return (shares * torch.stack(outputs)).sum(0)
