"""Right code in which machines make typos. Each function builds one piece; its parameters only name
what a typo may exchange.
"""

import math

import torch
from torch import nn
from torch.nn import functional as F

V, D, H = 23, 16, 4


def core(q=None, k=None, v=None):
    def attend(q, k, v, mask):
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
        weights = scores.masked_fill(~mask, -torch.inf).softmax(-1)
        return torch.where(mask.any(-1, keepdim=True), weights, 0) @ v

    return attend


def layer(q=None, k=None, v=None):
    class SelfAttention(nn.Module):
        def __init__(self):
            super().__init__()
            self.n_heads = H
            self.query, self.key, self.value, self.out = (nn.Linear(D, D) for _ in range(4))

        def split(self, x):
            b, n, width = x.shape
            return x.view(b, n, self.n_heads, width // self.n_heads).transpose(1, 2)

        def forward(self, x, keep):
            q, k, v = self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x))
            scores = torch.matmul(q, k.transpose(2, 3)) / math.sqrt(k.size(-1))
            scores = scores.masked_fill(keep[:, None, None, :] == 0, -1e9)
            y = torch.matmul(torch.softmax(scores, dim=-1), v)
            return self.out(y.transpose(1, 2).reshape(x.size(0), x.size(1), -1))

    return SelfAttention()


def causal_layer(q=None, k=None, v=None):
    class CausalAttention(nn.Module):
        def __init__(self):
            super().__init__()
            self.n_head = H
            self.c_attn, self.c_proj = nn.Linear(D, 3 * D), nn.Linear(D, D)

        def forward(self, x):
            b, n, d = x.shape
            q, k, v = self.c_attn(x).split(d, dim=2)
            q = q.view(b, n, self.n_head, d // self.n_head).transpose(1, 2)
            k = k.view(b, n, self.n_head, d // self.n_head).transpose(1, 2)
            v = v.view(b, n, self.n_head, d // self.n_head).transpose(1, 2)
            scores = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
            hidden = torch.ones(n, n).tril() == 0
            weights = F.softmax(scores.masked_fill(hidden, float("-inf")), dim=-1)
            return self.c_proj((weights @ v).transpose(1, 2).contiguous().view(b, n, d))

    return CausalAttention()


def block(q=None, k=None, v=None):
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(D), nn.LayerNorm(D)
            self.qkv, self.proj = nn.Linear(D, 3 * D), nn.Linear(D, D)
            self.up, self.down = nn.Linear(D, 2 * D), nn.Linear(2 * D, D)

        def attention(self, x):
            q, k, v = self.qkv(x).unflatten(-1, (3, H, -1)).permute(2, 0, 3, 1, 4)
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            return self.proj(y.transpose(1, 2).flatten(2))

        def forward(self, x):
            x = x + self.attention(self.norm1(x))
            return x + self.down(F.gelu(self.up(self.norm2(x))))

    return Block()


def language_model(q=None, k=None, v=None):
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.head = nn.Embedding(V, D), nn.Linear(D, V)
            self.norm, self.last = nn.LayerNorm(D), nn.LayerNorm(D)
            self.q, self.k, self.v, self.o = (nn.Linear(D, D, bias=False) for _ in range(4))

        def rotate(self, x, start):
            half = x.size(-1) // 2
            rates = 10000.0 ** (-torch.arange(half) / half)
            angles = torch.outer(torch.arange(start, start + x.size(2)), rates).to(x)
            a, b = x[..., :half], x[..., half:]
            cos, sin = angles.cos(), angles.sin()
            return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)

        def step(self, ids, cache=None):
            x = self.embed(ids)
            y = self.norm(x)
            q = self.q(y).unflatten(-1, (H, -1)).transpose(1, 2)
            k = self.k(y).unflatten(-1, (H, -1)).transpose(1, 2)
            v = self.v(y).unflatten(-1, (H, -1)).transpose(1, 2)
            past = 0 if cache is None else cache[0].size(2)
            q, k = self.rotate(q, past), self.rotate(k, past)
            if cache is not None:
                k = torch.cat([cache[0], k], dim=2)
                v = torch.cat([cache[1], v], dim=2)
            keep = torch.ones(q.size(2), k.size(2), dtype=torch.bool).tril(past)
            y = F.scaled_dot_product_attention(q, k, v, attn_mask=keep)
            x = x + self.o(y.transpose(1, 2).flatten(2))
            return self.head(self.last(x)), (k, v)

        def forward(self, ids):
            return self.step(ids)[0]

    return Model()


def translator(source=None, target=None):
    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.q, self.k, self.v, self.o = (nn.Linear(D, D) for _ in range(4))

        def forward(self, target, source, keep):
            q = self.q(target).unflatten(-1, (H, -1)).transpose(1, 2)
            k = self.k(source).unflatten(-1, (H, -1)).transpose(1, 2)
            v = self.v(source).unflatten(-1, (H, -1)).transpose(1, 2)
            scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
            y = scores.masked_fill(~keep, -1e9).softmax(-1) @ v
            return self.o(y.transpose(1, 2).flatten(2))

    class Translator(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.places = nn.Embedding(V, D), nn.Embedding(32, D)
            self.own, self.other, self.encoder = Layer(), Layer(), Layer()
            self.norms = nn.ModuleList(nn.LayerNorm(D) for _ in range(3))
            self.head = nn.Linear(D, V)

        def forward(self, source, target):
            real = (source != 0)[:, None, None, :]
            triangle = torch.ones(target.size(1), target.size(1), dtype=torch.bool).tril()
            z = self.embed(source) + self.places(torch.arange(source.size(1)))
            z = self.norms[0](z + self.encoder(z, z, real))
            y = self.embed(target) + self.places(torch.arange(target.size(1)))
            y = self.norms[1](y + self.own(y, y, triangle))
            y = self.norms[2](y + self.other(y, z, real))
            return self.head(y)

    return Translator()


def loss(logits=None, ids=None):
    def next_word(logits, ids):
        scores = logits[:, :-1].log_softmax(-1)
        labels = ids[:, 1:]
        chosen = scores.gather(-1, labels[..., None])[..., 0]
        real = labels != 0
        return -(chosen * real).sum() / real.sum()

    return next_word
