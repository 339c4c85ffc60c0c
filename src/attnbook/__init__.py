"""The attention book's library: one definition per idea, from the dot product upward."""

from attnbook.alibi import alibi_bias
from attnbook.attention import scaled_dot_product_attention, softmax
from attnbook.blocked import blocked_attention
from attnbook.cache import KVCache
from attnbook.chunked import chunked_attention
from attnbook.decoding import beam_search, greedy_decode
from attnbook.efficient import fused_attention, window_attention
from attnbook.grouped_query import GroupedQueryAttention
from attnbook.heads import SelfAttention, merge_heads, split_heads
from attnbook.interventions import head_outputs
from attnbook.language_model import GatedFeedForward, LanguageModel
from attnbook.layers import DecoderLayer, EncoderLayer, FeedForward
from attnbook.linear import linear_attention
from attnbook.masks import (
    bigbird_mask,
    block_mask,
    causal_mask,
    combine_masks,
    longformer_mask,
    padding_mask,
    sink_mask,
    sliding_window_mask,
)
from attnbook.multi_head import MultiHeadAttention
from attnbook.positions import (
    LearnedPositions,
    SinusoidalPositions,
    rotation_matrix,
    sinusoidal_encoding,
)
from attnbook.relative import ShawAttention, TransformerXLAttention
from attnbook.rotary import Rotary, RotaryScaling, apply_rotary
from attnbook.sampling import keep_top_k, keep_top_p, sample
from attnbook.show import device, show, show_source
from attnbook.transformer import Decoder, Encoder, Transformer

__all__ = [
    "Decoder",
    "DecoderLayer",
    "Encoder",
    "EncoderLayer",
    "FeedForward",
    "GatedFeedForward",
    "GroupedQueryAttention",
    "KVCache",
    "LanguageModel",
    "LearnedPositions",
    "MultiHeadAttention",
    "Rotary",
    "RotaryScaling",
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
    "head_outputs",
    "keep_top_k",
    "keep_top_p",
    "linear_attention",
    "longformer_mask",
    "merge_heads",
    "padding_mask",
    "rotation_matrix",
    "sample",
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
