"""Code whose author says little: what is not said has to be seen."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from tests.examination.pieces.blocks import Block
from tests.examination.pieces.layers import D, Fused
from tests.examination.pieces.piece import faulty, right

CORE = {"kind": "core"}
PADDED = {"kind": "layer", "mask": "keep", "mask_shape": "BL"}


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


class ZeroedPadding(Fused):
    """A layer that sets the outputs of padding to 0."""

    def keys(self, mask):
        return mask[:, None, None]

    def forward(self, x, mask):
        q, k, v = map(self.split, self.c_attn(x).split(D, dim=2))
        keep = self.keys(mask)
        if self.causal:
            keep = keep & torch.ones(x.size(1), x.size(1), dtype=torch.bool).tril()
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=keep)
        return self.c_proj(self.merge(y)) * mask[..., None]


@right("outputs of padding set to 0", **PADDED)
def _():
    return ZeroedPadding(causal=False)


@right("outputs of padding set to 0, causal not said", **PADDED)
def _():
    return ZeroedPadding()


@right("outputs of padding set to 0, causal", **PADDED, causal=True)
def _():
    return ZeroedPadding()


@faulty("outputs of padding set to 0, and its keys seen", "leak", **PADDED, causal=False)
def _():
    class Layer(ZeroedPadding):
        def keys(self, mask):
            return torch.ones_like(mask)[:, None, None]

    return Layer(causal=False)


class Wider(nn.Module):
    """One head whose matrices (in, out) are wider than the rows."""

    def __init__(self):
        super().__init__()
        self.w_query, self.w_key, self.w_value = (
            nn.Parameter(torch.randn(12, width) / 4) for width in (20, 20, 28)
        )

    def forward(self, x):
        q, k, v = (x @ w for w in (self.w_query, self.w_key, self.w_value))
        return (q @ k.mT / math.sqrt(20)).softmax(-1) @ v


@right("matrices (in, out) that widen the rows", kind="layer")
def _():
    return Wider()


@right("matrices (in, out) that widen the rows, width said", kind="layer", d_model=12)
def _():
    return Wider()


class Prefix(Fused):
    """The first two rows see each other, as in a prefix language model."""

    def mix(self, q, k, v):
        i = torch.arange(q.size(-2))
        keep = (i[:, None] >= i) | (i < 2)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=keep)


@faulty("a prefix, which may be meant", "perhaps_blind", kind="layer")
def _():
    return Prefix()


@faulty("a causal window, which may be meant", "perhaps_blind", kind="layer")
def _():
    class Layer(Fused):
        def mix(self, q, k, v):
            i = torch.arange(q.size(-2))
            keep = (i[:, None] >= i) & (i[:, None] - i < 3)
            return F.scaled_dot_product_attention(q, k, v, attn_mask=keep)

    return Layer()


@faulty("only later rows seen, which is not meant", "blind", kind="layer")
def _():
    class Layer(Fused):
        def mix(self, q, k, v):
            pairs = torch.ones(q.size(-2), q.size(-2), dtype=torch.bool)
            return F.scaled_dot_product_attention(q, k, v, attn_mask=pairs.triu())

    return Layer()


@faulty("a prefix where all rows may see all", "blind", kind="layer", causal=False)
def _():
    return Prefix()


@faulty("a pre-norm block, called post-norm", "residual", kind="layer", causal=True, block="post")
def _():
    return Block()
