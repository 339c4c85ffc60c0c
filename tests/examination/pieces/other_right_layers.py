"""Right layers in other styles."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from tests.examination.pieces.other_layers import (
    BOTH,
    CAUSAL,
    BatchSecond,
    Crossed,
    D,
    Grouped,
    H,
    Masked,
    Stacked,
    neighbors_turned,
    slopes,
)
from tests.examination.pieces.piece import right


def rearranged(x, pattern, h):
    """The two patterns of einops that attention needs."""
    if pattern == "b n (h d) -> b h n d":
        b, n, width = x.shape
        return x.reshape(b, n, h, width // h).permute(0, 2, 1, 3)
    assert pattern == "b h n d -> b n (h d)"
    b, _h, n, d = x.shape
    return x.permute(0, 2, 1, 3).reshape(b, n, h * d)


@right("axes by name", **BOTH)
def _():
    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.heads = H
            self.to_q, self.to_kv = nn.Linear(D, D, bias=False), nn.Linear(D, 2 * D, bias=False)
            self.to_out = nn.Sequential(nn.Linear(D, D), nn.Dropout(0.1))

        def forward(self, x):
            parts = (self.to_q(x), *self.to_kv(x).chunk(2, dim=-1))
            q, k, v = (rearranged(t, "b n (h d) -> b h n d", h=H) for t in parts)
            weights = (torch.einsum("bhid,bhjd->bhij", q, k) * (D // H) ** -0.5).softmax(-1)
            return self.to_out(rearranged(weights @ v, "b h n d -> b n (h d)", h=H))

    return Layer()


@right("stacked tensors", **BOTH)
def _():
    return Stacked()


@right("heads folded into the batch, which is second", **CAUSAL, layout="LBD")
def _():
    return BatchSecond()


@right("parameters in a dictionary", **CAUSAL, d_model=D)
def _():
    generator = torch.Generator().manual_seed(3)
    weights = {
        name: torch.randn(D, D, generator=generator) / math.sqrt(D)
        for name in ("query", "key", "value", "output")
    }

    def layer(x, params=weights):
        def heads(name):
            return (x @ params[name].to(x)).view(*x.shape[:2], H, -1).transpose(1, 2)

        y = F.scaled_dot_product_attention(
            heads("query"), heads("key"), heads("value"), is_causal=True
        )
        return y.transpose(1, 2).flatten(2) @ params["output"].to(x)

    return layer


@right("values, keys, queries from one matrix", **CAUSAL)
def _():
    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.h = H
            self.proj_in, self.proj_out = nn.Linear(D, 3 * D), nn.Linear(D, D)

        def forward(self, x):
            v, k, q = self.proj_in(x).view(*x.shape[:2], H, 3, -1).transpose(1, 2).unbind(3)
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            return self.proj_out(y.transpose(1, 2).flatten(2))

    return Layer()


@right("one key head", **CAUSAL)
def _():
    return Grouped()


@right("one key head and distances", **CAUSAL, positions=True)
def _():
    class Layer(Grouped):
        def attend(self, q, k, v):
            i = torch.arange(q.size(-2))
            distance = i - i[:, None]
            bias = slopes(H)[:, None, None] * distance
            bias = bias.masked_fill(distance > 0, -torch.inf).to(q)
            k, v = (t.expand(-1, H, -1, -1) for t in (k, v))
            return F.scaled_dot_product_attention(q, k, v, attn_mask=bias)

    return Layer()


@right("neighbors rotated", **CAUSAL, positions=True)
def _():
    class Layer(Grouped):
        def place(self, q, k):
            return neighbors_turned(q, -3), neighbors_turned(k, -3)

    return Layer()


@right("a mask of real rows", **BOTH, mask="keep", mask_shape="BL")
def _():
    return Masked()


@right("a layer with a gate", **CAUSAL)
def _():
    class Layer(Grouped):
        def __init__(self):
            super().__init__()
            self.gate = nn.Linear(D, D)

        def forward(self, x):
            return super().forward(x) * torch.sigmoid(self.gate(x))

    return Layer()


@right("keys and values from few numbers", **CAUSAL)
def _():
    class Latent(nn.Module):
        def __init__(self):
            super().__init__()
            self.num_heads = H
            self.q_proj, self.o_proj = nn.Linear(D, D, bias=False), nn.Linear(D, D, bias=False)
            self.kv_down, self.kv_norm = nn.Linear(D, 6, bias=False), nn.RMSNorm(6)
            self.k_up, self.v_up = nn.Linear(6, D, bias=False), nn.Linear(6, D, bias=False)

        def forward(self, x):
            c = self.kv_norm(self.kv_down(x))
            q, k, v = (
                t.unflatten(-1, (H, -1)).transpose(1, 2)
                for t in (self.q_proj(x), self.k_up(c), self.v_up(c))
            )
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            return self.o_proj(y.transpose(1, 2).flatten(2))

    return Latent()


@right("a learned bias for each distance, no scale", **BOTH, positions=True, scale=1.0)
def _():
    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.n_heads = H
            self.q, self.k, self.v, self.o = (nn.Linear(D, D, bias=False) for _ in range(4))
            self.relative_attention_bias = nn.Embedding(65, H)

        def forward(self, hidden_states):
            q, k, v = (
                f(hidden_states).unflatten(-1, (H, -1)).transpose(1, 2)
                for f in (self.q, self.k, self.v)
            )
            i = torch.arange(q.size(-2))
            bias = self.relative_attention_bias((i - i[:, None]).clamp(-32, 32) + 32)
            weights = (q @ k.mT + bias.permute(2, 0, 1)).float().softmax(-1).type_as(v)
            return self.o((weights @ v).transpose(1, 2).flatten(2)), bias

    return Layer()


@right("latents look at a context", kind="cross", mask="keep", mask_shape="BL")
def _():
    return Crossed()


@right("a post-norm block", **BOTH, block="post")
def _():
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.attention, self.norm1, self.norm2 = Masked(), nn.LayerNorm(D), nn.LayerNorm(D)
            self.ff = nn.Sequential(nn.Linear(D, 2 * D), nn.ReLU(), nn.Linear(2 * D, D))
            self.dropout = nn.Dropout(0.1)

        def forward(self, x):
            x = self.norm1(x + self.dropout(self.attention(x)))
            return self.norm2(x + self.dropout(self.ff(x)))

    return Block()


@right("a window of 3 rows", **CAUSAL, window=3)
def _():
    class Layer(Grouped):
        def attend(self, q, k, v):
            i = torch.arange(q.size(-2))
            distance = i[:, None] - i
            keep = (distance >= 0) & (distance < 3)
            return F.scaled_dot_product_attention(q, k, v, attn_mask=keep, enable_gqa=True)

    return Layer(H)
