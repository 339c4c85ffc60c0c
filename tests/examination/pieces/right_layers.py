"""Right layers of self-attention."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from tests.examination.pieces.layers import BOTH, CAUSAL, D, Four, Fused, H, Head, Heads, rotated
from tests.examination.pieces.piece import right


@right("fused, as in GPT-2", **CAUSAL)
def _():
    return Fused()


@right("fused, causal not said", kind="layer")
def _():
    return Fused()


@right("four matrices, einsum", **BOTH)
def _():
    return Four()


@right("four matrices, mask of real words", **BOTH, mask="keep", mask_shape="BL")
def _():
    return Four()


@right("keys, queries, values per head", **BOTH)
def _():
    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.num_heads = H
            self.kqv, self.out = nn.Linear(D, 3 * D, bias=False), nn.Linear(D, D)

        def forward(self, x):
            k, q, v = self.kqv(x).view(*x.shape[:2], H, 3, D // H).permute(3, 0, 2, 1, 4)
            y = (q * (D // H) ** -0.5 @ k.mT).softmax(-1) @ v
            return self.out(y.transpose(1, 2).flatten(2))

    return Layer()


@right("one sequence (L, D), heads of their own", **CAUSAL, layout="LD")
def _():
    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.heads = Heads(nn.ModuleList(Head() for _ in range(H)))

        def forward(self, x):
            return self.heads(x[None])[0]

    return Layer()


@right("PyTorch's layer, batch second", **BOTH, layout="LBD")
def _():
    return nn.MultiheadAttention(D, H)


@right("PyTorch's layer, with a mask of padding", **BOTH, mask="hide", mask_shape="BL")
def _():
    return nn.MultiheadAttention(D, H, batch_first=True)


@right("PyTorch's layer, causal by a mask", **CAUSAL, mask="hide", mask_shape="LL")
def _():
    return nn.MultiheadAttention(D, H, batch_first=True)


@right("additive mask of all pairs", **BOTH, mask="add", mask_shape="B1LL")
def _():
    class Layer(Fused):
        def forward(self, hidden_states, attention_mask=None):
            q, k, v = map(self.split, self.c_attn(hidden_states).chunk(3, -1))
            y = F.scaled_dot_product_attention(q, k, v, attn_mask=attention_mask)
            return (self.c_proj(self.merge(y)), None)

    return Layer()


@right("rotary halves", **CAUSAL, positions=True)
def _():
    class Layer(Fused):
        def mix(self, q, k, v):
            return F.scaled_dot_product_attention(rotated(q), rotated(k), v, is_causal=True)

    return Layer()


@right("rotary halves, not said", **BOTH)
def _():
    class Layer(Fused):
        def mix(self, q, k, v):
            return F.scaled_dot_product_attention(rotated(q), rotated(k), v)

    return Layer(causal=False)


@right("rotary neighbors as complex numbers", **BOTH, positions=True)
def _():
    class Layer(Fused):
        def turned(self, x):
            z = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
            angles = torch.outer(torch.arange(x.size(-2)), 10000.0 ** (-torch.arange(2) / 2))
            z = z * torch.polar(torch.ones_like(angles), angles)
            return torch.view_as_real(z).flatten(-2).type_as(x)

        def mix(self, q, k, v):
            return F.scaled_dot_product_attention(self.turned(q), self.turned(k), v)

    return Layer(causal=False)


@right("distances subtracted from the scores", **CAUSAL, positions=True)
def _():
    class Layer(Fused):
        def mix(self, q, k, v):
            i = torch.arange(q.size(-2))
            slopes = 2.0 ** (-8 * (torch.arange(H) + 1) / H)
            bias = -slopes[:, None, None] * (i[:, None] - i).abs()
            bias = bias.masked_fill(i[:, None] < i, -torch.inf)
            return F.scaled_dot_product_attention(q, k, v, attn_mask=bias.to(q))

    return Layer()


@right("learned positions inside, not said", **BOTH)
def _():
    class Layer(Fused):
        def __init__(self):
            super().__init__(causal=False)
            self.places = nn.Parameter(torch.randn(32, D))

        def forward(self, x):
            return super().forward(x + self.places[: x.size(1)])

    return Layer()


@right("learned sinks", **CAUSAL)
def _():
    class Layer(Fused):
        def __init__(self):
            super().__init__()
            self.sinks = nn.Parameter(torch.randn(H))

        def mix(self, q, k, v):
            hidden = torch.ones(q.size(-2), q.size(-2), dtype=torch.bool).triu(1)
            scores = (q @ k.mT / math.sqrt(D // H)).masked_fill(hidden, -torch.inf)
            sink = self.sinks[:, None, None].expand(*scores.shape[:-1], 1)
            return torch.cat([scores, sink], -1).softmax(-1)[..., :-1] @ v

    return Layer()


@right("no scale, as in T5, and said", **BOTH, scale=1.0)
def _():
    class Layer(Fused):
        def mix(self, q, k, v):
            return (q @ k.mT).softmax(-1) @ v

    return Layer(causal=False)


@right("queries and keys of norm 1, with a learned scale", **BOTH, scale="own")
def _():
    class Layer(Fused):
        def __init__(self):
            super().__init__(causal=False)
            self.temperature = nn.Parameter(torch.full((H, 1, 1), 10.0))

        def mix(self, q, k, v):
            q, k = F.normalize(q, dim=-1), F.normalize(k, dim=-1)
            return (q @ k.mT * self.temperature).softmax(-1) @ v

    return Layer()


@right("queries and keys normalized, not said", **CAUSAL)
def _():
    class Layer(Fused):
        def __init__(self):
            super().__init__()
            self.q_norm, self.k_norm = nn.RMSNorm(D // H), nn.RMSNorm(D // H)

        def mix(self, q, k, v):
            return F.scaled_dot_product_attention(self.q_norm(q), self.k_norm(k), v, is_causal=True)

    return Layer()


@right("grouped keys", **CAUSAL)
def _():
    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.n_heads, self.n_kv_heads = H, 2
            self.wq, self.wo = nn.Linear(D, D, bias=False), nn.Linear(D, D, bias=False)
            self.wkv = nn.Linear(D, D, bias=False)

        def forward(self, x, start_pos=0, mask=None):
            q = self.wq(x).unflatten(-1, (H, -1)).transpose(1, 2)
            k, v = (t.unflatten(-1, (2, -1)).transpose(1, 2) for t in self.wkv(x).chunk(2, -1))
            k, v = (t[:, :, None].expand(-1, -1, 2, -1, -1).flatten(1, 2) for t in (k, v))
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            return self.wo(y.transpose(1, 2).flatten(2))

    return Layer()


@right("a function with matrices of its own", **BOTH, d_model=D)
def _():
    wq, wk, wv = torch.randn(3, D, D) / math.sqrt(D)

    def attend(x):
        q, k, v = x @ wq, x @ wk, x @ wv
        return F.softmax(q @ k.transpose(1, 2) / D**0.5, -1) @ v

    return attend


@right("one head of another width, with its weights", kind="layer")
def _():
    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.to_q, self.to_k, self.to_v = nn.Linear(D, 5), nn.Linear(D, 5), nn.Linear(D, 7)

        def forward(self, x):
            weights = (self.to_q(x) @ self.to_k(x).mT / 5**0.5).softmax(-1)
            return {"attention": weights, "output": weights @ self.to_v(x)}

    return Layer()
