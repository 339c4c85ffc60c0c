"""The attention book's library: one definition per idea, from the dot product upwards."""

from attnbook.attention import scaled_dot_product_attention, softmax
from attnbook.blocked import blocked_attention
from attnbook.chunked import chunked_attention
from attnbook.decoding import beam_search, greedy_decode
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
    "bigbird_mask",
    "block_mask",
    "blocked_attention",
    "causal_mask",
    "chunked_attention",
    "combine_masks",
    "device",
    "fused_attention",
    "greedy_decode",
    "linear_attention",
    "longformer_mask",
    "merge_heads",
    "padding_mask",
    "rotation_matrix",
    "scaled_dot_product_attention",
    "show",
    "show_source",
    "sink_mask",
    "sinusoidal_encoding",
    "sliding_window_mask",
    "softmax",
    "split_heads",
    "window_attention",
]
