"""The size of a model's KV cache, from the fields of its config.json."""

from collections.abc import Mapping
from typing import Any

BYTES = 2  # of a number, in the 16-bit formats of most large models

# Kinds of layers in `layer_types`, with the field that says how many words they keep keys for.
# Layers of any other kind are not known to us. (A state of fixed size, as in linear attention, does
# not grow with the text and is not counted.)
ALL, NONE = "", "none"
KINDS = {
    "full_attention": ALL,
    "indexed_attention": ALL,
    "sliding_attention": "sliding_window",
    "chunked_attention": "attention_chunk_size",
    "linear_attention": NONE,
}


def cache_bytes(fields: Mapping[str, Any], n_words: int) -> int | None:
    """The bytes of the cache of one text, or None if the fields do not determine them."""
    per_word, windows = numbers_per_word(fields), kept_windows(fields)
    if per_word is None or windows is None:
        return None
    kept = sum(n_words if window is None else min(n_words, window) for window in windows)
    return BYTES * per_word * kept


def numbers_per_word(fields: Mapping[str, Any]) -> int | None:
    """How many numbers one layer keeps for one word: keys and values, or a latent."""
    indexer = fields.get("index_head_dim", 0)  # an indexer has one key of its own
    if "kv_lora_rank" in fields:
        return int(fields["kv_lora_rank"] + fields.get("qk_rope_head_dim", 0) + indexer)
    n_heads = first_of(fields, "num_attention_heads n_head")
    width = first_of(fields, "hidden_size n_embd")
    if n_heads is None or width is None:
        return None
    shared = fields.get("multi_query") and not fields.get("new_decoder_architecture")
    key_heads = 1 if shared else first_of(fields, "num_key_value_heads num_kv_heads") or n_heads
    d_k = fields.get("head_dim") or width // n_heads
    return int(key_heads * (d_k + fields.get("v_head_dim", d_k)) + indexer)


def kept_windows(fields: Mapping[str, Any]) -> list[int | None] | None:
    """For each layer that keeps keys, how many words it keeps them for; None means all."""
    n_layers = first_of(fields, "num_hidden_layers n_layer")
    kinds = layer_kinds(fields)
    if n_layers is None:
        return None
    if kinds is None:
        window = fields.get("sliding_window") if fields.get("use_sliding_window", True) else None
        return [window] * n_layers
    if not {*kinds} <= {*KINDS}:
        return None
    return [fields.get(KINDS[kind]) for kind in kinds if KINDS[kind] != NONE]


def layer_kinds(fields: Mapping[str, Any]) -> list[str] | None:
    """The kind of each layer, or None if the configuration makes no difference between layers."""
    if "layer_types" in fields:
        return list(fields["layer_types"])
    patterns = {
        "full_attention_interval": "linear_attention",
        "sliding_window_pattern": "sliding_attention",
    }
    for name, other in patterns.items():
        if every := fields.get(name):
            n_layers = first_of(fields, "num_hidden_layers n_layer") or 0
            return [other if (i + 1) % every else "full_attention" for i in range(n_layers)]
    return None


def first_of(fields: Mapping[str, Any], names: str) -> Any:
    """The value of the first of these fields that is there, or None."""
    return next((fields[name] for name in names.split() if name in fields), None)
