"""The two stacks of a Transformer: encoder layers, and decoder layers that attend to one source."""

from typing import Any

from torch import Tensor, nn

from attnbook.attention.kv_cache import KVCache
from attnbook.checks.sizes import check_size
from attnbook.models.layers import DecoderLayer, EncoderLayer

Weights = list[Tensor]  # one tensor for each layer
DecoderCache = list[tuple[KVCache, KVCache]]  # per layer, one for the target so far, one for z


class Encoder(nn.Module):
    """N layers with the options of EncoderLayer; with norm_first, a norm follows the last one.

    Shapes:  x (B, L, d_model), mask as in MultiHeadAttention
    Returns: z (B, L, d_model), each layer's weights (B, H, L, L)
    Raises:  TypeError, ValueError if n_layers is not a positive int, or EncoderLayer refuses a size
    """

    def __init__(
        self, d_model: int, n_heads: int, n_layers: int, d_ff: int, **options: Any
    ) -> None:
        super().__init__()
        check_size("n_layers", n_layers)
        self.layers = nn.ModuleList(
            EncoderLayer(d_model, n_heads, d_ff, **options) for _ in range(n_layers)
        )
        self.norm = nn.LayerNorm(d_model) if options.get("norm_first") else nn.Identity()

    def forward(self, x: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Weights]:
        all_weights = []
        for layer in self.layers:
            x, weights = layer(x, mask)
            all_weights.append(weights)
        return self.norm(x), all_weights


class Decoder(nn.Module):
    """N decoder layers that all attend to the same z; options and final norm as in Encoder.

    Shapes:  x (B, Lt, d_model)   z (B, Ls, d_model)   masks as in MultiHeadAttention
    Returns: x (B, Lt, d_model), each layer's weights (B, H, Lt, Lt) and weights to z (B, H, Lt, Ls)
    Raises:  TypeError, ValueError if n_layers is not a positive int, or DecoderLayer refuses a size
    """

    def __init__(
        self, d_model: int, n_heads: int, n_layers: int, d_ff: int, **options: Any
    ) -> None:
        super().__init__()
        check_size("n_layers", n_layers)
        self.layers = nn.ModuleList(
            DecoderLayer(d_model, n_heads, d_ff, **options) for _ in range(n_layers)
        )
        self.norm = nn.LayerNorm(d_model) if options.get("norm_first") else nn.Identity()

    def forward(
        self,
        x: Tensor,
        z: Tensor,
        mask: Tensor | None = None,
        z_mask: Tensor | None = None,
        cache: DecoderCache | None = None,
    ) -> tuple[Tensor, Weights, Weights]:
        all_weights, all_z_weights = [], []
        for i, layer in enumerate(self.layers):
            x, weights, z_weights = layer(x, z, mask, z_mask, cache[i] if cache else None)
            all_weights.append(weights)
            all_z_weights.append(z_weights)
        return self.norm(x), all_weights, all_z_weights
