"""The attention book's library: one definition per idea, from the dot product upwards."""

from attnbook.attention import scaled_dot_product_attention, softmax
from attnbook.decoding import beam_search, greedy_decode
from attnbook.heads import MultiHeadAttention, SelfAttention, merge_heads, split_heads
from attnbook.masks import causal_mask, combine_masks, padding_mask
from attnbook.modern import GroupedQueryAttention, KVCache, alibi_bias, apply_rotary, sink_mask
from attnbook.positions import (
    LearnedPositions,
    ShawAttention,
    SinusoidalPositions,
    TransformerXLAttention,
    rotation_matrix,
    sinusoidal_encoding,
)
from attnbook.show import device, show, show_source
from attnbook.transformer import (
    Decoder,
    DecoderLayer,
    Encoder,
    EncoderLayer,
    FeedForward,
    Transformer,
)

__all__ = [
    "Decoder",
    "DecoderLayer",
    "Encoder",
    "EncoderLayer",
    "FeedForward",
    "GroupedQueryAttention",
    "KVCache",
    "LearnedPositions",
    "MultiHeadAttention",
    "SelfAttention",
    "ShawAttention",
    "SinusoidalPositions",
    "Transformer",
    "TransformerXLAttention",
    "alibi_bias",
    "apply_rotary",
    "beam_search",
    "causal_mask",
    "combine_masks",
    "device",
    "greedy_decode",
    "merge_heads",
    "padding_mask",
    "rotation_matrix",
    "scaled_dot_product_attention",
    "show",
    "show_source",
    "sink_mask",
    "sinusoidal_encoding",
    "softmax",
    "split_heads",
]
