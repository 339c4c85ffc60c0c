"""Small functions: positions, losses, filters of logits, samplers."""

import math

import torch
from torch.nn import functional as F

from tests.examination.pieces.layers import rotated
from tests.examination.pieces.piece import faulty, right

V, PAD = 23, 0
LOSS = {"kind": "loss", "pad": PAD}


def sinusoids(length, d, sine=lambda k, d: 2 * k / d, cosine=lambda k, d: 2 * k / d):
    table = torch.zeros(length, d)
    for k in range(d // 2):
        table[:, 2 * k] = torch.sin(torch.arange(length) / 10000 ** sine(k, d))
        table[:, 2 * k + 1] = torch.cos(torch.arange(length) / 10000 ** cosine(k, d))
    return table


@faulty("unequal exponents in a pair", "position_table", "SamLynnEvans/Transformer#7", kind="table")
def _():
    return lambda n, d: sinusoids(n, d, lambda k, d: 4 * k / d, lambda k, d: 2 * (2 * k + 1) / d)


@faulty("precedence", "position_table", "zju3dv/LoFTR#41", kind="table")
def _():
    def table(length, d):
        rates = torch.exp(torch.arange(0, d, 2).float() * (-math.log(10000.0) / d // 2))
        angles = torch.arange(length)[:, None] * rates
        return torch.stack([angles.sin(), angles.cos()], -1).flatten(1)

    return table


@faulty("an odd width", "odd_width", "codertimo/BERT-pytorch#78", kind="table")
def _():
    def table(length, d):
        angles = torch.arange(length)[:, None] * 10000.0 ** (-torch.arange(0, d, 2) / d)
        out = torch.zeros(length, d)
        out[:, 0::2], out[:, 1::2] = angles.sin(), angles.cos()
        return out

    return table


@faulty(
    "halves with the angles of neighbors",
    "rotary",
    "raiyanyahya/how-to-train-your-gpt#6",
    kind="rotary",
)
def _():
    def turn(x, positions):
        d = x.size(-1)
        angles = positions.double()[:, None] * 10000.0 ** (-torch.arange(0, d, 2).double() / d)
        angles = angles.repeat_interleave(2, -1)
        a, b = x.chunk(2, -1)
        return x * angles.cos().to(x) + torch.cat([-b, a], -1) * angles.sin().to(x)

    return turn


@faulty("angles in 16 bits", "rotary_precision", "huggingface/transformers#29285", kind="rotary")
def _():
    def turn(x, positions):
        d = x.size(-1)
        rates = (10000.0 ** (-torch.arange(0, d, 2) / d)).bfloat16()
        angles = torch.cat([positions.bfloat16()[:, None] * rates] * 2, -1).to(x)
        a, b = x.chunk(2, -1)
        return x * angles.cos() + torch.cat([-b, a], -1) * angles.sin()

    return turn


def next_word_loss(logits, ids, **options):
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten(), **options)


@faulty("labels not shifted", "shift_none", "huggingface/transformers#404", **LOSS)
def _():
    return lambda logits, ids: F.cross_entropy(logits.transpose(1, 2), ids, ignore_index=PAD)


@faulty("labels shifted twice", "shift_twice", "huggingface/transformers#47394", **LOSS)
def _():
    return lambda logits, ids: next_word_loss(logits[:, :-1], ids[:, 1:], ignore_index=PAD)


@faulty("padding is learned", "loss_padding", "lukas-blecher/LaTeX-OCR#305", **LOSS)
def _():
    return next_word_loss


@faulty("padding in the divisor", "loss_padding", "huggingface/transformers#2759", **LOSS)
def _():
    def loss(logits, ids):
        each = next_word_loss(logits, ids, reduction="none")
        return (each * (ids[:, 1:].flatten() != PAD)).mean()

    return loss


@faulty("two softmaxes", "double_softmax", "lansinuote/Huggingface_Toturials#6", **LOSS)
def _():
    return lambda logits, ids: next_word_loss(logits.softmax(-1), ids, ignore_index=PAD)


def sorted_filter(drop):
    """A filter that leaves out what `drop` says of the sorted probabilities, their sum and p."""

    def keep(logits, p):
        ordered, order = logits.sort(-1, descending=True)
        probabilities = ordered.softmax(-1)
        left_out = drop(probabilities, probabilities.cumsum(-1), p)
        left_out = torch.zeros_like(left_out).scatter(-1, order, left_out)
        return logits.masked_fill(left_out, float("-inf"))

    return keep


@faulty(
    "top-p without the token that crosses",
    "top_p",
    "rasbt/reasoning-from-scratch#164",
    kind="top_p",
)
def _():
    return sorted_filter(lambda probabilities, total, p: total > p)


@faulty("top-p in the wrong order", "top_p", kind="top_p")
def _():
    def keep(logits, p):
        ordered, _order = logits.sort(-1, descending=True)
        probabilities = ordered.softmax(-1)
        return logits.masked_fill(probabilities.cumsum(-1) - probabilities >= p, float("-inf"))

    return keep


@faulty("one token too many", "top_k", "kingoflolz/mesh-transformer-jax#164", kind="top_k")
def _():
    return lambda logits, k: logits.masked_fill(
        logits < logits.topk(k + 1).values[..., -1:], -torch.inf
    )


@faulty("temperature after top-p", "temperature", "fishaudio/fish-speech#1150", kind="sampler")
def _():
    filter_p = sorted_filter(lambda probabilities, total, p: total - probabilities >= p)
    return lambda logits, temperature, p: (filter_p(logits, p) / temperature).softmax(-1)


# --- right ones -----------------------------------------------------------------------------------


@right("a table in two loops", kind="table")
def _():
    return lambda n, d: sinusoids(n, d + d % 2)[:, :d]


@right("a function that rotates halves", kind="rotary")
def _():
    return rotated


@right("rotary by a module, guessed positions", kind="rotary")
def _():
    return lambda x: rotated(x)


@right("loss", **LOSS)
def _():
    return lambda logits, ids: next_word_loss(logits, ids, ignore_index=PAD)


@right("loss by hand", **LOSS)
def _():
    def loss(logits, ids):
        chosen = logits[:, :-1].log_softmax(-1).gather(-1, ids[:, 1:, None]).squeeze(-1)
        real = ids[:, 1:] != PAD
        return -(chosen * real).sum() / real.sum()

    return loss


@right("top-p", kind="top_p")
def _():
    return sorted_filter(lambda probabilities, total, p: total - probabilities >= p)


@right("top-p as probabilities", kind="top_p")
def _():
    keep = sorted_filter(lambda probabilities, total, p: total - probabilities >= p)
    return lambda logits, p: keep(logits, p).softmax(-1)


@right("top-k", kind="top_k")
def _():
    return lambda logits, k: logits.masked_fill(
        logits < logits.topk(k).values[..., -1:], -torch.inf
    )


@right("temperature, then top-p", kind="sampler")
def _():
    filter_p = sorted_filter(lambda probabilities, total, p: total - probabilities >= p)
    return lambda logits, temperature, top_p: filter_p(logits / temperature, top_p).softmax(-1)
