"""What a config.json says: nothing is dropped, and the cache is as large as in transformers."""

import json
import re
from pathlib import Path

import pytest
import torch
import transformers

from attnbook import read_config
from attnbook.models.config_cache import kept_windows
from attnbook.models.config_fields import OUTSIDE, parts
from attnbook.models.published import published_configs
from manuscript.common import ROOT
from tools.configurations import CLASSES, collected

PUBLISHED = published_configs()
LONG = 2**17


def test_the_published_configurations_are_the_defaults_of_the_classes_and_kimis_layers():
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
    windowed = full | {"sliding_window": 10, "model_type": "mistral"}
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


# Fields of published files, reduced to those about the cache, with its size in GiB (None: not said)
KIMI = PUBLISHED["kimi_linear"]["linear_attn_config"]
SIZES = "num_hidden_layers num_attention_heads num_key_value_heads head_dim hidden_size".split()


def sized(model_type: str, *numbers: int) -> dict:
    return {"model_type": model_type} | dict(zip(SIZES, numbers, strict=True))


SCOUT = sized("llama4_text", 48, 40, 8, 128, 5120) | {"attention_chunk_size": 8192}
GEMMA = sized("gemma3_text", 48, 16, 8, 256, 3840) | {"sliding_window": 1024}
QWEN = sized("qwen2", 28, 28, 4, 128, 3584) | {"sliding_window": 4096, "max_window_layers": 21}
NEMOTRON = "M-M-M-MM-M-M-M*-M-M-M*-M-M-M-M*-M-M-M-M*-M-MM-M-M-M-M-M-"


@pytest.mark.parametrize(
    ("fields", "gib"),
    [
        (sized("kimi_linear", 27, 32, 32, 72, 2304)
         | {"kv_lora_rank": 512, "qk_rope_head_dim": 64, "linear_attn_config": KIMI}, 0.98),
        (sized("nemotron_h", 56, 40, 8, 128, 4480)
         | {"hybrid_override_pattern": NEMOTRON, "mamba_head_dim": 80, "chunk_size": 128}, 2),
        (sized("nemotron_h", 3, 40, 8, 128, 4480) | {"hybrid_override_pattern": "M*?"}, None),
        (sized("gemma2", 26, 8, 4, 256, 2304)
         | {"sliding_window": 4096, "cache_implementation": "hybrid"}, 6.70),
        (GEMMA, 8.31),
        (GEMMA | {"sliding_window_pattern": 6, "model_type": "new"}, 8.31),
        (GEMMA | {"sliding_window_pattern": "LLLG"}, None),
        (GEMMA | {"model_type": "new"}, None),  # a window, but in which layers?
        (SCOUT | {"no_rope_layers": [1, 1, 1, 0] * 12}, 7.12),
        (SCOUT | {"no_rope_layers": []}, None),
        (SCOUT, None),
        (QWEN | {"use_sliding_window": False}, 7),
        (QWEN | {"use_sliding_window": True}, None),
        (sized("new", 32, 32, 8, 128, 4096), 16),
        (sized("new", 32, 32, 8, 128, 4096) | {"attn_layer_period": 8}, None),
        (sized("new", 32, 32, 8, 128, 4096) | {"attn_config": {"sliding_window_size": 9}}, None),
        (sized("new", 32, 32, 8, 128, 4096) | {"num_kv_shared_layers": 15}, None),
        (sized("new", 32, 32, 8, 128, 4096) | {"linear_num_value_heads": 15}, None),
        (sized("new", 32, 32, 8, 128, 4096) | {"quantization_config": {"block_size": 9}}, 16),
    ],
)  # fmt: skip
def test_the_cache_of_published_files_is_right_or_not_said(fields, gib):
    size = read_config(fields).cache_bytes(LONG)
    assert (size and round(size / 2**30, 2)) == gib


TYPES = (
    "gemma2 gemma3_text cohere2 llama4_text qwen2 qwen3_next qwen3_5_text exaone4 lfm2 olmo3 "
    "minimax granitemoehybrid mistral phi3 starcoder2 gemma3n_text modernbert-decoder mimo_v2_flash"
).split()


@pytest.mark.parametrize("model", TYPES)
def test_without_layer_types_the_layers_are_those_of_transformers_or_not_said(model):
    config = transformers.AutoConfig.for_model(model)
    fields = json.loads(config.to_json_string(use_diff=False))
    fields.pop("layer_types", None)
    theirs = [
        getattr(layer, "sliding_window", None)
        for layer in transformers.DynamicCache(config=config).layers
        if hasattr(layer, "keys")
    ]
    read = read_config(fields)
    if read.cache_bytes(LONG) is not None:
        assert kept_windows(read.fields) == theirs
