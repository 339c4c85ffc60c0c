"""Language models in other styles: tuples as caches, caches with update(), labels inside, ALiBi."""

import math
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional as F

from tests.examination.pieces.piece import faulty, right

V, D, H, N, PAD = 37, 24, 3, 64, 0
LM = {"kind": "lm", "positions": True}
STEP = {"kind": "lm", "positions": True, "step": "step"}


@dataclass
class Output:
    loss: torch.Tensor | None
    logits: torch.Tensor
    past_key_values: object = None


def slopes():
    return torch.tensor([2.0 ** (-8 * (h + 1) / H) for h in range(H)])


class Attention(nn.Module):
    """Causal attention with distances subtracted from the scores, and a pair of cached tensors."""

    def __init__(self):
        super().__init__()
        self.n_head, self.d_head = H, D // H
        self.Wqkv, self.out_proj = nn.Linear(D, 3 * D, bias=False), nn.Linear(D, D, bias=False)
        self.register_buffer("slopes", slopes()[:, None, None], persistent=False)

    def extend(self, past, k, v):
        return torch.cat([past[0], k], dim=2), torch.cat([past[1], v], dim=2)

    def distances(self, n, m):
        return torch.arange(m) - torch.arange(m - n, m)[:, None]

    def hidden(self, n, m):
        return torch.ones(n, m, dtype=torch.bool).triu(m - n + 1)

    def forward(self, x, past=None):
        b, n, _ = x.shape
        q, k, v = self.Wqkv(x).view(b, n, 3, H, self.d_head).permute(2, 0, 3, 1, 4)
        if past is not None:
            k, v = self.extend(past, k, v)
        n_keys = k.size(2)
        bias = self.slopes * self.distances(n, n_keys)
        bias = bias.masked_fill(self.hidden(n, n_keys), -torch.inf)
        scores = q @ k.mT / math.sqrt(self.d_head) + bias.to(q)
        y = (scores.softmax(-1) @ v).transpose(1, 2).reshape(b, n, D)
        return self.out_proj(y), (k, v)


class Bloom(nn.Module):
    """A model whose cache is a list of pairs; the table of words makes the logits."""

    def __init__(self, attention=Attention):
        super().__init__()
        self.word_embeddings = nn.Embedding(V, D)
        nn.init.normal_(self.word_embeddings.weight, std=0.02)
        self.attentions = nn.ModuleList(attention() for _ in range(2))
        self.norms = nn.ModuleList(nn.LayerNorm(D) for _ in range(5))
        self.ffs = nn.ModuleList(
            nn.Sequential(nn.Linear(D, 4 * D), nn.GELU(), nn.Linear(4 * D, D)) for _ in range(2)
        )
        self.lm_head = nn.Linear(D, V, bias=False)
        self.lm_head.weight = self.word_embeddings.weight

    def step(self, ids, past=None):
        past = [None, None] if past is None else past
        x, present = self.word_embeddings(ids), []
        for i, (attention, ff) in enumerate(zip(self.attentions, self.ffs, strict=True)):
            y, pair = attention(self.norms[2 * i](x), past[i])
            present.append(pair)
            x = x + y
            x = x + ff(self.norms[2 * i + 1](x))
        return self.lm_head(self.norms[4](x)), present

    def forward(self, ids):
        return self.step(ids)[0]


@right("distances, pairs as a cache, tied", **STEP)
def _():
    return Bloom()


@right("the same, kind not said", step="step")
def _():
    return Bloom()


@right("the last logits only, unless there are targets", **LM)
def _():
    class Model(Bloom):
        def forward(self, idx, targets=None):
            logits = self.step(idx)[0]
            if targets is None:
                return logits[:, [-1]], None
            return logits, F.cross_entropy(logits.view(-1, V), targets.view(-1), ignore_index=-1)

    return Model()


@right("labels inside, a data class and past_key_values", kind="lm", step="forward")
def _():
    class Model(Bloom):
        def forward(self, input_ids, past_key_values=None, labels=None, use_cache=True):
            logits, present = self.step(input_ids, past_key_values)
            loss = None
            if labels is not None:
                loss = F.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten())
            return Output(loss, logits, present if use_cache else None)

    return Model()


@faulty("a triangle from the first key on", "alignment", **STEP)
def _():
    class Triangle(Attention):
        def hidden(self, n, m):
            return torch.ones(n, m, dtype=torch.bool).triu(1)

    return Bloom(Triangle)


@faulty("the old values kept, the new ones forgotten", "cache_mask", **STEP)
def _():
    class Forgetful(Attention):
        def extend(self, past, k, v):
            return torch.cat([past[0], k], 2)[:, :, -2:], torch.cat([past[1], v], 2)[:, :, -2:]

    return Bloom(Forgetful)


@faulty("the cache is not used", "cache_mask", **STEP)
def _():
    class Alone(Attention):
        def extend(self, past, k, v):
            return k, v

    return Bloom(Alone)


@faulty("keys in the order new, old; values old, new", "cache_positions", **STEP)
def _():
    class Mixed(Attention):
        def extend(self, past, k, v):
            return torch.cat([k, past[0]], dim=2), torch.cat([past[1], v], dim=2)

    return Bloom(Mixed)


@faulty("tied to a table of the default size", "initial_loss", **LM)
def _():
    model = Bloom()
    nn.init.normal_(model.word_embeddings.weight)
    return model


@faulty("a second layer without its triangle", "sees_future", **LM)
def _():
    class Open(Attention):
        def forward(self, x, past=None):
            q, k, v = self.Wqkv(x).unflatten(-1, (3, H, -1)).permute(2, 0, 3, 1, 4)
            y = F.scaled_dot_product_attention(q, k, v)
            return self.out_proj(y.transpose(1, 2).flatten(2)), (k, v)

    model = Bloom()
    model.attentions[1] = Open()
    return model


class StaticCache:
    """Room for keys and values of all layers, filled from position `pos` on."""

    def __init__(self):
        self.k, self.v = torch.zeros(2, 4, H, N, D // H), torch.zeros(2, 4, H, N, D // H)
        self.pos = 0

    def update(self, k, v, layer):
        b, _, n, _ = k.shape
        self.k, self.v = self.k.to(k), self.v.to(v)
        self.k[layer, :b, :, self.pos : self.pos + n] = k
        self.v[layer, :b, :, self.pos : self.pos + n] = v
        end = self.pos + n
        return self.k[layer, :b, :, :end], self.v[layer, :b, :, :end]


class RotaryAttention(nn.Module):
    """Rotary attention whose cosines and sines are given, with a cache that has room."""

    def __init__(self, layer):
        super().__init__()
        self.layer, self.n_head = layer, H
        self.q, self.k, self.v, self.o = (nn.Linear(D, D, bias=False) for _ in range(4))

    def keep(self, n, m):
        return torch.ones(n, m, dtype=torch.bool).tril(m - n)

    def forward(self, x, cos_sin, cache=None):
        q, k, v = (f(x).unflatten(-1, (H, -1)).transpose(1, 2) for f in (self.q, self.k, self.v))
        cos, sin = cos_sin

        def turn(t):
            a, b = t[..., 0::2], t[..., 1::2]
            return torch.stack([a * cos - b * sin, a * sin + b * cos], -1).flatten(-2)

        q, k = turn(q), turn(k)
        if cache is not None:
            k, v = cache.update(k, v, self.layer)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=self.keep(q.size(2), k.size(2)))
        return self.o(y.transpose(1, 2).flatten(2))


class Llama(nn.Module):
    """A model with cosines and sines in buffers."""

    def __init__(self, attention=RotaryAttention, cache=StaticCache):
        super().__init__()
        self.cache = cache
        self.tok = nn.Embedding(V, D)
        self.layers = nn.ModuleList(attention(i) for i in range(2))
        self.norms = nn.ModuleList(nn.RMSNorm(D) for _ in range(3))
        self.head = nn.Linear(D, V, bias=False)
        angles = torch.outer(torch.arange(N), 10000.0 ** (-torch.arange(0, 8, 2) / 8))
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def new_cache(self):
        return self.cache()

    def embed(self, ids):
        return self.tok(ids)

    def advance(self, cache, n):
        cache.pos += n

    def begin(self, cache):
        return 0 if cache is None else cache.pos

    def step(self, ids, cache=None):
        start = self.begin(cache)
        rows = slice(start, start + ids.size(1))
        x = self.embed(ids)
        for norm, layer in zip(self.norms, self.layers, strict=False):
            x = x + layer(norm(x), (self.cos[rows], self.sin[rows]), cache)
        if cache is not None:
            self.advance(cache, ids.size(1))
        return self.head(self.norms[-1](x))

    def forward(self, tokens):
        return self.step(tokens)


@right("a cache with room that is changed in place", **STEP)
def _():
    return Llama()


@right("words times the root of the width", **STEP)
def _():
    class Model(Llama):
        def embed(self, ids):
            return self.tok(ids) * math.sqrt(D)

    return Model()


@right("a window of two layers", **LM, window=3)
def _():
    class Window(RotaryAttention):
        def keep(self, n, m):
            return super().keep(n, m).triu(m - n - 2)

    return Llama(Window)


@faulty("a cache that advances one word too few", "cache_mask", **STEP)
def _():
    class Model(Llama):
        def advance(self, cache, n):
            cache.pos += max(n - 1, 1) if cache.pos else n
            cache.pos -= cache.pos == 3

    return Model()


@faulty("the second layer writes into the first", "cache_positions", **STEP)
def _():
    class Shared(StaticCache):
        def update(self, k, v, layer):
            return super().update(k, v, 0)

    return Llama(cache=Shared)


@faulty("rotated by 0 in each step", "cache_positions", **STEP)
def _():
    class Model(Llama):
        def step(self, ids, cache=None):
            x = self.tok(ids)
            rows = slice(0, ids.size(1))
            for norm, layer in zip(self.norms, self.layers, strict=False):
                x = x + layer(norm(x), (self.cos[rows], self.sin[rows]), cache)
            if cache is not None:
                cache.pos += ids.size(1)
            return self.head(self.norms[-1](x))

    return Model()


@faulty("positions from the first axis", "position_batch", **LM)
def _():
    class Model(Llama):
        def __init__(self):
            super().__init__()
            self.places = nn.Embedding(N, D)

        def embed(self, ids):
            return self.tok(ids) + self.places(torch.arange(ids.size(0)))[:, None]

    return Model()


class Encoder(nn.Module):
    """A model that fills gaps, with a mask from the ids or given."""

    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(V, D, padding_idx=PAD), nn.Embedding(N, D)
        layer = nn.TransformerEncoderLayer(D, H, 2 * D, batch_first=True, activation="gelu")
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.decoder = nn.Linear(D, V)

    def hidden(self, ids):
        return ids == PAD

    def placed(self, ids):
        return self.words(ids) + self.places(torch.arange(ids.size(1)))

    def forward(self, input_ids):
        x = self.encoder(self.placed(input_ids), src_key_padding_mask=self.hidden(input_ids))
        return {"logits": self.decoder(x), "pooled": x[:, 0]}


@right("a mask from the ids", kind="lm", causal=False, positions=True, pad=PAD)
def _():
    return Encoder()


@faulty(
    "a mask from the ids of the other meaning", "padding_seen", kind="lm", causal=False, pad=PAD
)
def _():
    class Model(Encoder):
        def hidden(self, ids):
            return torch.zeros_like(ids, dtype=torch.bool)

    return Model()


@faulty("words times positions' number", "order_blind", kind="lm", causal=False, positions=True)
def _():
    class Model(Encoder):
        def placed(self, ids):
            return self.words(ids) + self.places(torch.tensor(ids.size(1)))

    return Model()


@right("ids (L, B)", kind="lm", causal=True, layout="LBD")
def _():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.ntoken = V
            self.encoder, self.decoder = nn.Embedding(V, D), nn.Linear(D, V)
            layer = nn.TransformerEncoderLayer(D, H, 2 * D)
            self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
            self.register_buffer("pe", torch.randn(N, 1, D))

        def forward(self, src):
            n = len(src)
            mask = torch.full((n, n), -torch.inf).triu(1)
            x = self.encoder(src) * math.sqrt(D) + self.pe[:n]
            return self.decoder(self.layers(x, mask=mask.to(x)))

    return Model()
