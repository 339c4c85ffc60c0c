"""Layers in the style of image and audio models: convolutions, channels first, two streams."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from tests.examination.pieces.piece import faulty, right

D, H = 32, 4
BOTH = {"kind": "layer", "causal": False}
CROSS = {"kind": "cross"}


class ConvAttention(nn.Module):
    """Attention over (B, C, T) with convolutions of width 1, in a layer that takes (B, T, C)."""

    def __init__(self):
        super().__init__()
        self.n_heads = H
        self.qkv, self.proj_out = nn.Conv1d(D, 3 * D, 1), nn.Conv1d(D, D, 1)

    def cut(self, qkv):
        b, _, t = qkv.shape
        return qkv.reshape(b * H, 3 * D // H, t).chunk(3, dim=1)

    def attend(self, q, k, v):
        scale = 1 / math.sqrt(math.sqrt(q.size(1)))
        weights = torch.einsum("bct,bcs->bts", q * scale, k * scale)
        return torch.einsum("bts,bcs->bct", weights.softmax(-1), v)

    def prepared(self, x):
        return x

    def join(self, y, b, t):
        return y.reshape(b, D, t)

    def forward(self, x):
        b, t, _ = x.shape
        channels = x.transpose(1, 2)
        y = self.attend(*self.cut(self.qkv(self.prepared(channels))))
        return self.proj_out(self.join(y, b, t)).transpose(1, 2)


@right("convolutions, half of the scale on each side", **BOTH)
def _():
    return ConvAttention()


@right("convolutions with a group norm and a residual", **BOTH)
def _():
    class Block(ConvAttention):
        def __init__(self):
            super().__init__()
            self.norm = nn.GroupNorm(8, D)

        def prepared(self, x):
            return self.norm(x)

        def forward(self, x):
            return x + super().forward(x)

    return Block()


@faulty("convolutions, weights of the other orientation", "transposed", **BOTH)
def _():
    class Layer(ConvAttention):
        def attend(self, q, k, v):
            weights = torch.bmm(q.transpose(1, 2), k) / math.sqrt(q.size(1))
            return torch.bmm(v, weights.softmax(-1))

    return Layer()


@faulty("convolutions, heads cut along time", "heads", **BOTH)
def _():
    class Layer(ConvAttention):
        def cut(self, qkv):
            b, _, t = qkv.shape
            return [
                part.reshape(b, t, H, -1).permute(0, 2, 3, 1).flatten(0, 1)
                for part in qkv.chunk(3, 1)
            ]

    return Layer()


@faulty("convolutions without a scale", "scale", **BOTH)
def _():
    class Layer(ConvAttention):
        def attend(self, q, k, v):
            weights = torch.bmm(q.transpose(1, 2), k).softmax(dim=2)
            return torch.bmm(v, weights.transpose(1, 2))

    return Layer()


@faulty("convolutions, softmax over the channels' side", "softmax_axis", **BOTH)
def _():
    class Layer(ConvAttention):
        def attend(self, q, k, v):
            weights = torch.bmm(q.transpose(1, 2), k) / math.sqrt(q.size(1))
            return torch.bmm(v, weights.softmax(dim=1).transpose(1, 2))

    return Layer()


class Block(nn.Module):
    """A vision transformer's block with a small factor on each branch."""

    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(D), nn.LayerNorm(D)
        self.attn = nn.MultiheadAttention(D, H, batch_first=True)
        self.fc1, self.fc2 = nn.Linear(D, 2 * D), nn.Linear(2 * D, D)
        self.gamma1, self.gamma2 = (nn.Parameter(1e-4 * torch.ones(D)) for _ in range(2))
        self.drop = nn.Dropout(0.1)

    def attended(self, x):
        y = self.norm1(x)
        return self.drop(self.gamma1 * self.attn(y, y, y, need_weights=False)[0])

    def forward(self, x):
        x = x + self.attended(x)
        return x + self.drop(self.gamma2 * self.fc2(F.gelu(self.fc1(self.norm2(x)))))


@right("a block with a small factor on each branch", **BOTH, block="pre")
def _():
    return Block()


@right("the same block, nothing said", kind="layer")
def _():
    return Block()


@right("attention and network in parallel, one norm", **BOTH, block="pre")
def _():
    class Parallel(Block):
        def forward(self, x):
            y = self.norm1(x)
            return x + self.attn(y, y, y)[0] + self.fc2(F.gelu(self.fc1(y)))

    block = Parallel()
    del block.norm2, block.gamma1, block.gamma2
    return block


@right("norms before and after each part", **BOTH, block="pre")
def _():
    class Sandwich(nn.Module):
        def __init__(self):
            super().__init__()
            self.norms = nn.ModuleList(nn.LayerNorm(D) for _ in range(4))
            self.attn = nn.MultiheadAttention(D, H, batch_first=True)
            self.mlp = nn.Sequential(nn.Linear(D, 2 * D), nn.GELU(), nn.Linear(2 * D, D))

        def forward(self, x):
            y = self.norms[0](x)
            x = x + self.norms[1](self.attn(y, y, y)[0])
            return x + self.norms[3](self.mlp(self.norms[2](x)))

    return Sandwich()


@faulty("stochastic depth that never ends", "random_eval", **BOTH)
def _():
    class Deep(Block):
        def attended(self, x):
            keep = torch.rand(x.size(0), 1, 1) < 0.8
            return super().attended(x) * keep / 0.8

    return Deep()


@faulty("a branch whose result is kept in no variable", "residual", **BOTH, block="pre")
def _():
    class Forgets(Block):
        def forward(self, x):
            x + self.attended(x)
            return x + self.fc2(F.gelu(self.fc1(self.norm2(x))))

    return Forgets()


class CrossAttention(nn.Module):
    """Attention of rows to a context, or to themselves without one."""

    def __init__(self, d_context=20):
        super().__init__()
        self.heads, self.scale = H, (D // H) ** -0.5
        self.to_q = nn.Linear(D, D, bias=False)
        self.to_k, self.to_v = (nn.Linear(d_context, D, bias=False) for _ in range(2))
        self.to_out = nn.Sequential(nn.Linear(D, D), nn.Dropout(0.0))

    def fold(self, x):
        return x.unflatten(-1, (H, -1)).transpose(1, 2).flatten(0, 1)

    def unfold(self, y):
        return y.unflatten(0, (-1, H)).transpose(1, 2).flatten(2)

    def rows(self, x, context):
        return x, context

    def hide(self, sim, mask):
        mask = mask[:, None, None].expand(-1, H, -1, -1).flatten(0, 1)
        return sim.masked_fill(~mask, -torch.finfo(sim.dtype).max)

    def weights(self, sim):
        return sim.softmax(dim=-1)

    def forward(self, x, context=None, mask=None):
        asks, asked = self.rows(x, x if context is None else context)
        q, k, v = (self.fold(t) for t in (self.to_q(asks), self.to_k(asked), self.to_v(asked)))
        sim = torch.einsum("bid,bjd->bij", q, k) * self.scale
        sim = sim if mask is None else self.hide(sim, mask)
        y = torch.einsum("bij,bjd->bid", self.weights(sim), v)
        return self.to_out(self.unfold(y))


@right("a context, heads folded into the batch", **CROSS, mask="keep", mask_shape="BL")
def _():
    return CrossAttention()


@right("latents that look at a context and at themselves", **CROSS, d_context=D)
def _():
    class Resampler(CrossAttention):
        def rows(self, x, context):
            return x, torch.cat([context, x], dim=1)

    return Resampler(D)


@right("a context with grouped heads, by name", **CROSS)
def _():
    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.num_heads = H
            self.wq, self.wo = nn.Linear(D, D, bias=False), nn.Linear(D, D, bias=False)
            self.wk, self.wv = (nn.Linear(12, D // 2, bias=False) for _ in range(2))

        def forward(self, hidden_states, *, encoder_hidden_states):
            q = self.wq(hidden_states).unflatten(-1, (H, -1)).transpose(1, 2)
            k, v = (
                f(encoder_hidden_states).unflatten(-1, (H // 2, -1)).transpose(1, 2)
                for f in (self.wk, self.wv)
            )
            y = F.scaled_dot_product_attention(q, k, v, enable_gqa=True)
            return self.wo(y.transpose(1, 2).flatten(2)), None

    return Layer()


@right("a block with a context", **CROSS, block="pre")
def _():
    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.attn1, self.attn2 = CrossAttention(D), CrossAttention(20)
            self.norm1, self.norm2, self.norm3 = (nn.LayerNorm(D) for _ in range(3))
            self.ff = nn.Sequential(nn.Linear(D, 2 * D), nn.GELU(), nn.Linear(2 * D, D))

        def forward(self, x, context):
            x = self.attn1(self.norm1(x)) + x
            x = self.attn2(self.norm2(x), context=context) + x
            return self.ff(self.norm3(x)) + x

    return Layer()


@faulty(
    "a context's mask of another order than the folded heads",
    "mask_batch",
    **CROSS,
    mask="keep",
    mask_shape="BL",
)
def _():
    class Layer(CrossAttention):
        def hide(self, sim, mask):
            return sim.masked_fill(~mask[:, None].repeat(H, 1, 1), -torch.finfo(sim.dtype).max)

    return Layer()


@faulty("a folded batch unfolded as heads first", "cross_batch", **CROSS)
def _():
    class Layer(CrossAttention):
        def unfold(self, y):
            return y.unflatten(0, (H, -1)).permute(1, 2, 0, 3).flatten(2)

    return Layer()


@faulty("the context as queries' side of the softmax", "softmax_axis", **CROSS)
def _():
    class Layer(CrossAttention):
        def weights(self, sim):
            return sim.softmax(dim=-2)

    return Layer()


@faulty("the given context is overwritten", "source_ignored", **CROSS, d_context=D)
def _():
    class Layer(CrossAttention):
        def rows(self, x, context):
            return x, x

    return Layer(D)


@faulty("a triangle over the context", "cross_causal", **CROSS)
def _():
    class Layer(CrossAttention):
        def weights(self, sim):
            future = torch.ones(sim.shape[-2:], dtype=torch.bool).triu(1)
            return sim.masked_fill(future, -torch.inf).softmax(-1)

    return Layer()
