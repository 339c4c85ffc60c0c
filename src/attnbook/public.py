"""The names that readers import from `attnbook` itself."""

from attnbook.attention.heads import SelfAttention, merge_heads, split_heads
from attnbook.attention.interventions import head_outputs
from attnbook.attention.kv_cache import KVCache
from attnbook.attention.masks import causal_mask, combine_masks, padding_mask
from attnbook.attention.multi_head import MultiHeadAttention
from attnbook.attention.scaled_dot_product import scaled_dot_product_attention, softmax
from attnbook.attention.sparse_masks import (
    bigbird_mask,
    block_mask,
    longformer_mask,
    sink_mask,
    sliding_window_mask,
)
from attnbook.efficient.blocked import blocked_attention
from attnbook.efficient.chunked import chunked_attention
from attnbook.efficient.delta import delta_rule
from attnbook.efficient.fused import fused_attention
from attnbook.efficient.linear import linear_attention
from attnbook.efficient.window import window_attention
from attnbook.examination.examine import examine
from attnbook.models.beam_search import beam_search
from attnbook.models.decoding import greedy_decode
from attnbook.models.feed_forward import FeedForward, GatedFeedForward
from attnbook.models.grouped_query import GroupedQueryAttention
from attnbook.models.language_model import LanguageModel
from attnbook.models.latent import LatentAttention
from attnbook.models.layers import DecoderLayer, EncoderLayer
from attnbook.models.read_config import read_config
from attnbook.models.sampling import keep_top_k, keep_top_p, sample
from attnbook.models.stacks import Decoder, Encoder
from attnbook.models.transformer import Transformer
from attnbook.notebook.show import device, show, show_source
from attnbook.positions.absolute import (
    LearnedPositions,
    SinusoidalPositions,
    rotation_matrix,
    sinusoidal_encoding,
)
from attnbook.positions.alibi import alibi_bias
from attnbook.positions.relative import ShawAttention, TransformerXLAttention
from attnbook.positions.rotary import Rotary, RotaryScaling, apply_rotary

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
    "LatentAttention",
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
    "delta_rule",
    "device",
    "examine",
    "fused_attention",
    "greedy_decode",
    "head_outputs",
    "keep_top_k",
    "keep_top_p",
    "linear_attention",
    "longformer_mask",
    "merge_heads",
    "padding_mask",
    "read_config",
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
