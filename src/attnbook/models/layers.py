"""The layers of a Transformer: attention and a feed-forward network, with residual connections."""

from typing import Self

from torch import Tensor, nn

from attnbook.attention.from_torch import copy_feed_forward_and_norms, layer_sizes
from attnbook.attention.heads import insert_head_axis
from attnbook.attention.kv_cache import KVCache
from attnbook.attention.multi_head import Attend, MultiHeadAttention
from attnbook.attention.scaled_dot_product import scaled_dot_product_attention
from attnbook.checks.attention import check_source
from attnbook.checks.tensors import check_sequences, check_width
from attnbook.models.feed_forward import FeedForward


class EncoderLayer(nn.Module):
    """Self-attention, then the feed-forward network, each with a residual connection.

    norm_first=False normalizes each sum, as in the paper; True normalizes the input of each part.
    Dropout is applied to the output of each part and inside the feed-forward network. (PyTorch's
    layer also applies it to attention weights, which the paper does not mention.)

    Shapes:  x (B, L, d_model)   mask, attend as in MultiHeadAttention
    Returns: x (B, L, d_model), weights (B, H, L, L), or None where attend gives none
    Raises:  TypeError, ValueError for sizes that MultiHeadAttention or FeedForward refuses
    Source:  Vaswani et al. 2017, §3.1; S4
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        d_ff: int,
        *,
        dropout: float = 0.0,
        norm_first: bool = False,
        attend: Attend = scaled_dot_product_attention,
    ) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(d_model, n_heads, attend=attend)
        self.feed_forward = FeedForward(d_model, d_ff, dropout)
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)
        self.norm_first = norm_first

    def forward(self, x: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Let the rows attend to one another, then transform each row separately."""
        if self.norm_first:
            seen, weights = self.attention(self.norm1(x), mask=mask)
            x = x + self.dropout(seen)
            return x + self.dropout(self.feed_forward(self.norm2(x))), weights
        seen, weights = self.attention(x, mask=mask)
        x = self.norm1(x + self.dropout(seen))
        return self.norm2(x + self.dropout(self.feed_forward(x))), weights

    @classmethod
    def from_torch(cls, other: nn.TransformerEncoderLayer) -> Self:
        """Build a layer with a copy of PyTorch's parameters; ours is always batch-first.

        Raises:  TypeError if `other` is of another class; ValueError if its activation is not ReLU
        """
        sizes = layer_sizes(other, nn.TransformerEncoderLayer)
        layer = cls(*sizes, dropout=other.dropout.p, norm_first=other.norm_first)
        layer.attention = MultiHeadAttention.from_torch(other.self_attn)
        copy_feed_forward_and_norms(layer, other, ("norm1", "norm2"))
        return layer


class DecoderLayer(nn.Module):
    """Masked self-attention, cross-attention to the encoder's z, and a feed-forward network.

    Shapes:  x (B, Lt, d_model)   z (B, Ls, d_model)   masks, attend as in MultiHeadAttention
             cache: two KVCaches, one per attention sublayer; x then holds only the new rows
    Returns: x (B, Lt, d_model), weights (B, H, Lt, Lt), weights to z (B, H, Lt, Ls)
    Raises:  as in EncoderLayer; ValueError if z or its mask does not fit
    Source:  Vaswani et al. 2017, §3.1; S4
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        d_ff: int,
        *,
        dropout: float = 0.0,
        norm_first: bool = False,
        attend: Attend = scaled_dot_product_attention,
    ) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(d_model, n_heads, attend=attend)
        self.cross_attention = MultiHeadAttention(d_model, n_heads, attend=attend)
        self.feed_forward = FeedForward(d_model, d_ff, dropout)
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.norm3 = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)
        self.norm_first = norm_first

    def forward(
        self,
        x: Tensor,
        z: Tensor,
        mask: Tensor | None = None,
        z_mask: Tensor | None = None,
        cache: tuple[KVCache, KVCache] | None = None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Attend to the target, then to the source, then transform each row separately."""
        own_cache, z_cache = cache or (None, None)
        if z_cache is not None:
            self._check_source(x, z, z_mask, z_cache)
            z_cache.source = z
            z = z[..., z_cache.length :, :]  # z is cached in the first step
        if self.norm_first:
            seen, weights = self.attention(self.norm1(x), mask=mask, cache=own_cache)
            x = x + self.dropout(seen)
            found, z_weights = self.cross_attention(self.norm2(x), z, mask=z_mask, cache=z_cache)
            x = x + self.dropout(found)
            return x + self.dropout(self.feed_forward(self.norm3(x))), weights, z_weights
        seen, weights = self.attention(x, mask=mask, cache=own_cache)
        x = self.norm1(x + self.dropout(seen))
        found, z_weights = self.cross_attention(x, z, mask=z_mask, cache=z_cache)
        x = self.norm2(x + self.dropout(found))
        return self.norm3(x + self.dropout(self.feed_forward(x))), weights, z_weights

    def _check_source(self, x: Tensor, z: Tensor, z_mask: Tensor | None, z_cache: KVCache) -> None:
        """Raise here if z or its mask does not fit, before self-attention stores the new rows."""
        check_width("z", z, self.cross_attention.d_context, "d_model")
        check_sequences(x=x, z=z)
        check_source(z, z_cache.source, z_cache.length)
        insert_head_axis(z_mask, x, z, self.cross_attention.n_heads)

    @classmethod
    def from_torch(cls, other: nn.TransformerDecoderLayer) -> Self:
        """Build a layer with a copy of PyTorch's parameters, as in EncoderLayer."""
        sizes = layer_sizes(other, nn.TransformerDecoderLayer)
        layer = cls(*sizes, dropout=other.dropout.p, norm_first=other.norm_first)
        layer.attention = MultiHeadAttention.from_torch(other.self_attn)
        layer.cross_attention = MultiHeadAttention.from_torch(other.multihead_attn)
        copy_feed_forward_and_norms(layer, other, ("norm1", "norm2", "norm3"))
        return layer
