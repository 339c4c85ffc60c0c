"""Cores and small functions in other styles: closures, einsum over groups, blocks of keys."""

import functools
import math

import torch
from torch import nn
from torch.nn import functional as F

from tests.examination.pieces.piece import faulty, right

V, PAD = 31, 0
PLAIN = {"kind": "core"}
PAIRS = {"kind": "core", "mask": "keep", "mask_shape": "LL"}


@faulty("a penalty of 1 instead of -inf", "mask_soft", kind="core", mask="add", mask_shape="B1LL")
def _():
    def attend(q, k, v, attn_bias):
        sim = torch.einsum("...id,...jd->...ij", q, k) * k.size(-1) ** -0.5
        return torch.einsum("...ij,...jd->...id", (sim + attn_bias.clamp(min=-1)).softmax(-1), v)

    return attend


@faulty("a factory with the root upside down", "scale", **PLAIN)
def _():
    def build(temperature):
        def attend(query, key, value):
            return torch.softmax(temperature * (query @ key.mT), -1) @ value

        return attend

    return build(temperature=math.sqrt(4))


@faulty("blocks of keys, the sum not rescaled", "numbers", **PLAIN)
def _():
    def attend(q, k, v):
        top = torch.full((*q.shape[:-1], 1), -torch.inf, dtype=q.dtype)
        total, out = torch.zeros_like(top), torch.zeros_like(q)
        for keys, values in zip(k.split(3, -2), v.split(3, -2), strict=True):
            scores = q @ keys.mT / math.sqrt(q.size(-1))
            new_top = torch.maximum(top, scores.amax(-1, keepdim=True))
            weights = (scores - new_top).exp()
            total = total + weights.sum(-1, keepdim=True)
            out = out * (top - new_top).exp() + weights @ values
            top = new_top
        return out / total

    return attend


@faulty("einsum, weights of a column sum to 1", "softmax_axis", **PLAIN)
def _():
    def attend(q, k, v):
        logits = torch.einsum("bhtd,bhTd->bhtT", q / math.sqrt(q.shape[-1]), k)
        return torch.einsum("bhtT,bhTd->bhtd", F.softmax(logits, dim=-2), v)

    return attend


@faulty(
    "a key padding mask of the other meaning",
    "mask_inverted",
    kind="core",
    mask="hide",
    mask_shape="BL",
)
def _():
    def attend(q, k, v, key_padding_mask):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=key_padding_mask[:, None, None])

    return attend


@faulty("a band from triu and tril", "window", kind="core", causal=True, window=3)
def _():
    def attend(q, k, v):
        n = q.size(-2)
        band = torch.ones(n, n, dtype=torch.bool).tril().triu(-3)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=band)

    return attend


@faulty("groups of queries before key heads", "groups", kind="core", groups=2)
def _():
    def attend(q, k, v):
        b, h, n, d = q.shape
        q = q.view(b, h // k.size(1), k.size(1), n, d)
        weights = torch.einsum("bgknd,bkmd->bgknm", q, k).div(d**0.5).softmax(-1)
        return torch.einsum("bgknm,bkmd->bgknd", weights, v).reshape(b, h, n, d)

    return attend


@faulty("the maximum of everything subtracted", "overflow", **PLAIN)
def _():
    def attend(q, k, v):
        scores = q @ k.mT / math.sqrt(q.size(-1))
        weights = (scores - scores.max()).exp()
        return weights / weights.sum(-1, keepdim=True) @ v

    return attend


@faulty("a table with another base", "position_table", kind="table")
def _():
    def table(n_positions, d_model):
        rates = 1000.0 ** (-torch.arange(0, d_model, 2) / d_model)
        angles = torch.outer(torch.arange(n_positions), rates)
        return torch.cat([angles.sin(), angles.cos()], -1)[:, :d_model]

    return table


@faulty("pairs reflected instead of rotated", "rotary", kind="rotary")
def _():
    def apply(x, pos):
        rates = 10000.0 ** (-torch.arange(0, x.size(-1), 2) / x.size(-1))
        cos, sin = (f(pos[:, None] * rates).to(x) for f in (torch.cos, torch.sin))
        a, b = x[..., ::2], x[..., 1::2]
        return torch.stack([a * cos + b * sin, a * sin + b * cos], -1).flatten(-2)

    return apply


@faulty("each word scored on the one before", "shift_none", kind="loss", pad=PAD)
def _():
    def loss(logits, tokens):
        guesses, labels = logits[:, 1:], tokens[:, :-1]
        return F.cross_entropy(guesses.reshape(-1, guesses.size(-1)), labels.reshape(-1))

    return loss


@faulty("top-p without the first token", "top_p", kind="top_p")
def _():
    def nucleus(logits, top_p):
        values, indices = torch.sort(logits, descending=True)
        gone = values.softmax(-1).cumsum(-1) > top_p
        gone[..., 0] = True
        return logits.masked_fill(gone.gather(-1, indices.argsort(-1)), -torch.inf)

    return nucleus


@faulty("top-k with one limit for the whole batch", "top_k", kind="top_k")
def _():
    return lambda logits, k: torch.where(logits < logits.topk(k)[0].min(), -torch.inf, logits)


@faulty("multiplied by the temperature", "temperature", kind="sampler")
def _():
    def probabilities(logits, temp, top_p):
        probs = (logits * temp).softmax(-1)
        ordered, order = probs.sort(-1, descending=True)
        kept = torch.where(ordered.cumsum(-1) - ordered < top_p, ordered, 0)
        kept = kept / kept.sum(-1, keepdim=True)
        return torch.zeros_like(kept).scatter_(-1, order, kept)

    return probabilities


# --- right ones -----------------------------------------------------------------------------------


@right("blocks of keys, rescaled", **PLAIN)
def _():
    def attend(q, k, v):
        top = torch.full((*q.shape[:-1], 1), -torch.inf, dtype=q.dtype)
        total, out = torch.zeros_like(top), torch.zeros_like(q)
        for keys, values in zip(k.split(3, -2), v.split(3, -2), strict=True):
            scores = q @ keys.mT / math.sqrt(q.size(-1))
            new_top = torch.maximum(top, scores.amax(-1, keepdim=True))
            weights, shrink = (scores - new_top).exp(), (top - new_top).exp()
            total = total * shrink + weights.sum(-1, keepdim=True)
            out = out * shrink + weights @ values
            top = new_top
        return out / total

    return attend


@right("a partial function with options", **PAIRS)
def _():
    def attend(q, k, v, mask=None, *, scale=None, dropout=0.0):
        scale = q.size(-1) ** -0.5 if scale is None else scale
        sim = torch.einsum("...id,...jd->...ij", q * scale, k)
        low = -torch.finfo(sim.dtype).max
        weights = sim.masked_fill(~mask, low).softmax(-1) * mask.any(-1, keepdim=True)
        return F.dropout(weights, dropout) @ v

    return functools.partial(attend, dropout=0.0)


@right("five axes for grouped heads", kind="core", groups=2)
def _():
    def attend(q, k, v):
        b, h, n, d = q.shape
        q = q.view(b, k.size(1), h // k.size(1), n, d)
        weights = torch.einsum("bkgnd,bkmd->bkgnm", q, k).div(d**0.5).softmax(-1)
        return torch.einsum("bkgnm,bkmd->bkgnd", weights, v).flatten(1, 2)

    return attend


@right("an object with a call", **PLAIN)
def _():
    class Attention:
        def __init__(self, dropout):
            self.dropout = nn.Dropout(dropout)

        def __call__(self, query, key, value):
            weights = F.softmax(query @ key.mT / query.shape[-1] ** 0.5, dim=-1)
            return weights @ value, weights

    return Attention(0.1)


@right("sines first, then cosines", kind="table")
def _():
    def table(n_positions, d_model):
        rates = torch.exp(-math.log(10000) * torch.arange(0, d_model, 2) / d_model)
        angles = torch.outer(torch.arange(n_positions), rates)
        return torch.cat([angles.sin(), angles.cos()], -1)[None, :, :d_model]

    return table


@right("pairs from tables made before", kind="rotary")
def _():
    class Rotary(nn.Module):
        def __init__(self, width=8, longest=8192):
            super().__init__()
            rates = 10000.0 ** (-torch.arange(0, width, 2) / width)
            angles = torch.outer(torch.arange(longest).float(), rates)
            self.register_buffer("cos", angles.cos(), persistent=False)
            self.register_buffer("sin", angles.sin(), persistent=False)

        def forward(self, x, offset=0):
            n = x.size(-2)
            cos, sin = self.cos[offset : offset + n], self.sin[offset : offset + n]
            a, b = x.unflatten(-1, (-1, 2)).unbind(-1)
            return torch.stack([a * cos - b * sin, a * sin + b * cos], -1).flatten(-2)

    return Rotary()


@right("smoothed labels", kind="loss", pad=PAD)
def _():
    def loss(logits, labels):
        return F.cross_entropy(
            logits[:, :-1].flatten(0, 1),
            labels[:, 1:].flatten(),
            None,
            None,
            PAD,
            None,
            "mean",
            0.1,
        )

    return loss


@right("top-p by positions shifted one to the right", kind="top_p")
def _():
    def nucleus(logits, top_p):
        values, indices = torch.sort(logits, descending=True)
        gone = values.softmax(-1).cumsum(-1) > top_p
        gone[..., 1:] = gone[..., :-1].clone()
        gone[..., 0] = False
        return logits.masked_fill(gone.scatter(-1, indices, gone), -torch.inf)

    return nucleus
