"""A model's config.json, pasted into the page and read there: the same table as read_config's."""

import json
from typing import Any

from attnbook.language import _
from attnbook.models import config_cache
from attnbook.models.config_cache import BYTES, KINDS
from attnbook.models.config_fields import OUTSIDE, parts
from attnbook.models.published import published_configs
from attnbook.models.read_config import WORDS, read_config
from attnbook.widgets.element import show_element

__all__ = ["explore_configs"]

# Which layers keep keys, and how many numbers: the library's rules, as the script uses them.
RULES = "kinds windowed marks neither which size state".split()

# What the examples contain: fields about attention and size, in the order in which they are shown.
EXAMPLE_FIELDS = (
    "model_type num_hidden_layers n_layer hidden_size n_embd max_position_embeddings "
    "num_attention_heads n_head num_key_value_heads num_kv_heads multi_query head_dim kv_lora_rank "
    "q_lora_rank qk_nope_head_dim qk_rope_head_dim v_head_dim index_topk index_n_heads "
    "index_head_dim layer_types sliding_window no_rope_layers rope_parameters num_experts "
    "num_local_experts n_routed_experts num_experts_per_tok tie_word_embeddings"
).split()


def explore_configs(first: str) -> None:
    """Let the reader paste a config.json, or pick a published one, and see what it says.

    The page reads it without sending it anywhere. The table for programs without scripts compares
    the published configurations.

    first: the type of the model that is shown first, one of published_configs()
    """
    configs = published_configs()
    if first not in configs:
        raise ValueError(f"first={first!r} is not one of {', '.join(configs)}")
    data = {
        "parts": parts(),
        "outside": OUTSIDE,
        "rules": {name: getattr(config_cache, name.upper()) for name in RULES},
        "bytes": BYTES,
        "sizes": [1, WORDS],
        "names": " ".join(EXAMPLE_FIELDS),
        "examples": {name: packed(config) for name, config in configs.items()},
        "first": first,
        "words": {
            "name": _("A model's config.json: paste one and read it"),
            "try": _(
                "Pick a model, or paste a config.json. Nothing that you paste leaves the page."
            ),
            "model": _("model"),
            "yours": _("yours"),
            "paste": _("config.json"),
            "head": [_("about"), _("section"), _("in config.json")],
            "cache": [_("cache of 1 word, in bytes"), _("cache of 131,072 words, in bytes")],
            "silent": _("these fields do not say"),
            "unknown": _("unknown"),
            "outside": _("not about attention"),
            "said": _(
                "{rows} things found, {unknown} unknown fields. "
                "Cache of 131,072 words, in bytes: {size}."
            ),
            "comma": _(", "),
            "broken": _("This is not a JSON object: {error}"),
        },
    }
    head = [_("model"), _("layers"), _("query heads"), _("key heads or latent"), _("cache, MiB")]
    show_element("attn-config", data, head, [row(name, configs[name]) for name in configs])


def packed(config: dict[str, Any]) -> str:
    """The values of the example's fields, with nothing where a field is missing.

    A list becomes the digits of its entries; those of layer_types count in the order of KINDS.
    """

    def text(name: str) -> str:
        value = config.get(name)
        if isinstance(value, list):
            kinds = [*KINDS]
            return "".join(str(kinds.index(x) if x in kinds else x) for x in value)
        return "" if value is None else json.dumps(value, separators=(",", ":"))

    return "|".join(text(name) for name in EXAMPLE_FIELDS)


def row(name: str, config: dict[str, Any]) -> list[str]:
    """One line of the table: layers, heads, what is kept for a word, the cache of a long text."""
    found = read_config(config)
    heads = config.get("num_attention_heads", config.get("n_head"))
    key_heads = config.get("num_key_value_heads", config.get("num_kv_heads", heads))
    kept = 1 if config.get("multi_query") else key_heads
    if "kv_lora_rank" in config:
        kept = f"{config['kv_lora_rank']} + {config['qk_rope_head_dim']}"
    size = found.cache_bytes(WORDS) or 0
    layers = config.get("num_hidden_layers", config.get("n_layer"))
    return [name, f"{layers}", f"{heads}", f"{kept}", f"{size / 2**20:,.0f}"]
