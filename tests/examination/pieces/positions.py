"""Layers in which positions, neighbors or large weights look like another fault."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.examination.pieces.layers import BOTH, CAUSAL, D, Fused, rotated
from tests.examination.pieces.piece import faulty, right


class Turned(Fused):
    """Causal attention whose roles in `turned` are rotated."""

    def __init__(self, turned="qk", causal=True):
        super().__init__(causal)
        self.turned = turned

    def mix(self, q, k, v):
        q, k, v = (
            rotated(t) if role in self.turned else t
            for role, t in zip("qkv", (q, k, v), strict=True)
        )
        return super().mix(q, k, v)


class Raw(nn.Module):
    """Attention whose matrices are drawn without a scale."""

    def __init__(self, draw, n_heads=1, causal=False):
        super().__init__()
        self.n_heads, self.causal = n_heads, causal
        self.W_query, self.W_key, self.W_value = (nn.Parameter(draw(64, 64)) for _ in range(3))

    def forward(self, x):
        q, k, v = (
            (x @ w).unflatten(-1, (self.n_heads, -1)).transpose(1, 2)
            for w in (self.W_query, self.W_key, self.W_value)
        )
        y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return y.transpose(1, 2).flatten(2)


@faulty("rotary positions on the values, too", "rotary", **CAUSAL)
def _():
    return Turned("qkv")


@faulty("rotated values, every row seen, positions said", "rotary", **BOTH, positions=True)
def _():
    return Turned("qkv", causal=False)


@faulty("only queries rotated", "rotary", **CAUSAL)
def _():
    return Turned("q")


@faulty("only keys rotated", "rotary", **CAUSAL)
def _():
    return Turned("k")


@faulty("rotated, although order should not count", "order_counts", **BOTH, positions=False)
def _():
    return Turned(causal=False)


@faulty("rotated, then a norm over the rows", "sees_future", **CAUSAL)
def _():
    class Layer(Turned):
        def mix(self, q, k, v):
            q, k = (t / t.square().mean(-2, keepdim=True).sqrt() for t in (rotated(q), rotated(k)))
            return F.scaled_dot_product_attention(q, k, v, is_causal=True)

    return Layer()


@right("rotary positions", **CAUSAL)
def _():
    return Turned()


@right("a scale that grows with the number of keys", **CAUSAL)
def _():
    class Layer(Fused):
        def mix(self, q, k, v):
            position = torch.arange(q.size(-2)).to(q)
            return super().mix(q * torch.log(position + 2)[:, None], k, v)

    return Layer()


@right("a short causal convolution first", **CAUSAL)
def _():
    class Layer(Fused):
        def __init__(self):
            super().__init__()
            self.convolution = nn.Conv1d(D, D, 4, groups=D)

        def forward(self, x):
            return super().forward(self.convolution(F.pad(x.mT, (3, 0))).mT)

    return Layer()


@right("each row mixed with the one before", **CAUSAL)
def _():
    class Layer(Fused):
        def forward(self, x):
            return super().forward((x + F.pad(x, (0, 0, 1, 0))[:, :-1]) / 2)

    return Layer()


@right("a convolution over both neighbors first", **BOTH)
def _():
    class Layer(Fused):
        def __init__(self):
            super().__init__(causal=False)
            self.convolution = nn.Conv1d(D, D, 3, padding=1)

        def forward(self, x):
            return super().forward(self.convolution(x.mT).mT)

    return Layer()


@right("matrices from torch.rand", kind="layer")
def _():
    return Raw(torch.rand)


@right("matrices from torch.rand, causal not said", kind="layer")
def _():
    return Raw(torch.rand, causal=True)


@right("heads from torch.randn", **BOTH)
def _():
    return Raw(torch.randn, 4)


@right("causal heads from torch.randn", **CAUSAL)
def _():
    return Raw(torch.randn, 4, causal=True)
