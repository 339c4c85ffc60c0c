"""Layers of cross-attention: two sequences of rows in, rows out."""

import math

from torch import nn
from torch.nn import functional as F

from tests.examination.pieces.layers import D, Four, H
from tests.examination.pieces.piece import faulty, right


@faulty("cross-attention, softmax over the queries", "softmax_axis", kind="cross")
def _():
    class Layer(Four):
        def forward(self, x, context):
            q, k, v = (
                f(t).unflatten(-1, (H, -1)).transpose(1, 2)
                for f, t in ((self.queries, x), (self.keys, context), (self.values, context))
            )
            y = (q @ k.mT / math.sqrt(D // H)).softmax(-2) @ v
            return self.unify(y.transpose(1, 2).flatten(2))

    return Layer()


# --- right ones -----------------------------------------------------------------------------------


@right("cross-attention to another width", kind="cross", d_context=10, mask="keep", mask_shape="BL")
def _():
    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.to_q, self.to_k, self.to_v = nn.Linear(D, D), nn.Linear(10, D), nn.Linear(10, D)
            self.to_out = nn.Linear(D, D)

        def forward(self, x, context, keep):
            q, k, v = (
                t.unflatten(-1, (H, -1)).transpose(1, 2)
                for t in (self.to_q(x), self.to_k(context), self.to_v(context))
            )
            y = F.scaled_dot_product_attention(q, k, v, attn_mask=keep[:, None, None, :])
            return self.to_out(y.transpose(1, 2).flatten(2))

    return Layer()


@right("cross-attention by PyTorch, widths not said", kind="cross")
def _():
    return nn.MultiheadAttention(D, H, kdim=10, vdim=10, batch_first=True)
