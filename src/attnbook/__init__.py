"""The attention book's library: one definition per idea, from the dot product upwards."""

from attnbook.attention import scaled_dot_product_attention, softmax
from attnbook.blocked import blocked_attention
from attnbook.chunked import chunked_attention
from attnbook.efficient import fused_attention, linear_attention, window_attention
from attnbook.heads import MultiHeadAttention, SelfAttention, merge_heads, split_heads
from attnbook.masks import (
    bigbird_mask,
    block_mask,
    causal_mask,
    combine_masks,
    longformer_mask,
    padding_mask,
    sliding_window_mask,
)
from attnbook.positions import (
    LearnedPositions,
    ShawAttention,
    SinusoidalPositions,
    TransformerXLAttention,
    rotation_matrix,
    sinusoidal_encoding,
)
from attnbook.show import device, show, show_source

__all__ = [
    "LearnedPositions",
    "MultiHeadAttention",
    "SelfAttention",
    "ShawAttention",
    "SinusoidalPositions",
    "TransformerXLAttention",
    "bigbird_mask",
    "block_mask",
    "blocked_attention",
    "causal_mask",
    "chunked_attention",
    "combine_masks",
    "device",
    "fused_attention",
    "linear_attention",
    "longformer_mask",
    "merge_heads",
    "padding_mask",
    "rotation_matrix",
    "scaled_dot_product_attention",
    "show",
    "show_source",
    "sinusoidal_encoding",
    "sliding_window_mask",
    "softmax",
    "split_heads",
    "window_attention",
]
