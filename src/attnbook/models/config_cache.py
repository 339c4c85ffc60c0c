"""The size of a model's KV cache, from the fields of its config.json."""

import re
from collections.abc import Mapping
from typing import Any

from attnbook.models.config_fields import unknown_fields

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

# Where a file names a window, but no layers, the model's code decides which layers have it. Here
# are some types of models: 0 means all layers, and n all but each n-th.
WINDOWED = {"gemma2": 2, "gemma3_text": 6, "mistral": 0, "mixtral": 0, "phi3": 0}

# The layers of Nemotron-H: attention, Mamba, feed-forward network, experts.
MARKS = {"*": "full_attention"} | dict.fromkeys("M-E", "linear_attention")

# If a field that we don't know has such a name, it may decide which layers keep keys, or how many
# numbers they keep. Then there is no size. The figure's script uses these patterns as well.
NEITHER = "expert|moe|mlp|ffn|norm|drop|quant|scale|vision|image|audio|rope|token"
WHICH = (
    "layer|pattern|window|chunk|block|hybrid|local|global|period|interval|every|idx|"
    "attn_type|attention_type|linear|mamba|ssm|conv|recurrent|sparse"
)
SIZE = "cache|share|cla_|kv|key_value|heads|head_dim|latent|compress"
STATE = "linear|mamba|ssm|conv"  # the sizes of layers that have a state and no cache


def cache_bytes(fields: Mapping[str, Any], n_words: int) -> int | None:
    """The bytes of the cache of one text, or None if the fields do not determine them."""
    per_word, windows = numbers_per_word(fields), kept_windows(fields)
    if per_word is None or windows is None:
        return None
    kept = sum(n_words if window is None else min(n_words, window) for window in windows)
    return BYTES * per_word * kept


def numbers_per_word(fields: Mapping[str, Any]) -> int | None:
    """How many numbers one layer keeps for one word: keys and values, or a latent."""
    if has_unread(fields, SIZE, f"{NEITHER}|{STATE}"):
        return None
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
    kinds = layer_kinds(fields)
    if kinds is None or not {*kinds} <= {*KINDS}:
        return None
    return [fields.get(KINDS[kind]) for kind in kinds if KINDS[kind] != NONE]


def layer_kinds(fields: Mapping[str, Any]) -> list[str] | None:
    """The kind of each layer, or None if the fields do not determine it."""
    n_layers = first_of(fields, "num_hidden_layers n_layer")
    if n_layers is None:
        return None
    if "layer_types" in fields:
        return list(fields["layer_types"])
    if marks := fields.get("hybrid_override_pattern"):
        return [MARKS.get(mark, mark) for mark in marks]
    if layers := fields.get("linear_attn_config", {}).get("full_attn_layers"):  # counted from 1
        return [
            "full_attention" if i + 1 in layers else "linear_attention" for i in range(n_layers)
        ]
    if has_unread(fields, WHICH, NEITHER) or "linear_attn_config" in fields:
        return None
    if "attention_chunk_size" in fields:  # in the layers with rotary positions, marked 1
        rotary = fields.get("no_rope_layers") or []
        kinds = ["chunked_attention" if one else "full_attention" for one in rotary]
        return kinds if len(kinds) == n_layers else None
    return regular_kinds(fields, n_layers)


def regular_kinds(fields: Mapping[str, Any], n_layers: int) -> list[str] | None:
    """All layers of one kind, or all but each n-th; None if it is not known which."""
    other, every = "sliding_attention", fields.get("sliding_window_pattern")
    if any(re.search("^linear_|^full_attention_interval$", name) for name in fields):
        other, every = "linear_attention", fields.get("full_attention_interval")
    elif not fields.get("use_sliding_window", True) or not fields.get("sliding_window"):
        every = 1
    elif every is None and "max_window_layers" not in fields:
        every = WINDOWED.get(fields.get("model_type", ""))
    if not isinstance(every, int):
        return None
    return [other if not every or (i + 1) % every else "full_attention" for i in range(n_layers)]


def has_unread(fields: Mapping[str, Any], which: str, neither: str) -> bool:
    """Whether a field that the book does not explain has such a name, also within a nested one."""
    names = [n for name in unknown_fields(fields) for n in nested_names(name, fields[name])]
    return any(re.search(which, n) and not re.search(neither, n) for n in names)


def nested_names(name: str, value: Any) -> list[str]:
    """The name of a field, and of all fields in its value, joined by dots."""
    inner = value.items() if isinstance(value, Mapping) else ()
    return [name, *(n for key, one in inner for n in nested_names(f"{name}.{key}", one))]


def first_of(fields: Mapping[str, Any], names: str) -> Any:
    """The value of the first of these fields that is there, or None."""
    return next((fields[name] for name in names.split() if name in fields), None)
