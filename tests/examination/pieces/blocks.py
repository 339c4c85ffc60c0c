"""Blocks: attention and a feed-forward network, with residual connections and norms."""

import torch
from torch import nn

from tests.examination.pieces.layers import D, Fused, H
from tests.examination.pieces.piece import faulty, right

PRE = {"kind": "layer", "causal": True, "block": "pre"}


class Block(nn.Module):
    """A pre-norm block."""

    def __init__(self, norm=nn.LayerNorm):
        super().__init__()
        self.ln_1, self.ln_2, self.attn = norm(D), norm(D), Fused()
        self.mlp = nn.Sequential(nn.Linear(D, 4 * D), nn.GELU(), nn.Linear(4 * D, D))

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class NormOfColumns(nn.Module):
    """A norm along the sequence, which is wrong."""

    def __init__(self, width):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(width)), nn.Parameter(torch.zeros(width))

    def forward(self, x):
        mean, std = x.mean(1, keepdim=True), x.std(1, keepdim=True)
        return self.weight * (x - mean) / (std + 1e-6) + self.bias


@faulty("x = x + x", "residual", "kyegomez/BitNet#32", **PRE)
def _():
    class Twice(Block):
        def forward(self, x):
            x = self.attn(self.ln_1(x))
            x = x + x
            return x + self.mlp(self.ln_2(x))

    return Twice()


@faulty("the residual path is normalized", "residual", "pytorch/pytorch#61165", **PRE)
def _():
    class Normed(Block):
        def forward(self, x):
            x = self.ln_1(x)
            x = x + self.attn(x)
            x = self.ln_2(x)
            return x + self.mlp(x)

    return Normed()


@faulty(
    "the attention's result is dropped",
    "residual",
    "strutive07/transformer-tensorflow2.0#14",
    **PRE,
)
def _():
    class Dropped(Block):
        def forward(self, x):
            y = x + self.attn(self.ln_1(x))
            return x + self.mlp(self.ln_2(y))

    return Dropped()


@faulty("the second norm is never used", "unreached", "ml-explore/mlx#1636", **PRE)
def _():
    class Typo(Block):
        def forward(self, x):
            x = x + self.attn(self.ln_1(x))
            return x + self.mlp(self.ln_1(x))

    return Typo()


@faulty(
    "a norm along the sequence",
    "norm_axis",
    "jadore801120/attention-is-all-you-need-pytorch#17",
    **PRE,
)
def _():
    return Block(NormOfColumns)


@right("pre-norm", **PRE)
def _():
    return Block()


@right("in parallel", **PRE)
def _():
    class Parallel(Block):
        def forward(self, x):
            y = self.ln_1(x)
            return x + self.attn(y) + self.mlp(self.ln_2(x))

    return Parallel()


@right("PyTorch's encoder layer, post-norm", kind="layer", causal=False, block="post")
def _():
    return nn.TransformerEncoderLayer(D, H, 32, batch_first=True)


@right(
    "PyTorch's encoder layer, pre-norm, with padding",
    kind="layer",
    causal=False,
    block="pre",
    mask="hide",
    mask_shape="BL",
)
def _():
    return nn.TransformerEncoderLayer(D, H, 32, batch_first=True, norm_first=True)


@right("PyTorch's encoder layer, nothing said", kind="layer")
def _():
    return nn.TransformerEncoderLayer(D, H, 32, batch_first=True)
