"""Public modules, rebuilt in our own words from their structure at a date.

The faulty ones have the fault of a public report. The right ones are a repair, or other code.
"""

import math

import torch
from torch import nn
from torch.nn import functional as F

from tests.examination.pieces.piece import faulty, right

D, H = 32, 4
BOTH = {"kind": "layer", "causal": False}
CAUSAL = {"kind": "layer", "causal": True}


class FromScratch(nn.Module):
    """jsbaan/transformer-from-scratch: one matrix for q, k and v, heads split at once."""

    def __init__(self):
        super().__init__()
        self.num_heads, self.qkv_dim = H, D // H
        self.qkv_proj = nn.Linear(D, 3 * H * self.qkv_dim, bias=False)
        self.o_proj = nn.Linear(H * self.qkv_dim, D, bias=False)

    def merge(self, values):
        return values.reshape(values.size(0), values.size(2), D)

    def forward(self, x):
        b, n, _ = x.size()
        qkv = self.qkv_proj(x).reshape(b, n, self.num_heads, 3 * self.qkv_dim)
        q, k, v = qkv.permute(0, 2, 1, 3).chunk(3, dim=-1)
        logits = torch.matmul(q, k.mT) / math.sqrt(self.qkv_dim)
        return self.o_proj(self.merge(torch.matmul(F.softmax(logits, dim=-1), v)))


@faulty("transformer-from-scratch, 2021", "heads", "jsbaan/transformer-from-scratch#4", **BOTH)
def _():
    return FromScratch()


@right("transformer-from-scratch, 2026", **BOTH)
def _():
    class Repaired(FromScratch):
        def merge(self, values):
            return super().merge(values.transpose(1, 2).flatten(2)[:, None])

    return Repaired()


@faulty(
    "Chinese-Text-Classification-Pytorch, 2019",
    "heads",
    "649453932/Chinese-Text-Classification-Pytorch#10",
    **BOTH,
)
def _():
    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.num_head, self.dim_head = H, D // H
            self.fc_Q, self.fc_K, self.fc_V, self.fc = (nn.Linear(D, D) for _ in range(4))
            self.dropout, self.layer_norm = nn.Dropout(0.5), nn.LayerNorm(D)

        def forward(self, x):
            b = x.size(0)
            q, k, v = (
                f(x).view(b * H, -1, self.dim_head) for f in (self.fc_Q, self.fc_K, self.fc_V)
            )
            attention = F.softmax(q @ k.permute(0, 2, 1) * k.size(-1) ** -0.5, dim=-1)
            out = self.dropout(self.fc((attention @ v).view(b, -1, D)))
            return self.layer_norm(out + x)

    return Attention()


@faulty("former, 2020", "shared_heads", "pbloem/former#13", **BOTH)
def _():
    class Narrow(nn.Module):
        def __init__(self):
            super().__init__()
            self.heads, s = H, D // H
            self.tokeys, self.toqueries, self.tovalues = (
                nn.Linear(s, s, bias=False) for _ in range(3)
            )
            self.unifyheads = nn.Linear(D, D)

        def forward(self, x):
            b, t, e = x.size()
            x = x.view(b, t, H, e // H)
            k, q, v = (
                f(x).transpose(1, 2).contiguous().view(b * H, t, e // H)
                for f in (self.tokeys, self.toqueries, self.tovalues)
            )
            q, k = q / (e // H) ** (1 / 4), k / (e // H) ** (1 / 4)
            out = torch.bmm(F.softmax(torch.bmm(q, k.transpose(1, 2)), dim=2), v)
            return self.unifyheads(out.view(b, H, t, -1).transpose(1, 2).contiguous().view(b, t, e))

    return Narrow()


class ViT(nn.Module):
    """lucidrains/vit-pytorch: a norm, one matrix for q, k and v, einsum, a last matrix."""

    def __init__(self, scale):
        super().__init__()
        self.heads, self.scale = H, scale
        self.norm, self.attend = nn.LayerNorm(D), nn.Softmax(dim=-1)
        self.to_qkv = nn.Linear(D, 3 * D, bias=False)
        self.to_out = nn.Sequential(nn.Linear(D, D), nn.Dropout(0.1))

    def forward(self, x):
        b, n, _ = x.shape
        q, k, v = (
            t.reshape(b, n, H, -1).transpose(1, 2) for t in self.to_qkv(self.norm(x)).chunk(3, -1)
        )
        attn = self.attend(torch.einsum("bhid,bhjd->bhij", q, k) * self.scale)
        out = torch.einsum("bhij,bhjd->bhid", attn, v)
        return self.to_out(out.transpose(1, 2).reshape(b, n, D))


@faulty("vit-pytorch, 2020", "scale", "lucidrains/vit-pytorch#65", **BOTH)
def _():
    return ViT(D**-0.5)


@right("vit-pytorch, 2021", **BOTH)
def _():
    return ViT((D // H) ** -0.5)


@faulty("TabFormer, 2021", "cross_batch", "IBM/TabFormer#14", **BOTH)
def _():
    class Encoded(nn.Module):
        def __init__(self):
            super().__init__()
            layer = nn.TransformerEncoderLayer(D, H, 2 * D)
            self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
            self.lin_proj = nn.Linear(D, D)

        def forward(self, inputs_embeds):
            return self.lin_proj(self.encoder(inputs_embeds))

    return Encoded()


class Pixels(nn.Module):
    """labml's attention between pixels: heads come last in the scores."""

    def __init__(self, axis):
        super().__init__()
        self.n_heads, self.axis, self.scale = H, axis, (D // H) ** -0.5
        self.projection, self.output = nn.Linear(D, 3 * D), nn.Linear(D, D)

    def forward(self, x):
        b, n, _ = x.shape
        q, k, v = self.projection(x).view(b, n, H, -1).chunk(3, dim=-1)
        attn = torch.einsum("bihd,bjhd->bijh", q, k) * self.scale
        res = torch.einsum("bijh,bjhd->bihd", attn.softmax(dim=self.axis), v)
        return self.output(res.reshape(b, n, D)) + x


@faulty(
    "annotated_deep_learning_paper_implementations, 2022",
    "softmax_axis",
    "labmlai/annotated_deep_learning_paper_implementations#146",
    **BOTH,
)
def _():
    return Pixels(axis=1)


@right("annotated_deep_learning_paper_implementations, 2023", **BOTH)
def _():
    return Pixels(axis=2)


class Bark(nn.Module):
    """suno-ai/bark: GPT's attention with a cache and PyTorch's fused function."""

    def __init__(self, careful):
        super().__init__()
        self.n_head, self.n_embd, self.dropout, self.careful = H, D, 0.1, careful
        self.c_attn, self.c_proj = nn.Linear(D, 3 * D, bias=False), nn.Linear(D, D, bias=False)
        self.resid_dropout = nn.Dropout(0.1)

    def forward(self, x, past_kv=None, use_cache=False):
        b, t, c = x.size()
        q, k, v = (p.view(b, t, H, c // H).transpose(1, 2) for p in self.c_attn(x).split(D, dim=2))
        if past_kv is not None:
            k, v = torch.cat((past_kv[0], k), dim=-2), torch.cat((past_kv[1], v), dim=-2)
        rate = self.dropout if self.training or not self.careful else 0.0
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=rate, is_causal=past_kv is None)
        y = y.transpose(1, 2).contiguous().view(b, t, c)
        return self.resid_dropout(self.c_proj(y)), (k, v) if use_cache else None


@faulty("bark, 2023", "random_eval", "suno-ai/bark#662", **CAUSAL)
def _():
    return Bark(careful=False)


@right("bark with the training mode in mind", **CAUSAL)
def _():
    return Bark(careful=True)


class Trajectory(nn.Module):
    """Howuhh/faster-trajectory-transformer: PyTorch's attention in a pre-norm block."""

    def __init__(self):
        super().__init__()
        self.norm1, self.norm2, self.drop = nn.LayerNorm(D), nn.LayerNorm(D), nn.Dropout(0.1)
        self.attention = nn.MultiheadAttention(D, H, 0.1, batch_first=True)
        self.mlp = nn.Sequential(
            nn.Linear(D, 4 * D), nn.GELU(), nn.Linear(4 * D, D), nn.Dropout(0.1)
        )
        self.register_buffer("attn_mask", ~torch.tril(torch.ones(32, 32)).to(torch.bool))

    def look(self, x):
        mask = self.attn_mask[: x.size(1), : x.size(1)]
        return self.drop(self.attention(x, x, x, attn_mask=mask, need_weights=False)[0])

    def forward(self, x):
        x = self.norm1(x)
        x = x + self.look(x)
        return x + self.mlp(self.norm2(x))


@faulty(
    "faster-trajectory-transformer, 2022",
    "residual",
    "Howuhh/faster-trajectory-transformer#3",
    **CAUSAL,
    block="pre",
)
def _():
    return Trajectory()


@right("faster-trajectory-transformer, repaired", **CAUSAL, block="pre")
def _():
    class Repaired(Trajectory):
        def forward(self, x):
            x = x + self.look(self.norm1(x))
            return x + self.mlp(self.norm2(x))

    return Repaired()


@faulty(
    "attention-is-all-you-need-pytorch, 2017",
    "norm_axis",
    "jadore801120/attention-is-all-you-need-pytorch#17",
    **BOTH,
)
def _():
    class LayerNormalization(nn.Module):
        def __init__(self):
            super().__init__()
            self.a_2, self.b_2 = nn.Parameter(torch.ones(D)), nn.Parameter(torch.zeros(D))

        def forward(self, z):
            mu, sigma = z.mean(dim=1, keepdim=True), z.std(dim=1, keepdim=True)
            return self.a_2 * (z - mu) / (sigma + 1e-3) + self.b_2

    class Positionwise(nn.Module):
        def __init__(self):
            super().__init__()
            self.w_1, self.w_2 = nn.Conv1d(D, 2 * D, 1), nn.Conv1d(2 * D, D, 1)
            self.layer_norm = LayerNormalization()

        def forward(self, x):
            output = self.w_2(F.relu(self.w_1(x.transpose(1, 2)))).transpose(2, 1)
            return self.layer_norm(output + x)

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.slf_attn = nn.MultiheadAttention(D, H, batch_first=True)
            self.pos_ffn = Positionwise()

        def forward(self, enc_input):
            out, weights = self.slf_attn(enc_input, enc_input, enc_input)
            return self.pos_ffn(out + enc_input), weights

    return Layer()


@faulty(
    "good-features, 2023",
    "mask_soft",
    "georg-wolflein/good-features#1",
    kind="core",
    mask="keep01",
    mask_shape="B1LL",
)
def _():
    def attention(q, k, v, mask):
        dots = torch.einsum("bhid,bhjd->bhij", q, k) * q.shape[-1] ** -0.5
        return torch.einsum("bhij,bhjd->bhid", torch.softmax(dots * mask, dim=-1), v)

    return attention


@right("pytorch-transformer, 2023", **BOTH, mask="keep01", mask_shape="B1LL")
def _():
    class MultiHeadAttentionBlock(nn.Module):
        def __init__(self, d_model=D, h=H, dropout=0.1):
            super().__init__()
            self.d_model, self.h, self.d_k = d_model, h, d_model // h
            self.w_q, self.w_k, self.w_v, self.w_o = (
                nn.Linear(d_model, d_model, bias=False) for _ in range(4)
            )
            self.dropout = nn.Dropout(dropout)

        def forward(self, q, k, v, mask):
            q, k, v = (
                f(t).view(t.shape[0], t.shape[1], self.h, self.d_k).transpose(1, 2)
                for f, t in ((self.w_q, q), (self.w_k, k), (self.w_v, v))
            )
            scores = (q @ k.transpose(-2, -1)) / math.sqrt(self.d_k)
            scores.masked_fill_(mask == 0, -1e9)
            x = self.dropout(scores.softmax(dim=-1)) @ v
            return self.w_o(x.transpose(1, 2).contiguous().view(x.shape[0], -1, self.d_model))

    return MultiHeadAttentionBlock()
