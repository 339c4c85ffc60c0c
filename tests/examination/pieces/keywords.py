"""Layers in the style of large libraries: arguments by name, additive masks, data classes."""

import math
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional as F

from tests.examination.pieces.piece import faulty, right

D, H = 24, 4
ADDED = {"kind": "layer", "causal": False, "mask": "add", "mask_shape": "B1LL"}
KEPT = {"kind": "layer", "causal": False, "mask": "keep01", "mask_shape": "BL"}
CAUSAL = {"kind": "layer", "causal": True}
BOTH = {"kind": "layer", "causal": False}


class Config:
    hidden_size, num_attention_heads, num_key_value_heads = D, H, 2
    sliding_window, rms_norm_eps = 3, 1e-6


@dataclass
class LayerOutput:
    attentions: torch.Tensor
    hidden_states: torch.Tensor


class SelfAttention(nn.Module):
    """An encoder's attention with an additive mask (B, 1, 1 or L, L)."""

    def __init__(self, config=Config):
        super().__init__()
        self.num_attention_heads = config.num_attention_heads
        self.attention_head_size = config.hidden_size // config.num_attention_heads
        self.query, self.key, self.value = (
            nn.Linear(config.hidden_size, config.hidden_size) for _ in range(3)
        )
        self.dense = nn.Linear(config.hidden_size, config.hidden_size)
        self.dropout = nn.Dropout(0.1)

    def transpose_for_scores(self, x):
        x = x.view(*x.size()[:-1], self.num_attention_heads, self.attention_head_size)
        return x.permute(0, 2, 1, 3)

    def extended(self, mask):
        return mask

    def probabilities(self, scores):
        return nn.functional.softmax(scores, dim=-1)

    def forward(self, hidden_states, attention_mask=None, head_mask=None, output_attentions=False):
        query, key, value = (
            self.transpose_for_scores(f(hidden_states)) for f in (self.query, self.key, self.value)
        )
        scores = torch.matmul(query, key.transpose(-1, -2)) / math.sqrt(self.attention_head_size)
        if attention_mask is not None:
            scores = scores + self.extended(attention_mask)
        weights = self.dropout(self.probabilities(scores))
        context = torch.matmul(weights, value).permute(0, 2, 1, 3).contiguous()
        output = self.dense(context.view(*context.size()[:-2], D))
        return (output, weights) if output_attentions else (output,)


class Extended(SelfAttention):
    """The same, with a mask (B, L) of ones and zeros."""

    def extended(self, mask):
        return (1.0 - mask[:, None, None, :]) * torch.finfo(mask.dtype).min


@right("an encoder's attention, additive mask", **ADDED)
def _():
    return SelfAttention()


@right("an encoder's attention, ones and zeros extended", **KEPT)
def _():
    return Extended()


@right("arguments by name, a data class returned", **BOTH)
def _():
    class Layer(SelfAttention):
        def forward(self, *, hidden_states, attention_mask=None):
            output, weights = super().forward(hidden_states, output_attentions=True)
            return LayerOutput(attentions=weights, hidden_states=output)

    return Layer()


@faulty("ones and zeros added", "mask_soft", **KEPT)
def _():
    class Layer(Extended):
        def extended(self, mask):
            return mask[:, None, None, :]

    return Layer()


@faulty("a penalty of 10", "mask_soft", **KEPT)
def _():
    class Layer(Extended):
        def extended(self, mask):
            return (1.0 - mask[:, None, None, :]) * -10.0

    return Layer()


@faulty("the ones extended instead of the zeros", "mask_inverted", **KEPT)
def _():
    class Layer(Extended):
        def extended(self, mask):
            return mask[:, None, None, :] * -10000.0

    return Layer()


@faulty("extended along the queries", "mask_ignored", **KEPT)
def _():
    class Layer(Extended):
        def extended(self, mask):
            return (1.0 - mask[:, None, :, None]) * -10000.0

    return Layer()


@faulty("an additive mask that no one adds", "mask_ignored", **ADDED)
def _():
    class Layer(SelfAttention):
        def extended(self, mask):
            return 0.0

    return Layer()


@faulty("a softmax without an axis of its own", "softmax_axis", **BOTH)
def _():
    class Layer(SelfAttention):
        def probabilities(self, scores):
            return nn.Softmax(dim=1)(scores)

    return Layer()


class RMSNorm(nn.Module):
    def __init__(self, width, axis=-1):
        super().__init__()
        self.weight, self.axis = nn.Parameter(torch.ones(width)), axis

    def forward(self, x):
        return self.weight * x * torch.rsqrt(x.pow(2).mean(self.axis, keepdim=True) + 1e-6)


def rotate_half(x):
    a, b = x.chunk(2, dim=-1)
    return torch.cat((-b, a), dim=-1)


class RotaryEmbedding(nn.Module):
    """Cosines and sines for positions (B, L), from a buffer of frequencies."""

    def __init__(self, width):
        super().__init__()
        inv_freq = 1.0 / 10000.0 ** (torch.arange(0, width, 2).float() / width)
        self.register_buffer("inv_freq", inv_freq, persistent=False)

    def joined(self, freqs):
        return torch.cat((freqs, freqs), dim=-1)

    def forward(self, x, position_ids):
        freqs = position_ids[..., None].float() * self.inv_freq.float()
        emb = self.joined(freqs)
        return emb.cos().to(x.dtype), emb.sin().to(x.dtype)


class Attention(nn.Module):
    """A decoder's attention with grouped heads."""

    def __init__(self, config=Config):
        super().__init__()
        self.num_heads, self.num_kv_heads = config.num_attention_heads, config.num_key_value_heads
        self.head_dim = D // self.num_heads
        self.q_proj, self.o_proj = nn.Linear(D, D, bias=False), nn.Linear(D, D, bias=False)
        self.k_proj, self.v_proj = (
            nn.Linear(D, self.num_kv_heads * self.head_dim, bias=False) for _ in range(2)
        )
        self.rotary_emb = RotaryEmbedding(self.head_dim)
        self.scaling = self.head_dim**-0.5

    def repeat_kv(self, states):
        return states.repeat_interleave(self.num_heads // self.num_kv_heads, dim=1)

    def rotate(self, q, k, cos, sin):
        return q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin

    def mask(self, n, m):
        return torch.full((n, m), -torch.inf).triu(1)

    def forward(self, hidden_states, position_ids=None, **kwargs):
        b, n, _ = hidden_states.shape
        shape = (b, n, -1, self.head_dim)
        q, k, v = (
            f(hidden_states).view(shape).transpose(1, 2)
            for f in (self.q_proj, self.k_proj, self.v_proj)
        )
        position_ids = torch.arange(n)[None] if position_ids is None else position_ids
        cos, sin = self.rotary_emb(v, position_ids)
        q, k = self.rotate(q, k, cos[:, None], sin[:, None])
        k, v = self.repeat_kv(k), self.repeat_kv(v)
        weights = torch.matmul(q, k.transpose(2, 3)) * self.scaling
        weights = weights + self.mask(n, n).to(weights)
        weights = F.softmax(weights, dim=-1, dtype=torch.float32).to(q.dtype)
        output = torch.matmul(weights, v).transpose(1, 2).reshape(b, n, -1)
        return self.o_proj(output), weights, None


class DecoderLayer(nn.Module):
    """A pre-norm layer that returns a tuple."""

    def __init__(self, attention=Attention, norm=RMSNorm):
        super().__init__()
        self.self_attn = attention()
        self.input_layernorm, self.post_attention_layernorm = norm(D), norm(D)
        self.gate_proj, self.up_proj = (nn.Linear(D, 2 * D, bias=False) for _ in range(2))
        self.down_proj = nn.Linear(2 * D, D, bias=False)

    def mlp(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))

    def forward(self, hidden_states, attention_mask=None, position_ids=None, **kwargs):
        residual = hidden_states
        hidden_states = self.input_layernorm(hidden_states)
        hidden_states, weights, _ = self.self_attn(hidden_states, position_ids=position_ids)
        hidden_states = residual + hidden_states
        residual = hidden_states
        hidden_states = self.mlp(self.post_attention_layernorm(hidden_states))
        return residual + hidden_states, weights


@right("a decoder's attention, grouped, rotary from a buffer", **CAUSAL, positions=True)
def _():
    return Attention()


@right("a decoder's attention, nothing said", kind="layer")
def _():
    return Attention()


@right("a decoder's layer that returns a tuple", **CAUSAL, positions=True, block="pre")
def _():
    return DecoderLayer()


@right("a window that hides what is too far", **CAUSAL, positions=True, window=3)
def _():
    class Layer(Attention):
        def mask(self, n, m):
            far = torch.ones(n, m).tril(-Config.sliding_window)
            return super().mask(n, m).masked_fill(far.bool(), -torch.inf)

    return Layer()


@right("norms of queries and keys before the rotation", **CAUSAL, positions=True)
def _():
    class Layer(Attention):
        def __init__(self):
            super().__init__()
            self.q_norm, self.k_norm = RMSNorm(self.head_dim), RMSNorm(self.head_dim)

        def rotate(self, q, k, cos, sin):
            return super().rotate(self.q_norm(q), self.k_norm(k), cos, sin)

    return Layer()


@faulty("key heads repeated as a set", "groups", **CAUSAL, positions=True)
def _():
    class Layer(Attention):
        def repeat_kv(self, states):
            return states.repeat(1, self.num_heads // self.num_kv_heads, 1, 1)

    return Layer()


@faulty("only the queries are rotated", "rotary", **CAUSAL, positions=True)
def _():
    class Layer(Attention):
        def rotate(self, q, k, cos, sin):
            return super().rotate(q, k, cos, sin)[0], k

    return Layer()


@faulty("angles of neighbors for halves, in a layer", "rotary", **CAUSAL, positions=True)
def _():
    class Rotary(RotaryEmbedding):
        def joined(self, freqs):
            return freqs.repeat_interleave(2, dim=-1)

    class Layer(Attention):
        def __init__(self):
            super().__init__()
            self.rotary_emb = Rotary(self.head_dim)

    return Layer()


@faulty("a window of one key too many", "window", **CAUSAL, positions=True, window=3)
def _():
    class Layer(Attention):
        def mask(self, n, m):
            far = torch.ones(n, m).tril(-Config.sliding_window - 1)
            return super().mask(n, m).masked_fill(far.bool(), -torch.inf)

    return Layer()


@faulty("the width of the model after the rotation", "scale", **CAUSAL, positions=True)
def _():
    class Layer(Attention):
        def __init__(self):
            super().__init__()
            self.scaling = D**-0.5

    return Layer()


@faulty("a root mean square along the rows", "norm_axis", **CAUSAL, block="pre")
def _():
    return DecoderLayer(norm=lambda width: RMSNorm(width, axis=1))


@faulty("the network after the norm, without a residual", "residual", **CAUSAL, block="pre")
def _():
    class Layer(DecoderLayer):
        def forward(self, hidden_states, **kwargs):
            residual = hidden_states
            hidden_states = self.self_attn(self.input_layernorm(hidden_states))[0] + residual
            return (self.mlp(self.post_attention_layernorm(hidden_states)),)

    return Layer()


@faulty("the residual taken after the norm", "residual", **CAUSAL, block="pre")
def _():
    class Layer(DecoderLayer):
        def forward(self, hidden_states, **kwargs):
            hidden_states = self.input_layernorm(hidden_states)
            hidden_states = hidden_states + self.self_attn(hidden_states)[0]
            hidden_states = self.post_attention_layernorm(hidden_states)
            return (hidden_states + self.mlp(hidden_states),)

    return Layer()


@faulty("subtracted from the residual path", "residual", **CAUSAL, block="pre")
def _():
    class Layer(DecoderLayer):
        def forward(self, hidden_states, **kwargs):
            hidden_states = hidden_states - self.self_attn(self.input_layernorm(hidden_states))[0]
            return (hidden_states + self.mlp(self.post_attention_layernorm(hidden_states)),)

    return Layer()
