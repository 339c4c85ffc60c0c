"""Code whose author says little: what is not said has to be seen."""

import math

import torch
from torch.nn import functional as F

from tests.examination.pieces.piece import faulty, right

CORE = {"kind": "core"}


def earlier(q, k):
    """Which keys a causal query may see, if the queries are the last rows."""
    pairs = torch.ones(q.size(-2), k.size(-2), dtype=torch.bool)
    return pairs.tril(k.size(-2) - q.size(-2))


def rows_first(scale=0.5):
    """Attention of (B, L, H, D), as the kernels of flash-attn take it."""

    def attend(q, k, v, mask=None):
        scores = torch.einsum("blhd,bmhd->bhlm", q, k) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
        return torch.einsum("bhlm,bmhd->blhd", scores.softmax(-1), v)

    return attend


@right("a causal core", **CORE)
def _():
    return lambda q, k, v: F.scaled_dot_product_attention(q, k, v, attn_mask=earlier(q, k))


@right("a causal core with a mask", **CORE, mask="keep", mask_shape="LL")
def _():
    def attend(q, k, v, mask):
        scores = q @ k.mT / math.sqrt(q.size(-1))
        scores = scores.masked_fill(~(mask & earlier(q, k)), torch.finfo(scores.dtype).min)
        return scores.softmax(-1) @ v

    return attend


@faulty("a causal core without a scale", "scale", **CORE)
def _():
    return lambda q, k, v: F.scaled_dot_product_attention(
        q, k, v, attn_mask=earlier(q, k), scale=1.0
    )


@faulty("a causal core from the upper left", "alignment", **CORE)
def _():
    return lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True)


@right("heads after the rows", **CORE)
def _():
    return rows_first()


@right("heads after the rows, said", **CORE, layout="BLHD")
def _():
    return rows_first()


@right("heads after the rows, with a mask", **CORE, mask="keep", mask_shape="B1LL")
def _():
    return rows_first()


@faulty("heads after the rows, without a scale", "scale", **CORE)
def _():
    return rows_first(scale=1.0)
