"""What a config.json says: nothing is dropped, and the cache is as large as in transformers."""

import json
import re
from pathlib import Path

import pytest
import torch
import transformers

from attnbook import read_config
from attnbook.models.config_fields import OUTSIDE, parts
from attnbook.models.published import published_configs
from manuscript.common import ROOT
from tools.configurations import CLASSES, collected

PUBLISHED = published_configs()
LONG = 2**17


def test_the_published_configurations_are_the_defaults_of_the_classes():
    assert collected() == PUBLISHED
    assert len(PUBLISHED) == len(CLASSES) == 12


# --- the rows ------------------------------------------------------------------------------------


def leaves(config: dict) -> list[tuple[str, object]]:
    """Every field that has a value, with the names that nested ones have in a config.json."""
    found = []
    for name, value in config.items():
        if isinstance(value, dict) and name.startswith(("rope_", "full_", "sliding_")):
            found += leaves(value)
        elif value is not None:
            found.append((name, value))
    return found


@pytest.mark.parametrize("model", PUBLISHED)
def test_no_field_is_dropped_and_each_is_in_one_row(model):
    config, read = PUBLISHED[model], read_config(PUBLISHED[model])
    texts = [row.text for row in read.rows]
    for name, _ in leaves(config):
        assert sum(bool(re.search(rf"(^|[ .]){name}\b", text)) for text in texts) >= 1, name
    assert len(read.fields) == len(leaves(config))
    for name in read.unknown:
        assert any(row.about == "unknown" and row.text.startswith(name) for row in read.rows)


def test_every_field_belongs_to_one_part():
    names = [name for _, _, names in parts() for name in names.split()]
    assert len(names) == len(set(names)) > 90
    assert [name for name in names if re.search(OUTSIDE, name)] == []


def test_each_part_names_a_section_of_the_book():
    headings = set()
    for page in (ROOT / "book").glob("[01]*.ipynb"):
        for cell in json.loads(page.read_text("utf-8"))["cells"]:
            headings |= set(re.findall(r"^## (\d+\.\d+) ", "".join(cell["source"]), re.M))
    assert {section for _, section, _ in parts()} <= headings


def test_a_new_field_is_shown_as_unknown():
    read = read_config(
        {"num_hidden_layers": 2, "quantum_heads": 3, "quantization_config": {"b": 4}}
    )
    assert read.unknown == ("quantum_heads", "quantization_config")
    assert "unknown" in str(read)
    assert 'quantization_config {"b":4}' in str(read)
    assert str(read) == repr(read)


def test_a_model_that_also_sees_has_its_fields_in_text_config():
    read = read_config({"text_config": PUBLISHED["gemma3_text"], "vision_config": {"patches": 16}})
    assert read.cache_bytes(9) == read_config(PUBLISHED["gemma3_text"]).cache_bytes(9)
    assert "vision_config" in read.unknown


def test_a_path_and_a_dict_are_read_alike(tmp_path: Path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps(PUBLISHED["gpt_oss"]))
    assert read_config(path) == read_config(str(path)) == read_config(PUBLISHED["gpt_oss"])


@pytest.mark.parametrize(
    ("text", "message"), [("{", "is not JSON"), ("[1]", "contains a list: a config.json is one")]
)
def test_a_file_of_another_form_is_refused(tmp_path, text, message):
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(ValueError, match=message):
        read_config(tmp_path / "config.json")
    with pytest.raises(TypeError, match="must be a path or a dict, got int"):
        read_config(3)


# --- the cache -----------------------------------------------------------------------------------

SMALL = {
    "vocab_size": 50,
    "num_hidden_layers": 5,
    "n_layer": 5,
    "hidden_size": 48,
    "n_embd": 48,
    "intermediate_size": 16,
    "moe_intermediate_size": 16,
    "num_attention_heads": 4,
    "n_head": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "kv_lora_rank": 10,
    "q_lora_rank": 6,
    "qk_nope_head_dim": 4,
    "qk_rope_head_dim": 6,
    "v_head_dim": 4,
    "index_n_heads": 2,
    "index_head_dim": 12,
    "index_topk": 4,
    "num_experts": 4,
    "n_routed_experts": 4,
    "num_local_experts": 4,
    "num_experts_per_tok": 1,
    "n_group": 1,
    "topk_group": 1,
    "sliding_window": 8,
}


@torch.no_grad()
@pytest.mark.on_cpu  # transformers calls kernels that have no fixed order on a GPU
@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.parametrize("n_words", [1, 7])
def test_the_cache_is_as_large_as_that_of_transformers(name, n_words):
    kind, small = getattr(transformers, name), SMALL | {"pad_token_id": 0}
    default = kind()
    if getattr(default, "kv_lora_rank", None):  # these classes make a key head for each query head
        small |= {"num_key_value_heads": 4, "head_dim": 6}
    theirs = {*default.to_dict()} | {*kind.attribute_map}
    changed = {k for k in theirs & {*small} if getattr(default, k) is not None}
    config = kind(**{k: small[k] for k in changed | {"pad_token_id"}})
    config._attn_implementation = "eager"
    model = transformers.AutoModel.from_config(config).eval()
    cache = model(torch.arange(n_words)[None], use_cache=True).past_key_values
    kept = [layer for layer in cache.layers if getattr(layer, "keys", None) is not None]
    numbers = sum(
        tensor.numel()
        for layer in kept
        for tensor in vars(layer).values()
        if isinstance(tensor, torch.Tensor) and tensor.is_floating_point()
    )
    assert read_config(json.loads(config.to_json_string(use_diff=False))).cache_bytes(n_words) == (
        2 * numbers
    )


def test_windows_bound_the_cache():
    full, windowed = ({"num_hidden_layers": 6, "hidden_size": 32, "num_attention_heads": 4},) * 2
    windowed = full | {"sliding_window": 10}
    per_word = 2 * 2 * 6 * 32  # two bytes, keys and values
    assert read_config(full).cache_bytes(100) == 100 * per_word
    assert read_config(windowed).cache_bytes(100) == 10 * per_word
    assert read_config(windowed | {"use_sliding_window": False}).cache_bytes(100) == 100 * per_word
    some = windowed | {"sliding_window_pattern": 3}  # two of six layers keep everything
    assert read_config(some).cache_bytes(100) == (2 * 100 + 4 * 10) * per_word / 6
    some = full | {"full_attention_interval": 3}
    assert read_config(some).cache_bytes(100) == 2 * 100 * per_word / 6


def test_what_the_fields_do_not_say_is_not_guessed():
    sizes = {"num_hidden_layers": 2, "hidden_size": 32, "num_attention_heads": 4}
    for missing in sizes:
        read = read_config({name: size for name, size in sizes.items() if name != missing})
        assert read.cache_bytes(LONG) is None
        assert "these fields do not say" in str(read)
    assert read_config(sizes | {"layer_types": ["full_attention", "new"]}).cache_bytes(1) is None
