"""Encoder layers as in BERT and GPT-2, which have a GELU in place of the ReLU."""

from typing import Any

import torch.nn.functional as F
from torch import Tensor, nn

from attnbook.models.feed_forward import FeedForward
from attnbook.models.stacks import Encoder

# The names of activations in configurations, and how F.gelu calls them.
APPROXIMATE = {"gelu": "none", "gelu_new": "tanh"}


class GeluFeedForward(FeedForward):
    """Two matrices with a GELU between them, x · Φ(x), where Φ is the normal distribution's.

    Shapes:  x (..., d_model) -> (..., d_ff) -> (..., d_model)
    Source:  Hendrycks and Gimpel 2016, §2
    """

    def __init__(self, d_model: int, d_ff: int, activation: str) -> None:
        super().__init__(d_model, d_ff)
        self.approximate = APPROXIMATE[activation]

    def forward(self, x: Tensor) -> Tensor:
        """Widen each row, lower negative numbers toward 0, and narrow the row again."""
        return self.down(F.gelu(self.up(x), approximate=self.approximate))


def gelu_encoder(
    d_model: int,
    n_heads: int,
    n_layers: int,
    d_ff: int,
    activation: str,
    eps: float,
    **options: Any,
) -> Encoder:
    """An encoder whose feed-forward networks have a GELU, and whose norms add `eps`."""
    encoder = Encoder(d_model, n_heads, n_layers, d_ff, **options)
    for layer in encoder.layers:
        layer.feed_forward = GeluFeedForward(d_model, d_ff, activation)
    for module in encoder.modules():
        if isinstance(module, nn.LayerNorm):
            module.eps = eps
    return encoder
