"""Faulty layers in other styles: tensors as matrices, the batch second, groups, two sequences."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from tests.examination.pieces.piece import faulty

D, H = 24, 3
CAUSAL = {"kind": "layer", "causal": True}
BOTH = {"kind": "layer", "causal": False}


def slopes(n):
    return 2.0 ** (-8 * torch.arange(1, n + 1) / n)


def neighbors_turned(x, axis=-2):
    """Rotate neighboring columns by the positions along an axis."""
    rates = 10000.0 ** (-torch.arange(0, x.size(-1), 2) / x.size(-1))
    angles = torch.outer(torch.arange(x.size(axis)), rates).to(x)
    if axis == -3:
        angles = angles[:, None]
    a, b = x[..., 0::2], x[..., 1::2]
    turned = [a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()]
    return torch.stack(turned, -1).flatten(-2)


class Stacked(nn.Module):
    """All matrices as tensors: qkv (3, H, D, d) and out (H, d, D)."""

    def __init__(self, divisor=D // H):
        super().__init__()
        self.num_heads, self.divisor = H, divisor
        self.qkv = nn.Parameter(torch.randn(3, H, D, D // H) / math.sqrt(D))
        self.out = nn.Parameter(torch.randn(H, D // H, D) / math.sqrt(D))

    def forward(self, x):
        q, k, v = torch.einsum("bnd,thdk->tbhnk", x, self.qkv)
        scores = torch.einsum("bhnk,bhmk->bhnm", q, k) / math.sqrt(self.divisor)
        return torch.einsum("bhnm,bhmk,hkd->bnd", scores.softmax(-1), v, self.out)


class BatchSecond(nn.Module):
    """Rows (L, B, D), heads folded into the batch."""

    def __init__(self):
        super().__init__()
        self.num_heads, self.head_dim = H, D // H
        self.q_proj, self.k_proj, self.v_proj, self.out_proj = (nn.Linear(D, D) for _ in range(4))

    def hidden(self, n):
        return torch.full((n, n), -torch.inf).triu(1)

    def unfold(self, y, n, b):
        return y.transpose(0, 1).reshape(n, b, D)

    def forward(self, x):
        n, b, _ = x.shape
        q, k, v = (
            f(x).contiguous().view(n, b * H, self.head_dim).transpose(0, 1)
            for f in (self.q_proj, self.k_proj, self.v_proj)
        )
        scores = torch.baddbmm(
            self.hidden(n).to(q).expand(b * H, n, n),
            q,
            k.transpose(1, 2),
            alpha=self.head_dim**-0.5,
        )
        return self.out_proj(self.unfold(torch.bmm(F.softmax(scores, dim=-1), v), n, b))


class Grouped(nn.Module):
    """Causal attention with one key head, and a method for what positions do."""

    def __init__(self, n_kv=1):
        super().__init__()
        self.n_head, self.n_kv = H, n_kv
        width = D // H
        self.wq, self.wo = nn.Linear(D, D, bias=False), nn.Linear(D, D, bias=False)
        self.wk, self.wv = (nn.Linear(D, n_kv * width, bias=False) for _ in range(2))

    def place(self, q, k):
        return q, k

    def values(self, x):
        return self.wv(x)

    def attend(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)

    def forward(self, x):
        q, k, v = (t.unflatten(-1, (-1, D // H)) for t in (self.wq(x), self.wk(x), self.values(x)))
        q, k = self.place(q, k)
        y = self.attend(*(t.transpose(1, 2) for t in (q, k, v)))
        return self.wo(y.transpose(1, 2).reshape(x.shape))


@faulty("stacked tensors, scaled by the width of the model", "scale", **BOTH)
def _():
    return Stacked(D)


@faulty("folded heads viewed as sentences", "cross_batch", **CAUSAL, layout="LBD")
def _():
    class Layer(BatchSecond):
        def unfold(self, y, n, b):
            return y.reshape(n, b, D)

    return Layer()


@faulty("an additive triangle one too wide", "sees_next", **CAUSAL, layout="LBD")
def _():
    class Layer(BatchSecond):
        def hidden(self, n):
            return torch.full((n, n), -torch.inf).triu(2)

    return Layer()


@faulty("general dense layers, softmax over queries", "softmax_axis", **BOTH)
def _():
    class DenseGeneral(nn.Module):
        def __init__(self):
            super().__init__()
            self.kernel = nn.Parameter(torch.randn(D, H, D // H) * D**-0.5)
            self.bias = nn.Parameter(torch.randn(H, D // H) * 0.1)

        def forward(self, x):
            return torch.einsum("bld,dhk->blhk", x, self.kernel) + self.bias

    class SelfAttention(nn.Module):
        def __init__(self):
            super().__init__()
            self.num_heads = H
            self.query, self.key, self.value = (DenseGeneral() for _ in range(3))
            self.out = nn.Linear(D, D)

        def forward(self, inputs):
            query = self.query(inputs) / math.sqrt(D // H)
            weights = torch.einsum("bqhd,bkhd->bhqk", query, self.key(inputs)).softmax(2)
            y = torch.einsum("bhqk,bkhd->bqhd", weights, self.value(inputs))
            return self.out(y.flatten(2))

    return SelfAttention()


@faulty("one key head, whose values are its keys", "values", **CAUSAL)
def _():
    class Layer(Grouped):
        def values(self, x):
            return self.wk(x)

    return Layer()


@faulty("distances without a mask", "sees_future", **CAUSAL, positions=True)
def _():
    class Layer(Grouped):
        def attend(self, q, k, v):
            i = torch.arange(q.size(-2))
            bias = (slopes(H)[:, None, None] * (i - i[:, None])).to(q)
            return F.scaled_dot_product_attention(q, k, v, attn_mask=bias, enable_gqa=True)

    return Layer(H)


@faulty("positions along the axis of heads", "order_blind", **BOTH, positions=True)
def _():
    class Layer(Grouped):
        def place(self, q, k):
            return neighbors_turned(q), neighbors_turned(k)

        def attend(self, q, k, v):
            return F.scaled_dot_product_attention(q, k, v)

    return Layer(H)


@faulty("F.dropout with its default", "random_eval", **CAUSAL)
def _():
    class Layer(Grouped):
        def forward(self, x):
            return F.dropout(super().forward(x), 0.1)

    return Layer()


class Masked(nn.Module):
    """Attention with a mask (B, L), True for real rows."""

    def __init__(self):
        super().__init__()
        self.heads = H
        self.to_qkv, self.to_out = nn.Linear(D, 3 * D, bias=False), nn.Linear(D, D)

    def cut(self, qkv):
        return qkv.unflatten(-1, (3, H, -1)).permute(2, 0, 3, 1, 4)

    def hide(self, sim, mask):
        return sim.masked_fill(~mask[:, None, None, :], -torch.finfo(sim.dtype).max)

    def forward(self, x, mask=None):
        q, k, v = self.cut(self.to_qkv(x))
        sim = torch.einsum("bhid,bhjd->bhij", q * (D // H) ** -0.5, k)
        sim = sim if mask is None else self.hide(sim, mask)
        out = torch.einsum("bhij,bhjd->bhid", sim.softmax(-1), v)
        return self.to_out(out.permute(0, 2, 1, 3).flatten(2))


@faulty("the mask of rows on the queries", "leak", **BOTH, mask="keep", mask_shape="BL")
def _():
    class Layer(Masked):
        def hide(self, sim, mask):
            return sim.masked_fill(~mask[:, None, :, None], -torch.finfo(sim.dtype).max)

    return Layer()


@faulty("real rows passed as padding", "mask_inverted", **BOTH, mask="keep", mask_shape="BL")
def _():
    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.mha = nn.MultiheadAttention(D, H, batch_first=True)

        def forward(self, x, mask):
            return self.mha(x, x, x, key_padding_mask=mask, need_weights=False)[0]

    return Layer()


@faulty("fused, cut along the rows", "heads", **BOTH)
def _():
    class Layer(Masked):
        def cut(self, qkv):
            b, n, _ = qkv.shape
            return qkv.view(b, 3, n, H, -1).permute(1, 0, 3, 2, 4)

    return Layer()


@faulty("cosines of queries and keys", "numbers", **BOTH)
def _():
    class Layer(Masked):
        def forward(self, x):
            q, k, v = self.cut(self.to_qkv(x))
            y = (F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).mT).softmax(-1) @ v
            return self.to_out(y.transpose(1, 2).flatten(2))

    return Layer()


@faulty("a triangle of ones added", "mask_soft", **CAUSAL)
def _():
    class Layer(Grouped):
        def attend(self, q, k, v):
            n = q.size(-2)
            triangle = torch.ones(n, n).tril().to(q)
            return F.scaled_dot_product_attention(q, k, v, attn_mask=triangle, enable_gqa=True)

    return Layer()


@faulty("no residual around the feed-forward network", "residual", **BOTH, block="post")
def _():
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.attention, self.norm1, self.norm2 = Masked(), nn.LayerNorm(D), nn.LayerNorm(D)
            self.ff = nn.Sequential(nn.Linear(D, 2 * D), nn.ReLU(), nn.Linear(2 * D, D))

        def forward(self, x):
            x = self.norm1(x + self.attention(x))
            return self.norm2(self.ff(x))

    return Block()


class Crossed(nn.Module):
    """Latents look at a context of another width."""

    def __init__(self):
        super().__init__()
        self.n_heads = H
        self.q, self.kv, self.o = nn.Linear(D, D), nn.Linear(10, 2 * D), nn.Linear(D, D)

    def merge(self, y):
        return y.transpose(1, 2).flatten(2)

    def forward(self, latents, context, mask=None):
        q = self.q(latents).unflatten(-1, (H, -1)).transpose(1, 2)
        k, v = self.kv(context).unflatten(-1, (2, H, -1)).permute(2, 0, 3, 1, 4)
        mask = None if mask is None else mask[:, None, None]
        return self.o(self.merge(F.scaled_dot_product_attention(q, k, v, attn_mask=mask)))


@faulty("latents, heads joined by reshape", "heads", kind="cross")
def _():
    class Layer(Crossed):
        def merge(self, y):
            return y.reshape(y.size(0), y.size(2), D)

    return Layer()


@faulty(
    "a context whose padding is looked at",
    "mask_inverted",
    kind="cross",
    mask="hide",
    mask_shape="BL",
)
def _():
    return Crossed()


@faulty("a layer that forgets its context", "source_ignored", kind="cross")
def _():
    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.n_heads = H
            self.wq, self.wk, self.wv, self.wo = (nn.Linear(D, D) for _ in range(4))

        def forward(self, x, memory):
            q, k, v = (
                f(x).unflatten(-1, (H, -1)).transpose(1, 2) for f in (self.wq, self.wk, self.wv)
            )
            return self.wo(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))

    return Layer()
