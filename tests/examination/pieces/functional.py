"""Attention as functions of parameters in dictionaries, as in JAX, and cores in plain einsum."""

import math
from functools import partial

import torch
from torch import nn
from torch.nn import functional as F

from tests.examination.pieces.piece import faulty, right

D, H = 32, 4
BOTH = {"kind": "layer", "causal": False}
CAUSAL = {"kind": "layer", "causal": True}
PAIRS = {"kind": "core", "mask": "keep", "mask_shape": "LL"}


def initialized():
    """Weights (in, heads, width), as in JAX, and the one after the heads (heads, width, out)."""
    width = D // H
    weights = {name: torch.randn(D, H, width) / math.sqrt(D) for name in ("query", "key", "value")}
    return {**weights, "out": torch.randn(H, width, D) / math.sqrt(D), "bias": torch.zeros(D)}


def attend(params, x, *, causal=False, axis=-1, factor=None):
    q, k, v = (torch.einsum("btd,dhk->bthk", x, params[name]) for name in ("query", "key", "value"))
    factor = 1 / math.sqrt(q.shape[-1]) if factor is None else factor
    logits = torch.einsum("bthk,bshk->bhts", q, k) * factor
    if causal:
        t = x.shape[1]
        logits = torch.where(torch.tril(torch.ones(t, t)) == 1, logits, torch.tensor(-1e30))
    weights = torch.softmax(logits, axis)
    out = torch.einsum("bhts,bshk->bthk", weights, v)
    return torch.einsum("bthk,hkd->btd", out, params["out"]) + params["bias"]


@right("a dictionary of tensors, bound by partial", **BOTH)
def _():
    return partial(attend, initialized())


@right("a dictionary of tensors in a closure, causal", **CAUSAL)
def _():
    params = initialized()
    return lambda x: attend(params, x, causal=True)


@faulty("a dictionary of tensors, without a scale", "scale", **BOTH)
def _():
    return partial(attend, initialized(), factor=1.0)


@faulty("a dictionary of tensors, softmax over the heads", "softmax_axis", **BOTH)
def _():
    return partial(attend, initialized(), axis=1)


@faulty("a dictionary of tensors, never causal", "sees_future", **CAUSAL)
def _():
    return partial(attend, initialized())


class Apply(nn.Module):
    """A module whose parameters are in a ParameterDict, with kernels (in, out)."""

    def __init__(self):
        super().__init__()
        self.heads = H
        self.params = nn.ParameterDict(
            {f"w{name}": torch.randn(D, D) / math.sqrt(D) for name in "qkvo"}
        )

    def weigh(self, q, k):
        return (q @ k.swapaxes(-1, -2) / math.sqrt(D // H)).softmax(-1)

    def values(self, v):
        return v

    def forward(self, x):
        def split(y):
            return torch.stack(torch.chunk(y, H, dim=-1), dim=1)

        q, k, v = (split(x @ self.params[f"w{name}"]) for name in "qkv")
        y = self.weigh(q, k) @ self.values(v)
        return torch.cat(torch.unbind(y, 1), -1) @ self.params["wo"]


@right("a ParameterDict, heads by chunk and cat", **BOTH)
def _():
    return Apply()


@right("normalized sums of positive features, without softmax", **BOTH)
def _():
    class Layer(Apply):
        def weigh(self, q, k):
            similar = (F.elu(q) + 1) @ (F.elu(k) + 1).mT
            return similar / similar.sum(-1, keepdim=True)

    return Layer()


@right("scores limited by tanh", **BOTH)
def _():
    class Layer(Apply):
        def weigh(self, q, k):
            scores = q @ k.mT / math.sqrt(D // H)
            return (5 * torch.tanh(scores / 5)).softmax(-1)

    return Layer()


@right("heads that talk before and after the softmax", **BOTH)
def _():
    class Layer(Apply):
        def __init__(self):
            super().__init__()
            self.before, self.after = (nn.Parameter(torch.randn(H, H)) for _ in range(2))

        def weigh(self, q, k):
            scores = q @ k.mT / math.sqrt(D // H)
            scores = torch.einsum("bhij,hg->bgij", scores, self.before)
            return torch.einsum("bhij,hg->bgij", scores.softmax(-1), self.after)

    return Layer()


@right("the difference of two softmaxes", **BOTH)
def _():
    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.num_heads, self.strength = H, nn.Parameter(torch.tensor(0.3))
            self.q, self.k = nn.Linear(D, 2 * D), nn.Linear(D, 2 * D)
            self.v, self.o = nn.Linear(D, D), nn.Linear(D, D)

        def forward(self, x):
            q, k = (f(x).unflatten(-1, (2, H, -1)).movedim(1, 3) for f in (self.q, self.k))
            v = self.v(x).unflatten(-1, (H, -1)).transpose(1, 2)
            first, second = (q @ k.mT * (D // H) ** -0.5).softmax(-1).unbind(1)
            return self.o(((first - self.strength * second) @ v).transpose(1, 2).flatten(2))

    return Layer()


@faulty("columns of a ParameterDict's weights sum to 1", "softmax_axis", **BOTH)
def _():
    class Layer(Apply):
        def weigh(self, q, k):
            return (k @ q.mT / math.sqrt(D // H)).softmax(-1).mT

    return Layer()


@faulty("the root of the wrong width", "scale", **BOTH)
def _():
    class Layer(Apply):
        def weigh(self, q, k):
            return (q @ k.mT / math.sqrt(q.shape[-2])).softmax(-1)

    return Layer()


@faulty("weights against the keys' own axis", "transposed", **BOTH)
def _():
    class Layer(Apply):
        def weigh(self, q, k):
            return (q @ k.mT / math.sqrt(D // H)).softmax(-1).mT

    return Layer()


def by_logsumexp(q, k, v, mask=None, *, axis=-1):
    logits = torch.einsum("...qd,...kd->...qk", q, k) * q.shape[-1] ** -0.5
    if mask is not None:
        logits = torch.where(mask, logits, torch.finfo(logits.dtype).min)
    weights = torch.exp(logits - torch.logsumexp(logits, axis, keepdim=True))
    return torch.einsum("...qk,...kd->...qd", weights, v)


@right("weights by logsumexp", **PAIRS)
def _():
    return by_logsumexp


@right("one query after another", **PAIRS)
def _():
    def core(q, k, v, mask):
        rows = []
        for i in range(q.shape[-2]):
            scores = (k * q[..., i : i + 1, :]).sum(-1) / q.shape[-1] ** 0.5
            weights = scores.masked_fill(mask[i].logical_not(), -torch.inf).softmax(-1)
            rows.append((weights.nan_to_num(0)[..., None] * v).sum(-2))
        return torch.stack(rows, -2)

    return core


@right("arguments by name only", **PAIRS)
def _():
    def core(*, query, key, value, attn_mask=None):
        return F.scaled_dot_product_attention(query, key, value, attn_mask)

    return core


@right("vmap over batch and heads", kind="core", mask="hide", mask_shape="BHLL")
def _():
    def single(q, k, v, hidden):
        scores = (q @ k.T / q.shape[-1] ** 0.5).masked_fill(hidden, -1e9)
        return scores.softmax(-1) @ v

    return torch.vmap(torch.vmap(single))


@right("key heads expanded", kind="core", groups=2)
def _():
    def core(q, k, v):
        b, h, _n, d = q.shape
        k, v = (
            t[:, :, None].expand(-1, -1, h // t.shape[1], -1, -1).reshape(b, h, -1, d)
            for t in (k, v)
        )
        return F.scaled_dot_product_attention(q, k, v)

    return core


@right("weights returned beside the output, dropout given", kind="core", mask="keep01")
def _():
    def attention(query, key, value, mask=None, dropout=None):
        scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(query.size(-1))
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -1e9)
        p_attn = scores.softmax(dim=-1)
        if dropout is not None:
            p_attn = dropout(p_attn)
        return torch.matmul(p_attn, value), p_attn

    return attention


@faulty("logsumexp over the queries", "softmax_axis", **PAIRS)
def _():
    return partial(by_logsumexp, axis=-2)


@faulty("dropout in a function", "random_eval", **PAIRS)
def _():
    def core(q, k, v, mask=None):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=0.1)

    return core


@faulty("0 and 1 of the other meaning", "mask_inverted", kind="core", mask="keep01")
def _():
    def core(q, k, v, mask):
        return ((q @ k.mT) / q.shape[-1] ** 0.5 + mask * -1e9).softmax(-1) @ v

    return core


@faulty("a mask that is computed and forgotten", "mask_ignored", kind="core", mask="hide")
def _():
    def core(q, k, v, mask):
        scores = (q @ k.mT) / q.shape[-1] ** 0.5
        torch.where(mask, -torch.inf, scores)
        return scores.softmax(-1) @ v

    return core


@faulty("key heads expanded at the wrong axis", "groups", kind="core", groups=2)
def _():
    def core(q, k, v):
        b, h, _n, d = q.shape
        k, v = (
            t[:, None].expand(-1, h // t.shape[1], -1, -1, -1).reshape(b, h, -1, d) for t in (k, v)
        )
        return F.scaled_dot_product_attention(q, k, v)

    return core


@faulty("the scale inside the softmax's result", "numbers", **PAIRS)
def _():
    def core(q, k, v, mask):
        weights = (q @ k.mT).masked_fill(~mask, -torch.inf).softmax(-1)
        return weights / q.shape[-1] ** 0.5 @ v

    return core
