"""The attention book's library: one definition per idea, from the dot product upwards."""

from attnbook.attention import scaled_dot_product_attention, softmax
from attnbook.heads import MultiHeadAttention, SelfAttention, merge_heads, split_heads
from attnbook.masks import causal_mask, combine_masks, padding_mask
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
    "causal_mask",
    "combine_masks",
    "device",
    "merge_heads",
    "padding_mask",
    "rotation_matrix",
    "scaled_dot_product_attention",
    "show",
    "show_source",
    "sinusoidal_encoding",
    "softmax",
    "split_heads",
]
