"""Faulty layers of self-attention: rows in, rows out."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from tests.examination.pieces.piece import faulty

D, H = 16, 4  # width and heads
CAUSAL = {"kind": "layer", "causal": True}
BOTH = {"kind": "layer", "causal": False}


def rotated(x, positions=None, base=10000.0):
    """Rotary positions in the layout of two halves; x (..., L, d)."""
    half = x.size(-1) // 2
    positions = torch.arange(x.size(-2)) if positions is None else positions
    frequencies = base ** (-torch.arange(half, dtype=torch.float64) / half)
    angles = torch.cat([positions[..., None] * frequencies] * 2, -1)
    turned = torch.cat([-x[..., half:], x[..., :half]], -1)
    return x * angles.cos().to(x) + turned * angles.sin().to(x)


class Fused(nn.Module):
    """Self-attention with one matrix for q, k and v; the parts that can be wrong are methods."""

    def __init__(self, causal=True):
        super().__init__()
        self.n_head, self.causal = H, causal
        self.c_attn, self.c_proj = nn.Linear(D, 3 * D), nn.Linear(D, D)

    def split(self, x):
        return x.unflatten(-1, (H, -1)).transpose(1, 2)

    def merge(self, y):
        return y.transpose(1, 2).flatten(2)

    def mix(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)

    def forward(self, x):
        q, k, v = map(self.split, self.c_attn(x).split(D, dim=2))
        return self.c_proj(self.merge(self.mix(q, k, v)))


class Four(nn.Module):
    """Self-attention with four matrices and a mask (B, L) of real words."""

    def __init__(self):
        super().__init__()
        self.queries, self.keys, self.values, self.unify = (nn.Linear(D, D) for _ in range(4))
        self.num_heads = H

    def weights(self, q, k, keep):
        scores = torch.einsum("blhd,bmhd->bhlm", q, k) / math.sqrt(D // H)
        if keep is not None:
            scores = scores.masked_fill(~keep[:, None, None], -1e9)
        return scores.softmax(-1)

    def forward(self, x, keep=None):
        b, n, _ = x.shape
        q, k, v = (f(x).view(b, n, H, D // H) for f in (self.queries, self.keys, self.values))
        y = torch.einsum("bhlm,bmhd->blhd", self.weights(q, k, keep), v)
        return self.unify(y.reshape(b, n, D))


class Head(nn.Module):
    """One causal head."""

    def __init__(self, width=D // H, scale=None):
        super().__init__()
        self.key, self.query, self.value = (nn.Linear(D, width, bias=False) for _ in range(3))
        self.register_buffer("tril", torch.tril(torch.ones(32, 32)))
        self.scale = scale or width**-0.5

    def forward(self, x):
        n = x.size(1)
        scores = self.query(x) @ self.key(x).transpose(-2, -1) * self.scale
        scores = scores.masked_fill(self.tril[:n, :n] == 0, float("-inf"))
        return F.softmax(scores, dim=-1) @ self.value(x)


class Heads(nn.Module):
    """Several heads, and a matrix that mixes them."""

    def __init__(self, heads):
        super().__init__()
        self.heads, self.proj = heads, nn.Linear(D, D)

    def forward(self, x):
        return self.proj(torch.cat([head(x) for head in self.heads], dim=-1))


@faulty("joined without transpose", "heads", "jsbaan/transformer-from-scratch#4", **BOTH)
def _():
    class Layer(Fused):
        def merge(self, y):
            return y.reshape(y.size(0), y.size(2), D)

    return Layer(causal=False)


@faulty("split by view", "heads", "reczoo/FuxiCTR#30", **BOTH)
def _():
    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.num_head = H
            self.fc_Q, self.fc_K, self.fc_V, self.fc = (nn.Linear(D, D) for _ in range(4))

        def forward(self, x):
            b = x.size(0)
            q, k, v = (f(x).view(b * H, -1, D // H) for f in (self.fc_Q, self.fc_K, self.fc_V))
            y = (torch.bmm(q, k.mT) * (D // H) ** -0.5).softmax(-1) @ v
            return self.fc(y.view(b, -1, D))

    return Layer()


@faulty("joined without transpose, matrices unreadable", "heads", **BOTH)
def _():
    class Layer(Four):
        def forward(self, x):
            x = x + 0.1 * torch.tanh(x)
            q, k, v = (
                f(x).view(*x.shape[:2], H, -1) for f in (self.queries, self.keys, self.values)
            )
            y = torch.einsum("bhlm,bmhd->bhld", self.weights(q, k, None), v)
            return self.unify(y.reshape(x.shape))

    return Layer()


@faulty("one small matrix for all heads", "shared_heads", "pbloem/former#13", **BOTH)
def _():
    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.heads = H
            self.tokeys, self.toqueries, self.tovalues = (
                nn.Linear(D // H, D // H, bias=False) for _ in range(3)
            )
            self.unifyheads = nn.Linear(D, D)

        def forward(self, x):
            b, n, _ = x.shape
            x = x.view(b, n, H, D // H)
            q, k, v = (f(x).transpose(1, 2) for f in (self.toqueries, self.tokeys, self.tovalues))
            y = F.scaled_dot_product_attention(q, k, v)
            return self.unifyheads(y.transpose(1, 2).reshape(b, n, D))

    return Layer()


@faulty(
    "the mask in another order than the heads",
    "mask_batch",
    "lsdefine/attention-is-all-you-need-keras#36",
    **BOTH,
    mask="keep",
    mask_shape="BL",
)
def _():
    class Layer(Four):
        def forward(self, x, keep):
            b, n, _ = x.shape
            q, k, v = (
                f(x).view(b, n, H, -1).permute(2, 0, 1, 3).reshape(H * b, n, -1)
                for f in (self.queries, self.keys, self.values)
            )
            scores = q @ k.mT / math.sqrt(D // H)
            scores = scores.masked_fill(~keep.repeat_interleave(H, 0)[:, None], -1e9)
            y = (scores.softmax(-1) @ v).view(H, b, n, -1).permute(1, 2, 0, 3)
            return self.unify(y.reshape(b, n, D))

    return Layer()


@faulty("nn.MultiheadAttention without batch_first", "cross_batch", "IBM/TabFormer#14", **BOTH)
def _():
    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.attention = nn.MultiheadAttention(D, H)

        def forward(self, x):
            return self.attention(x, x, x)[0]

    return Layer()


@faulty(
    "folded by batch, unfolded by heads",
    "cross_batch",
    "gazelle93/Transformer-Various-Positional-Encoding#1",
    **BOTH,
)
def _():
    class Layer(Four):
        def forward(self, x):
            b, n, _ = x.shape
            q, k, v = (
                f(x).view(b, n, H, -1).transpose(1, 2).reshape(b * H, n, -1)
                for f in (self.queries, self.keys, self.values)
            )
            y = (q @ k.mT / math.sqrt(D // H)).softmax(-1) @ v
            return self.unify(y.view(H, b, n, -1).permute(1, 2, 0, 3).reshape(b, n, D))

    return Layer()


@faulty("the wrong triangle", "wrong_triangle", "hkproj/pytorch-transformer#19", **CAUSAL)
def _():
    class Layer(Fused):
        def mix(self, q, k, v):
            keep = torch.ones(q.size(-2), q.size(-2)).triu().bool()
            return F.scaled_dot_product_attention(q, k, v, attn_mask=keep)

    return Layer()


@faulty("a triangle one too wide", "sees_next", "RVC-Boss/GPT-SoVITS#965", **CAUSAL)
def _():
    class Layer(Fused):
        def mix(self, q, k, v):
            n = q.size(-2)
            hidden = torch.ones(n, n, dtype=torch.bool).triu(2)
            scores = (q @ k.mT / math.sqrt(D // H)).masked_fill(hidden, -torch.inf)
            return scores.softmax(-1) @ v

    return Layer()


@faulty("no causal mask", "sees_future", "facebookresearch/xformers#103", **CAUSAL)
def _():
    return Fused(causal=False)


@faulty("no causal mask, matrices unreadable", "sees_future", **CAUSAL)
def _():
    class Layer(Fused):
        def mix(self, q, k, v):
            return F.scaled_dot_product_attention(torch.tanh(q), torch.tanh(k), v)

    return Layer()


@faulty("dropout after eval()", "random_eval", "pytorch/pytorch#124464", **CAUSAL)
def _():
    class Layer(Fused):
        def mix(self, q, k, v):
            return F.scaled_dot_product_attention(q, k, v, dropout_p=0.2, is_causal=True)

    return Layer()


@faulty("divided by the root of d_model", "scale", "lucidrains/vit-pytorch#65", **BOTH)
def _():
    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.heads, self.scale = H, D**-0.5
            self.to_qkv, self.to_out = nn.Linear(D, D * 3, bias=False), nn.Linear(D, D)

        def forward(self, x):
            q, k, v = self.to_qkv(x).view(*x.shape[:2], 3, H, -1).permute(2, 0, 3, 1, 4)
            weights = torch.einsum("bhid,bhjd->bhij", q, k).mul(self.scale).softmax(-1)
            return self.to_out(
                torch.einsum("bhij,bhjd->bhid", weights, v).transpose(1, 2).flatten(2)
            )

    return Layer()


@faulty("heads of their own, scaled by the whole width", "scale", **CAUSAL)
def _():
    return Heads(nn.ModuleList(Head(scale=D**-0.5) for _ in range(H)))


@faulty("matrices as tensors with head axes, no scale", "scale", **BOTH)
def _():
    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            for name in ("W_Q", "W_K", "W_V"):
                setattr(self, name, nn.Parameter(torch.randn(H, D, D // H) * D**-0.5))
            self.W_O = nn.Parameter(torch.randn(H, D // H, D) * D**-0.5)

        def forward(self, x):
            q, k, v = (torch.einsum("bld,hdk->bhlk", x, w) for w in (self.W_Q, self.W_K, self.W_V))
            y = (q @ k.mT).softmax(-1) @ v
            return torch.einsum("bhlk,hkd->bld", y, self.W_O)

    return Layer()


@faulty("a rotary layer without a scale", "scale", **CAUSAL, positions=True)
def _():
    class Layer(Fused):
        def mix(self, q, k, v):
            q, k = rotated(q), rotated(k)
            hidden = torch.ones(q.size(-2), q.size(-2), dtype=torch.bool).triu(1)
            return (q @ k.mT).masked_fill(hidden, -1e9).softmax(-1) @ v

    return Layer()


@faulty(
    "softmax over the queries of a layer",
    "softmax_axis",
    "datawhalechina/llms-from-scratch-cn#54",
    **CAUSAL,
)
def _():
    class Layer(Fused):
        def mix(self, q, k, v):
            hidden = torch.ones(q.size(-2), q.size(-2), dtype=torch.bool).triu(1)
            scores = (q @ k.mT / math.sqrt(D // H)).masked_fill(hidden, -1e9)
            return torch.softmax(scores, dim=2) @ v

    return Layer()


@faulty(
    "the mask after the softmax",
    "mask_after_softmax",
    "stevezheng23/sequence_labeling_tf#70",
    **CAUSAL,
)
def _():
    class Layer(Fused):
        def mix(self, q, k, v):
            weights = torch.softmax(q @ k.mT / math.sqrt(D // H), -1)
            return torch.tril(weights) @ v

    return Layer()


@faulty(
    "heads in a Python list", "unregistered", "maruya24/pytorch_robotics_transformer#3", **CAUSAL
)
def _():
    return Heads([Head() for _ in range(H)])


@faulty("a scale that is never used", "unreached", "lucidrains/x-transformers#352", **CAUSAL)
def _():
    class Layer(Fused):
        def __init__(self):
            super().__init__()
            self.gain = nn.Parameter(torch.ones(H, 1, D // H))

    return Layer()


@faulty("positions that never arrive", "order_blind", **BOTH, positions=True)
def _():
    return Fused(causal=False)


@faulty("the key heads in another order", "groups", "apple/axlearn#842", **BOTH)
def _():
    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.n_heads, self.n_kv_heads = H, 2
            self.q_proj, self.o_proj = nn.Linear(D, D), nn.Linear(D, D)
            self.k_proj, self.v_proj = nn.Linear(D, D // 2), nn.Linear(D, D // 2)

        def forward(self, x):
            q, k, v = (
                f(x).unflatten(-1, (-1, D // H)).transpose(1, 2)
                for f in (self.q_proj, self.k_proj, self.v_proj)
            )
            y = F.scaled_dot_product_attention(q, k.repeat(1, 2, 1, 1), v.repeat(1, 2, 1, 1))
            return self.o_proj(y.transpose(1, 2).flatten(2))

    return Layer()


@faulty("weights that do not sum to 1", "one_row", **BOTH)
def _():
    class Layer(Fused):
        def mix(self, q, k, v):
            return torch.sigmoid(torch.tanh(q) @ k.mT / math.sqrt(D // H)) @ v

    return Layer(causal=False)
