"""Faulty code that gives nan on ordinary input, and the masks that cause it."""

import math

import torch
from torch import nn

from tests.examination.pieces.layers import D, Fused, H
from tests.examination.pieces.piece import faulty, right

V = 23
SAID = {"kind": "layer", "causal": True}
PADDED = {"kind": "layer", "causal": False, "mask": "keep", "mask_shape": "BL"}


class Hiding(Fused):
    """Fused with a mask of hidden pairs, made from the number of rows, and a softmax of an axis."""

    def __init__(self, hidden, axis=-1, fill=-torch.inf):
        super().__init__()
        self.hidden, self.axis, self.fill = hidden, axis, fill

    def mix(self, q, k, v):
        scores = (q @ k.mT / math.sqrt(D // H)).masked_fill(self.hidden(q.size(-2)), self.fill)
        return scores.softmax(self.axis) @ v


class Torch(nn.Module):
    """PyTorch's layer, in which True hides."""

    def __init__(self, triangle):
        super().__init__()
        self.attention = nn.MultiheadAttention(D, H, batch_first=True)
        self.triangle = triangle

    def forward(self, x):
        mask = self.triangle(x.new_ones(x.size(1), x.size(1))).bool()
        return self.attention(x, x, x, attn_mask=mask)[0]


class Model(nn.Module):
    """Two layers of attention in a language model."""

    def __init__(self, layer):
        super().__init__()
        self.words, self.head = nn.Embedding(V, D), nn.Linear(D, V)
        self.layers = nn.ModuleList(layer() for _ in range(2))

    def forward(self, ids):
        x = self.words(ids)
        for layer in self.layers:
            x = x + layer(x)
        return self.head(x)


def hidden(diagonal):
    return lambda n: torch.ones(n, n, dtype=torch.bool).triu(diagonal)


@faulty("PyTorch's layer, given what may be seen", "mask_inverted", **SAID)
def _():
    return Torch(torch.tril)


@faulty("PyTorch's layer, given what may be seen, causal not said", "mask_inverted", kind="layer")
def _():
    return Torch(torch.tril)


@faulty("a model of PyTorch's layers, given what may be seen", "mask_inverted", kind="lm")
def _():
    return Model(lambda: Torch(torch.tril))


@faulty("the diagonal is hidden, too", "not_itself", **SAID)
def _():
    return Hiding(hidden(0))


@faulty("the diagonal is hidden, too, by a large number", "not_itself", **SAID)
def _():
    return Hiding(hidden(0), fill=-1e9)


@faulty("the diagonal is hidden, too, causal not said", "not_itself", kind="layer")
def _():
    return Hiding(hidden(0))


@faulty("a model that hides the diagonal, too", "not_itself", kind="lm")
def _():
    return Model(lambda: Hiding(hidden(0)))


@faulty("softmax over the heads, with a causal mask", "softmax_axis", **SAID)
def _():
    return Hiding(hidden(1), axis=1)


@faulty("softmax over the heads, with a causal mask, in a model", "softmax_axis", kind="lm")
def _():
    return Model(lambda: Hiding(hidden(1), axis=1))


@faulty("divided by 0", "nan", **SAID)
def _():
    class Layer(Fused):
        def mix(self, q, k, v):
            return super().mix(q, k, v) / 0.0

    return Layer()


@faulty("the first rows see nothing", "nan", **SAID)
def _():
    return Hiding(hidden(-1))


@faulty("the rows of padding see nothing", "nan", **PADDED)
def _():
    class Layer(Fused):
        def forward(self, x, mask):
            q, k, v = map(self.split, self.c_attn(x).split(D, dim=2))
            both = mask[:, None, :, None] & mask[:, None, None, :]
            scores = (q @ k.mT / math.sqrt(D // H)).masked_fill(~both, -torch.inf)
            return self.c_proj(self.merge(scores.softmax(-1) @ v))

    return Layer()


def core(axis=-1, diagonal=None, inverted=False):
    def attend(q, k, v, mask=None):
        if diagonal is not None:
            pairs = torch.ones(q.size(-2), k.size(-2), dtype=torch.bool)
            mask = pairs.tril(k.size(-2) - q.size(-2) + diagonal)
        scores = q @ k.mT / math.sqrt(q.size(-1))
        scores = scores.masked_fill(mask if inverted else ~mask, -torch.inf)
        return scores.softmax(axis) @ v

    return attend


@faulty("softmax over the heads, with a mask", "softmax_axis", kind="core", mask="keep")
def _():
    return core(axis=1)


@faulty("a core whose queries do not see themselves", "not_itself", kind="core", causal=True)
def _():
    return core(diagonal=-1)


@faulty("a causal core with an inverted mask", "mask_inverted", kind="core", causal=True)
def _():
    return core(diagonal=0, inverted=True)


@faulty("a core that divides by 0", "nan", kind="core")
def _():
    return lambda q, k, v: (q @ k.mT).softmax(-1) @ v / 0.0


# --- right ones -----------------------------------------------------------------------------------


@right("PyTorch's layer, given what is hidden", **SAID)
def _():
    return Torch(lambda ones: ones.triu(1))


@right("a model of PyTorch's layers, given what is hidden", kind="lm")
def _():
    return Model(lambda: Torch(lambda ones: ones.triu(1)))
