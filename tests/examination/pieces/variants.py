"""Rarer architectures: gates that begin at 0, memories, adapters, distances, recurrent decoders."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from tests.examination.pieces.piece import faulty, right

D, H, V, PAD = 24, 4, 33, 0
BOTH = {"kind": "layer", "causal": False}
CAUSAL = {"kind": "layer", "causal": True}
LM = {"kind": "lm", "positions": True}


class Layer(nn.Module):
    """Attention of rows to themselves; subclasses change how they are mixed."""

    def __init__(self, causal=False):
        super().__init__()
        self.nheads, self.causal = H, causal
        self.Wq, self.Wk, self.Wv, self.Wo = (nn.Linear(D, D) for _ in range(4))

    def split(self, t):
        return t.unflatten(-1, (H, -1)).transpose(1, 2)

    def mix(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)

    def attend(self, asks, asked):
        q, k, v = (
            self.split(f(t)) for f, t in ((self.Wq, asks), (self.Wk, asked), (self.Wv, asked))
        )
        return self.Wo(self.mix(q, k, v).transpose(1, 2).flatten(2))

    def forward(self, x):
        return self.attend(x, x)


@right("matrices with a norm of their own", **BOTH)
def _():
    layer = Layer()
    for name in ("Wq", "Wk", "Wv", "Wo"):
        setattr(layer, name, nn.utils.parametrizations.weight_norm(getattr(layer, name)))
    return layer


@right("adapters that begin at 0", **BOTH)
def _():
    class Adapted(nn.Module):
        def __init__(self, linear):
            super().__init__()
            self.linear = linear.requires_grad_(False)
            self.down = nn.Parameter(torch.randn(2, D) / 5)
            self.up = nn.Parameter(torch.zeros(D, 2))

        def forward(self, x):
            return self.linear(x) + 2 * x @ self.down.T @ self.up.T

    layer = Layer()
    layer.Wq, layer.Wv = Adapted(layer.Wq), Adapted(layer.Wv)
    return layer


@right("a gate that begins at 0", **CAUSAL, block="pre")
def _():
    class Block(Layer):
        def __init__(self):
            super().__init__(causal=True)
            self.alpha = nn.Parameter(torch.zeros(()))
            self.ff = nn.Sequential(nn.Linear(D, D), nn.ReLU(), nn.Linear(D, D))

        def forward(self, x):
            x = x + self.alpha * self.attend(x, x)
            return x + self.alpha * self.ff(x)

    return Block()


@right("a gated context", kind="cross", d_context=D)
def _():
    class Gated(Layer):
        def __init__(self):
            super().__init__()
            self.gate = nn.Parameter(torch.tensor([0.0]))

        def forward(self, x, media):
            return x + self.gate.tanh() * self.attend(x, media)

    return Gated()


@right("queries and keys with positions of their own", kind="cross", d_context=D)
def _():
    class Placed(Layer):
        def __init__(self):
            super().__init__()
            self.asks, self.asked = nn.Embedding(50, D), nn.Embedding(50, D)

        def forward(self, target, memory):
            q = target + self.asks.weight[: target.size(1)]
            k = memory + self.asked.weight[: memory.size(1)]
            return target + self.attend(q, k)

    return Placed()


@right("registers before the rows", **BOTH)
def _():
    class Registers(Layer):
        def __init__(self):
            super().__init__()
            self.registers = nn.Parameter(0.02 * torch.randn(1, 4, D))

        def forward(self, x):
            return super().forward(torch.cat([self.registers.expand(len(x), -1, -1), x], 1))[:, 4:]

    return Registers()


@right("PyTorch's layer with a key and a value more", **BOTH)
def _():
    return nn.MultiheadAttention(D, H, add_bias_kv=True, add_zero_attn=True, batch_first=True)


@right("distances with a matrix of their own, shifted", **CAUSAL, positions=True)
def _():
    class Distances(Layer):
        def __init__(self):
            super().__init__()
            self.r = nn.Linear(D, D, bias=False)
            self.content, self.place = (nn.Parameter(torch.randn(H, 1, D // H)) for _ in range(2))

        def mix(self, q, k, v):
            b, h, n, _ = q.shape
            rates = 10000.0 ** (-torch.arange(0, D, 2) / D)
            angles = torch.outer(torch.arange(n - 1, -1, -1.0), rates).to(q)
            r = self.split(self.r(torch.cat([angles.sin(), angles.cos()], -1))[None])
            far = F.pad((q + self.place) @ r.mT, (1, 0))
            far = far.view(b, h, n + 1, n)[:, :, 1:].reshape(b, h, n, n)
            scores = ((q + self.content) @ k.mT + far) / math.sqrt(D // H)
            hidden = torch.ones(n, n, dtype=torch.bool).triu(1)
            return scores.masked_fill(hidden, -1e30).softmax(-1) @ v

    return Distances()


class Model(nn.Module):
    """A language model with a table of positions."""

    def __init__(self):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(V, D), nn.Embedding(64, D)
        self.layers = nn.ModuleList(Layer(causal=True) for _ in range(2))
        self.norms = nn.ModuleList(nn.LayerNorm(D) for _ in range(2))
        self.head = nn.Linear(D, V)

    def place(self, words, positions):
        return words + positions

    def forward(self, ids):
        x = self.place(self.wte(ids), self.wpe(torch.arange(ids.size(1))))
        for layer, norm in zip(self.layers, self.norms, strict=True):
            x = x + layer(norm(x))
        return self.head(x)


@right("one layer three times, a vocabulary with room", **LM)
def _():
    class Shared(Model):
        def __init__(self):
            super().__init__()
            del self.layers[1], self.norms[1]
            self.head = nn.Linear(D, 64)

        def forward(self, ids):
            x = self.wte(ids) + self.wpe(torch.arange(ids.size(1)))
            for _ in range(3):
                x = x + self.layers[0](self.norms[0](x))
            return self.head(x)

    return Shared()


@right("no attention at all", kind="lm", causal=True)
def _():
    class Recurrent(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.head = nn.Embedding(V, D), nn.Linear(D, V)
            self.lstm = nn.LSTM(D, D, batch_first=True)

        def forward(self, ids):
            return self.head(self.lstm(self.words(ids))[0])

    return Recurrent()


@right("recurrent, with additive attention", kind="seq2seq")
def _():
    class Translator(nn.Module):
        def __init__(self):
            super().__init__()
            self.source, self.target = nn.Embedding(V, D), nn.Embedding(V, D)
            self.encoder, self.decoder = (nn.GRU(D, D, batch_first=True) for _ in range(2))
            self.w, self.u, self.v = nn.Linear(D, D), nn.Linear(D, D), nn.Linear(D, 1)
            self.head = nn.Linear(2 * D, V)

        def forward(self, src, trg):
            memory, state = self.encoder(self.source(src))
            y, _ = self.decoder(self.target(trg), state)
            scores = self.v(torch.tanh(self.w(y)[:, :, None] + self.u(memory)[:, None]))
            context = scores.squeeze(-1).softmax(-1) @ memory
            return self.head(torch.cat([y, context], -1))

    return Translator()


@right("the batch second, masks made outside", kind="seq2seq", layout="LBD", pad=PAD)
def _():
    words, head = nn.Embedding(V, D), nn.Linear(D, V)
    encoder = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(D, H, D), 1, enable_nested_tensor=False
    )
    transformer = nn.Transformer(D, H, 1, 1, D, custom_encoder=encoder)

    def translate(src, tgt):
        hidden = torch.ones(len(tgt), len(tgt), dtype=torch.bool).triu(1)
        pad = (src == PAD).T
        y = transformer(
            words(src),
            words(tgt),
            tgt_mask=hidden,
            src_key_padding_mask=pad,
            memory_key_padding_mask=pad,
        )
        return head(y)

    return translate


@right("labels of −100, smoothed", kind="loss", pad=-100)
def _():
    def loss(logits, labels):
        shifted, labels = logits[..., :-1, :].flatten(0, 1), labels[..., 1:].flatten()
        z = shifted.logsumexp(-1).pow(2)[labels != -100].mean()
        return F.cross_entropy(shifted, labels, label_smoothing=0.1) + 1e-4 * z

    return loss


@faulty("a softmax over the batch", "softmax_axis", **BOTH)
def _():
    class Batch(Layer):
        def mix(self, q, k, v):
            return F.softmax(q @ k.mT / (D // H) ** 0.5, 0) @ v

    return Batch()


@faulty("a triangle hidden that should be seen, filled with a number", "wrong_triangle", **CAUSAL)
def _():
    class Triangle(Layer):
        def mix(self, q, k, v):
            scores = q @ k.mT / (D // H) ** 0.5
            past = torch.ones(scores.shape[-2:]).tril() == 1
            return scores.masked_fill(past, -1e9).softmax(-1) @ v

    return Triangle()


@faulty("words times positions", "position_product", **LM)
def _():
    class Product(Model):
        def place(self, words, positions):
            return words * positions

    return Product()


@faulty("heads joined by reshape in a model", "heads", **LM)
def _():
    class Joined(Layer):
        def forward(self, x):
            q, k, v = (self.split(f(x)) for f in (self.Wq, self.Wk, self.Wv))
            return self.Wo(self.mix(q, k, v).reshape(x.shape))

    model = Model()
    model.layers = nn.ModuleList(Joined(causal=True) for _ in range(2))
    return model


@faulty("queries and keys exchanged in a block", "transposed", **BOTH, block="pre")
def _():
    class Exchanged(Layer):
        def mix(self, q, k, v):
            return super().mix(k, q, v)

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm, self.attention = nn.LayerNorm(D), Exchanged()

        def forward(self, x):
            return x + self.attention(self.norm(x))

    return Block()
