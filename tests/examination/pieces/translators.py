"""Encoders and decoders, losses and small functions in other styles."""

import math
import warnings

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from tests.examination.pieces.piece import faulty, right

V, D, H, PAD = 31, 24, 3, 0
S2S = {"kind": "seq2seq", "pad": PAD}
LOSS = {"kind": "loss", "pad": PAD}


class Attention(nn.Module):
    """Attention with query, key, value and a mask in which 0 is hidden."""

    def __init__(self):
        super().__init__()
        self.fc_q, self.fc_k, self.fc_v, self.fc_o = (nn.Linear(D, D) for _ in range(4))

    def forward(self, query, key, value, mask):
        b = len(query)
        q, k, v = (
            f(t).view(b, -1, H, D // H).permute(0, 2, 1, 3)
            for f, t in ((self.fc_q, query), (self.fc_k, key), (self.fc_v, value))
        )
        energy = torch.matmul(q, k.permute(0, 1, 3, 2)) / math.sqrt(D // H)
        attention = torch.softmax(energy.masked_fill(mask == 0, -1e10), dim=-1)
        x = torch.matmul(attention, v).permute(0, 2, 1, 3).contiguous()
        return self.fc_o(x.view(b, -1, D))


class EncoderLayer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.ff_norm = nn.LayerNorm(D), nn.LayerNorm(D)
        self.attention = Attention()
        self.ff = nn.Sequential(nn.Linear(D, 2 * D), nn.ReLU(), nn.Linear(2 * D, D))

    def forward(self, src, src_mask):
        src = self.norm(src + self.attention(src, src, src, src_mask))
        return self.ff_norm(src + self.ff(src))


class DecoderLayer(EncoderLayer):
    def __init__(self):
        super().__init__()
        self.cross_norm, self.encoder_attention = nn.LayerNorm(D), Attention()

    def look(self, trg, enc_src, trg_mask, src_mask):
        return self.encoder_attention(trg, enc_src, enc_src, src_mask)

    def forward(self, trg, enc_src, trg_mask, src_mask):
        trg = self.norm(trg + self.attention(trg, trg, trg, trg_mask))
        trg = self.cross_norm(trg + self.look(trg, enc_src, trg_mask, src_mask))
        return self.ff_norm(trg + self.ff(trg))


class Seq2Seq(nn.Module):
    """A translator that makes its masks from the ids."""

    def __init__(self, decoder_layer=DecoderLayer):
        super().__init__()
        self.src_tok, self.trg_tok = nn.Embedding(V, D), nn.Embedding(V, D)
        self.src_pos, self.trg_pos = nn.Embedding(50, D), nn.Embedding(50, D)
        self.encoder = nn.ModuleList(EncoderLayer() for _ in range(2))
        self.decoder = nn.ModuleList(decoder_layer() for _ in range(2))
        self.fc_out = nn.Linear(D, V)

    def make_src_mask(self, src):
        return (src != PAD)[:, None, None]

    def make_trg_mask(self, trg):
        n = trg.shape[1]
        return (trg != PAD)[:, None, None] & torch.tril(torch.ones(n, n)).bool()

    def place(self, tok, pos, ids):
        return tok(ids) * math.sqrt(D) + pos(torch.arange(ids.shape[1])[None])

    def remember(self, embedded, encoded):
        return encoded

    def forward(self, src, trg):
        src_mask, trg_mask = self.make_src_mask(src), self.make_trg_mask(trg)
        embedded = x = self.place(self.src_tok, self.src_pos, src)
        for layer in self.encoder:
            x = layer(x, src_mask)
        memory, y = self.remember(embedded, x), self.place(self.trg_tok, self.trg_pos, trg)
        for layer in self.decoder:
            y = layer(y, memory, trg_mask, src_mask)
        return self.fc_out(y)


@right("masks from the ids", **S2S)
def _():
    return Seq2Seq()


@right("ids by name, as in large libraries", **S2S)
def _():
    class Model(Seq2Seq):
        def forward(self, input_ids=None, decoder_input_ids=None, attention_mask=None):
            memory = super().forward(input_ids, decoder_input_ids)
            return {"logits": memory, "encoder_last_hidden_state": self.src_tok(input_ids)}

    return Model()


@right("a shared table and pre-norm layers by PyTorch", **S2S)
def _():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(V, D, padding_idx=PAD)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.transformer = nn.Transformer(
                    D, H, 1, 2, 2 * D, batch_first=True, norm_first=True
                )

        def forward(self, source, target):
            hidden = nn.Transformer.generate_square_subsequent_mask(target.size(1))
            pad = source == PAD
            y = self.transformer(
                self.table(source),
                self.table(target),
                tgt_mask=hidden.to(self.table.weight),
                src_key_padding_mask=pad,
                memory_key_padding_mask=pad,
                tgt_is_causal=True,
            )
            return F.linear(y, self.table.weight)

    return Model()


@faulty("a source mask of the other meaning", "padding_seen", **S2S)
def _():
    class Model(Seq2Seq):
        def make_src_mask(self, src):
            return torch.ones_like(src)[:, None, None]

    return Model()


@faulty("padding hidden along the queries of the source", "padding_seen", **S2S)
def _():
    class Model(Seq2Seq):
        def make_src_mask(self, src):
            return (src != PAD)[:, None, :, None]

        def make_trg_mask(self, trg):
            return super().make_trg_mask(trg)

    class Look(DecoderLayer):
        def look(self, trg, enc_src, trg_mask, src_mask):
            return self.encoder_attention(trg, enc_src, enc_src, torch.ones(1))

    return Model(Look)


@faulty("the memory is what was embedded", "unreached", **S2S)
def _():
    class Model(Seq2Seq):
        def remember(self, embedded, encoded):
            return embedded

    return Model()


@faulty("the target looks at itself twice", "source_ignored", **S2S)
def _():
    class Look(DecoderLayer):
        def look(self, trg, enc_src, trg_mask, src_mask):
            return self.encoder_attention(trg, trg, trg, trg_mask)

    return Seq2Seq(Look)


@faulty("the triangle with a diagonal more", "sees_next", **S2S)
def _():
    class Model(Seq2Seq):
        def make_trg_mask(self, trg):
            n = trg.shape[1]
            return torch.tril(torch.ones(n, n), diagonal=1).bool()

    return Model()


@faulty("the triangle in the cross-attention, too", "cross_causal", **S2S)
def _():
    class Look(DecoderLayer):
        def look(self, trg, enc_src, trg_mask, src_mask):
            n, m = trg.size(1), enc_src.size(1)
            return self.encoder_attention(trg, enc_src, enc_src, torch.ones(n, m).tril() * src_mask)

    return Seq2Seq(Look)


@faulty("dropout without its training flag", "random_eval", **S2S)
def _():
    class Model(Seq2Seq):
        def place(self, tok, pos, ids):
            return F.dropout(super().place(tok, pos, ids), 0.1)

    return Model()


@right("a loss with a sum over real words and more to tell", **LOSS)
def _():
    def loss(logits, labels):
        logits, labels = logits[:, :-1, :].float(), labels[:, 1:]
        losses = F.cross_entropy(logits.transpose(1, 2), labels, reduction="none")
        real = labels.ne(PAD)
        value = (losses * real).sum() / real.sum()
        return value, {"perplexity": value.detach().exp()}

    return loss


@right("a loss by gathered log-probabilities", **LOSS)
def _():
    def loss(logits, tokens):
        shifted, words = logits[:, :-1].log_softmax(-1), tokens[:, 1:]
        picked = shifted.gather(-1, words.unsqueeze(-1)).squeeze(-1)
        return -picked.masked_select(words != PAD).mean()

    return loss


@faulty("nll_loss of probabilities", "loss", **LOSS)
def _():
    def loss(logits, labels):
        p = logits[:, :-1].softmax(-1).flatten(0, 1)
        return F.nll_loss(p, labels[:, 1:].flatten(), ignore_index=PAD)

    return loss


@faulty("the mean over all words, of masked losses", "loss_padding", **LOSS)
def _():
    def loss(logits, labels):
        logits, labels = logits[:, :-1], labels[:, 1:]
        losses = F.cross_entropy(logits.transpose(1, 2), labels, reduction="none")
        return (losses * (labels != PAD)).mean()

    return loss


@faulty("the labels as they are", "shift_none", **LOSS)
def _():
    return lambda logits, labels: F.cross_entropy(logits.mT, labels, ignore_index=PAD)


@right("a table by numpy", kind="table")
def _():
    def table(n_position, d_hid):
        angles = np.array(
            [[p / 10000 ** (2 * (j // 2) / d_hid) for j in range(d_hid)] for p in range(n_position)]
        )
        angles[:, 0::2], angles[:, 1::2] = np.sin(angles[:, 0::2]), np.cos(angles[:, 1::2])
        return torch.tensor(angles, dtype=torch.float32).unsqueeze(0)

    return table


@faulty("a table by numpy, every column its own frequency", "position_table", kind="table")
def _():
    def table(n_position, d_hid):
        angles = np.arange(n_position)[:, None] / 10000 ** (np.arange(d_hid) / d_hid)
        angles[:, 0::2], angles[:, 1::2] = np.sin(angles[:, 0::2]), np.cos(angles[:, 1::2])
        return torch.tensor(angles)

    return table


@right("half of the columns rotated", kind="rotary")
def _():
    def rotate(x, positions):
        turned, kept = x.chunk(2, -1)
        half = turned.size(-1) // 2
        angles = positions[:, None] * 10000.0 ** (-torch.arange(half) / half)
        a, b = turned.chunk(2, -1)
        cos, sin = angles.cos(), angles.sin()
        return torch.cat([a * cos - b * sin, b * cos + a * sin, kept], -1)

    return rotate


@right("complex numbers made for the length", kind="rotary")
def _():
    def rotate(x, positions):
        rates = 1.0 / 10000 ** (torch.arange(0, x.size(-1), 2) / x.size(-1))
        unit = torch.polar(torch.ones(()), torch.outer(positions, rates))
        pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
        return torch.view_as_real(pairs * unit).flatten(-2).type_as(x)

    return rotate


@faulty("a sign lost in a rotation", "rotary", kind="rotary")
def _():
    def rotate(x, positions):
        half = x.size(-1) // 2
        angles = positions[:, None] * 10000.0 ** (-torch.arange(half) / half)
        a, b = x.chunk(2, -1)
        cos, sin = angles.cos(), angles.sin()
        return torch.cat([a * cos + b * sin, b * cos + a * sin], -1)

    return rotate


@right("top-k by a threshold of each row", kind="top_k")
def _():
    def top_k(logits, k):
        values, _ = torch.topk(logits, k, dim=-1)
        return torch.where(logits < values[..., -1, None], float("-inf"), logits)

    return top_k


@right("top-p as probabilities, scattered back", kind="top_p")
def _():
    def top_p(logits, top_p):
        probs, order = logits.softmax(-1).sort(dim=-1, descending=True)
        probs = probs * ((probs.cumsum(-1) - probs) < top_p)
        probs = probs / probs.sum(-1, keepdim=True)
        return torch.zeros_like(probs).scatter(-1, order, probs)

    return top_p


@faulty("top-p in sorted order", "top_p", kind="top_p")
def _():
    def top_p(logits, p):
        ordered, _ = logits.sort(-1, descending=True)
        over = ordered.softmax(-1).cumsum(-1) - ordered.softmax(-1) >= p
        return ordered.masked_fill(over, -torch.inf)

    return top_p


@faulty("temperature of probabilities", "temperature", kind="sampler")
def _():
    def sampler(logits, temperature, top_p):
        p = logits.softmax(-1) / temperature
        p = p / p.sum(-1, keepdim=True)
        values, order = p.sort(-1, descending=True)
        values = values.masked_fill(values.cumsum(-1) - values >= top_p, 0)
        p = torch.zeros_like(p).scatter(-1, order, values)
        return p / p.sum(-1, keepdim=True)

    return sampler
