"""Models in other styles, faulty and right: caches as objects, groups, encoders, nn.Transformer."""

import math
import warnings

import torch
from torch import nn
from torch.nn import functional as F

from tests.examination.pieces.piece import faulty, right

V, D, H, PAD = 29, 24, 3, 0
LM = {"kind": "lm", "positions": True}
STEP = {"kind": "lm", "positions": True, "step": "decode"}
S2S = {"kind": "seq2seq", "pad": PAD}


def turned(x, start=0):
    """Rotate halves; x (B, H, L, d) begins at position `start`."""
    half = x.size(-1) // 2
    positions = torch.arange(start, start + x.size(-2))
    angles = torch.outer(positions, 10000.0 ** (-torch.arange(half) / half)).to(x)
    a, b = x[..., :half], x[..., half:]
    return torch.cat([a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()], -1)


class Cache:
    """Keys and values of each layer, which grow."""

    def __init__(self):
        self.layers = {}

    def length(self, layer):
        return self.layers[layer][0].size(2) if layer in self.layers else 0

    def update(self, layer, k, v):
        if layer in self.layers:
            k, v = (torch.cat(pair, 2) for pair in zip(self.layers[layer], (k, v), strict=True))
        self.layers[layer] = k, v
        return k, v


class Attention(nn.Module):
    """Grouped attention with rotary positions and a cache."""

    def __init__(self, index):
        super().__init__()
        self.index = index
        self.query, self.out = nn.Linear(D, D, bias=False), nn.Linear(D, D, bias=False)
        self.key, self.value = (nn.Linear(D, D // H, bias=False) for _ in range(2))

    def place(self, q, k, past):
        return turned(q, past), turned(k, past)

    def forward(self, x, cache):
        past = cache.length(self.index)
        q = self.query(x).unflatten(-1, (H, -1)).transpose(1, 2)
        k, v = self.key(x)[:, None], self.value(x)[:, None]
        q, k = self.place(q, k, past)
        k, v = cache.update(self.index, k, v)
        keep = torch.ones(q.size(2), k.size(2), dtype=torch.bool).tril(k.size(2) - q.size(2))
        k, v = (t.expand(-1, H, -1, -1) for t in (k, v))
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=keep)
        return self.out(y.transpose(1, 2).flatten(2))


class Decoder(nn.Module):
    """A language model with a cache that grows."""

    def __init__(self, cache_type=Cache, attention=Attention):
        super().__init__()
        self.cache_type = cache_type
        self.embed = nn.Embedding(V, D)
        self.attention = nn.ModuleList(attention(i) for i in range(2))
        self.norms = nn.ModuleList(nn.LayerNorm(D) for _ in range(2))
        self.head = nn.Linear(D, V)

    def decode(self, ids, cache=None):
        cache = self.cache_type() if cache is None else cache
        x = self.embed(ids)
        for attention, norm in zip(self.attention, self.norms, strict=True):
            x = x + attention(norm(x), cache)
        return self.head(x), cache

    def forward(self, input_ids):
        return self.decode(input_ids)[0]


@faulty("cached keys rotated again", "cache_positions", **STEP)
def _():
    class Again(Attention):
        def place(self, q, k, past):
            return turned(q, past), k

        def forward(self, x, cache):
            past = cache.length(self.index)
            if past:
                k, v = cache.layers[self.index]
                cache.layers[self.index] = turned(k), v
            q = self.query(x).unflatten(-1, (H, -1)).transpose(1, 2)
            k, v = turned(self.key(x)[:, None], past), self.value(x)[:, None]
            k, v = cache.update(self.index, k, v)
            keep = torch.ones(q.size(2), k.size(2), dtype=torch.bool).tril(past)
            y = F.scaled_dot_product_attention(
                turned(q, past), k, v, attn_mask=keep, enable_gqa=True
            )
            return self.out(y.transpose(1, 2).flatten(2))

    return Decoder(attention=Again)


@faulty("new keys before old ones", "cache_mask", **STEP)
def _():
    class Reversed(Cache):
        def update(self, layer, k, v):
            if layer in self.layers:
                old_k, old_v = self.layers[layer]
                k, v = torch.cat([k, old_k], 2), torch.cat([v, old_v], 2)
            self.layers[layer] = k, v
            return k, v

    class Plain(Attention):
        def place(self, q, k, past):
            return q, k

    class Model(Decoder):
        def __init__(self):
            super().__init__(Reversed, Plain)
            self.places = nn.Embedding(64, D)

        def decode(self, ids, cache=None):
            cache = self.cache_type() if cache is None else cache
            past = cache.length(0)
            x = self.embed(ids) + self.places(torch.arange(past, past + ids.size(1)))
            for attention, norm in zip(self.attention, self.norms, strict=True):
                x = x + attention(norm(x), cache)
            return self.head(x), cache

    return Model()


class Full:
    """A cache with room for 16 words."""

    def __init__(self):
        self.layers, self.n = {}, {}

    def length(self, layer):
        return self.n.get(layer, 0)

    def update(self, layer, k, v):
        past, new = self.length(layer), k.size(2)
        if layer not in self.layers:
            room = torch.zeros(k.size(0), 1, 16, k.size(3), dtype=k.dtype)
            self.layers[layer] = room, room.clone()
        for room, part in zip(self.layers[layer], (k, v), strict=True):
            room[:, :, past : past + new] = part
        self.n[layer] = past + new
        return self.layers[layer]


class Roomy(Attention):
    """Attention over a cache with room, whose unused part is hidden."""

    def visible(self, n_new, n_room, past):
        return torch.ones(n_new, n_room, dtype=torch.bool).tril(past)

    def forward(self, x, cache):
        past = cache.length(self.index)
        q = turned(self.query(x).unflatten(-1, (H, -1)).transpose(1, 2), past)
        k, v = cache.update(self.index, turned(self.key(x)[:, None], past), self.value(x)[:, None])
        keep = self.visible(q.size(2), k.size(2), past)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=keep, enable_gqa=True)
        return self.out(y.transpose(1, 2).flatten(2))


@faulty("unused room in the cache is looked at", "cache_mask", **STEP)
def _():
    class Leaky(Roomy):
        def visible(self, n_new, n_room, past):
            if past:
                return torch.ones(n_new, n_room, dtype=torch.bool)
            return super().visible(n_new, n_room, past)

    return Decoder(Full, Leaky)


@faulty("the number of layers as the position", "cache_positions", **STEP)
def _():
    class Layers(Attention):
        def place(self, q, k, past):
            past = 2 if past else 0
            return turned(q, past), turned(k, past)

    return Decoder(attention=Layers)


class Model(nn.Module):
    """Ids to logits, with nn.TransformerEncoder; `keep` (B, L) is True for real words."""

    def __init__(self, causal, d_model=D, norm_first=True):
        super().__init__()
        self.causal = causal
        self.tok, self.pos = nn.Embedding(V, d_model), nn.Parameter(torch.randn(64, d_model))
        layer = nn.TransformerEncoderLayer(
            d_model, H, 2 * d_model, batch_first=True, norm_first=norm_first
        )
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.norm, self.lm_head = nn.LayerNorm(d_model), nn.Linear(d_model, V, bias=False)

    def padding(self, keep):
        return None if keep is None else ~keep

    def finish(self, x):
        return self.norm(x)

    def forward(self, ids, keep=None):
        x = self.tok(ids) + self.pos[: ids.size(1)]
        n = ids.size(1)
        mask = torch.ones(n, n, dtype=torch.bool).triu(1) if self.causal else None
        x = self.encoder(x, mask, self.padding(keep))
        return self.lm_head(self.finish(x))


@faulty("a norm over rows and columns", "norm_axis", **LM)
def _():
    class LayerNormOfAll(nn.Module):
        def forward(self, x):
            return F.layer_norm(x, x.shape[1:])

    model = Model(causal=True)
    model.norm = LayerNormOfAll()
    return model


@faulty("tied to a table of standard numbers", "initial_loss", **LM)
def _():
    model = Model(causal=True, d_model=96)
    model.lm_head.weight = model.tok.weight
    return model


@faulty(
    "an encoder that looks at padding", "padding_seen", kind="lm", causal=False, pad=0, keep=True
)
def _():
    class Blind(Model):
        def padding(self, keep):
            return None

    return Blind(causal=False)


@faulty("heads in a list", "unregistered", **LM)
def _():
    class Listed(Model):
        def __init__(self):
            super().__init__(causal=True)
            self.more = [nn.Linear(D, D), nn.Linear(D, D)]

        def finish(self, x):
            for layer in self.more:
                x = x + torch.tanh(layer(x))
            return super().finish(x)

    return Listed()


@faulty("only the last block counts", "unreached", **LM)
def _():
    class Last(Model):
        def forward(self, ids):
            x = self.tok(ids) + self.pos[: ids.size(1)]
            mask = torch.ones(ids.size(1), ids.size(1), dtype=torch.bool).triu(1)
            for block in self.encoder.layers:
                y = block(x, mask)
            return self.lm_head(self.norm(y))

    return Last(causal=True)


class Translator(nn.Module):
    """nn.Transformer with tables and a last matrix."""

    def __init__(self, batch_first=True, norm_first=False):
        super().__init__()
        self.encoder_embed, self.decoder_embed = nn.Embedding(V, D), nn.Embedding(V, D)
        self.positions = nn.Embedding(64, D)
        with warnings.catch_warnings(action="ignore"):  # of a fast path that is not taken
            self.transformer = nn.Transformer(
                D, H, 1, 1, 2 * D, batch_first=batch_first, norm_first=norm_first
            )
        self.generator = nn.Linear(D, V)

    def masks(self, src, tgt):
        hidden = torch.ones(tgt.size(1), tgt.size(1), dtype=torch.bool).triu(1)
        padding = src == PAD
        return {
            "tgt_mask": hidden,
            "src_key_padding_mask": padding,
            "memory_key_padding_mask": padding,
        }

    def embed(self, src, tgt):
        return (
            self.encoder_embed(src) + self.positions(torch.arange(src.size(1))),
            self.decoder_embed(tgt) + self.positions(torch.arange(tgt.size(1))),
        )

    def forward(self, src, tgt):
        x, y = self.embed(src, tgt)
        return self.generator(self.transformer(x, y, **self.masks(src, tgt)))


@faulty("a decoder without its triangle", "sees_future", **S2S)
def _():
    class Open(Translator):
        def masks(self, src, tgt):
            return {**super().masks(src, tgt), "tgt_mask": None}

    return Open()


@faulty("memory without its padding mask", "padding_seen", **S2S)
def _():
    class Open(Translator):
        def masks(self, src, tgt):
            return {**super().masks(src, tgt), "memory_key_padding_mask": None}

    return Open()


@faulty("nn.Transformer with the batch in front", "cross_batch", kind="seq2seq", equal_lengths=True)
def _():
    class Swapped(Translator):
        def masks(self, src, tgt):
            return {}

    return Swapped(batch_first=False)


# --- right ones -----------------------------------------------------------------------------------


@right("a cache that grows", **STEP)
def _():
    return Decoder()


@right("a cache with room", **STEP)
def _():
    return Decoder(Full, Roomy)


@right("PyTorch's encoder as a language model", **LM)
def _():
    return Model(causal=True)


@right("PyTorch's encoder, padding hidden", kind="lm", causal=False, pad=PAD, keep=True)
def _():
    return Model(causal=False, norm_first=False)


@right("limited logits and scaled embeddings", **LM)
def _():
    class Capped(Model):
        def __init__(self):
            super().__init__(causal=True)
            nn.init.normal_(self.tok.weight, std=D**-0.5)
            self.lm_head.weight = self.tok.weight

        def forward(self, ids):
            n = ids.size(1)
            x = math.sqrt(D) * self.tok(ids) + self.pos[:n]
            x = self.encoder(x, torch.ones(n, n, dtype=torch.bool).triu(1))
            return 30 * torch.tanh(self.lm_head(self.norm(x)) / 30)

    return Capped()


@right("nn.Transformer, pre-norm", **S2S)
def _():
    return Translator(norm_first=True)
