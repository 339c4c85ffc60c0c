"""Chapter 11: what its text claims beyond what its cells print."""

import inspect
import itertools
import re
from typing import Any

import pytest
import torch
from torch import nn
from transformers import (
    DeepseekV2Config,
    DeepseekV32Config,
    FalconConfig,
    Gemma3TextConfig,
    GPT2Config,
    GptOssConfig,
    KimiLinearConfig,
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MixtralConfig,
    MixtralForCausalLM,
    Qwen3NextConfig,
)
from transformers.models.gemma3 import modeling_gemma3
from transformers.models.kimi_linear import modeling_kimi_linear
from transformers.models.llama import modeling_llama
from transformers.models.mixtral import modeling_mixtral
from transformers.models.qwen3 import modeling_qwen3

from attnbook import GroupedQueryAttention
from attnbook.exercises.catalog import ALL
from tests.support.chapters import Chapter

chapter = Chapter("11_modern_attention.ipynb")


def percentages(name: str) -> list[list[int]]:
    """Return the percentages in each line that a cell prints."""
    lines = "".join(chapter.cells[name]["outputs"][0]["text"]).splitlines()
    return [[int(number) for number in re.findall(r"(\d+)%", line)] for line in lines]


# --- the cache and its size --------------------------------------------------------------------


@pytest.mark.parametrize("width", [64, 512, 4096])
@pytest.mark.parametrize("seen", [0.5, 1])  # of the table of scores, if a kernel skips the rest
def test_over_1000_words_a_cache_divides_the_multiplications_by_several_hundred(width, seen):
    def saved(n: int) -> float:
        slow = sum(4 * t * width**2 + 2 * seen * t * t * width for t in range(1, n + 1))
        return slow / sum(4 * width**2 + 2 * t * width for t in range(1, n + 1))

    assert 300 < saved(1000) < 700
    assert saved(4000) > 3 * saved(1000)
    assert "Over 1,000 words" in chapter.source("cache-seen")
    assert "In time the cache saves less" in chapter.source("cache-seen")
    assert "by several hundred, and over longer texts by more" in chapter.source("cache-seen")


def test_seven_caches_are_more_than_half_of_what_a_step_reads():
    n_layers, _, key_heads, width = chapter.run("weight-models")["sizes"]["Llama 2 7B"]
    cache = 4096 * 2 * n_layers * key_heads * width * 2
    assert 6 * cache < 2 * 6.74e9 < 7 * cache
    text = chapter.source("weight-read")
    assert "seven texts" in text
    assert "with long texts a step is slow" in text


def test_a_quarter_of_the_key_heads_have_a_quarter_of_the_parameters():
    with torch.device("meta"):
        layer = GroupedQueryAttention(4096, 32, 8)
    sizes = {name: part.weight.numel() for name, part in layer.named_children() if "w_" in name}
    assert sizes["w_q"] == sizes["w_o"] == 4 * sizes["w_k"] == 4 * sizes["w_v"]
    assert "makes keys, values and their matrices smaller" in chapter.source("grouped-ends")


# --- published models --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "config"),
    [
        ("GPT-2 small", GPT2Config()),
        ("Llama 2 7B", LlamaConfig()),
        ("Mistral 7B", MistralConfig()),
        ("Falcon 7B", FalconConfig()),
    ],
)
def test_the_sizes_of_models_are_those_of_their_configurations(model, config):
    sizes = chapter.run("weight-models")["sizes"]
    n_keys = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    n_keys = 1 if getattr(config, "multi_query", False) else n_keys
    width = config.hidden_size // config.num_attention_heads
    theirs = (config.num_hidden_layers, config.num_attention_heads, n_keys, width)
    assert sizes[model] == theirs


def test_deepseek_keeps_as_many_numbers_as_the_chapter_says():
    config = DeepseekV2Config()
    assert f"d_c, d_rotary = 60, 128, {config.kv_lora_rank}, {config.qk_rope_head_dim}" in (
        chapter.source("latent-size")
    )


@pytest.mark.parametrize(
    ("config", "kind", "period", "others"),
    [
        (GptOssConfig(), "full_attention", 2, "sliding_attention"),
        (Gemma3TextConfig(), "full_attention", 6, "sliding_attention"),
        (Qwen3NextConfig(), "full_attention", 4, "linear_attention"),
        (KimiLinearConfig(), "full_attention", 4, "linear_attention"),
    ],
)
def test_local_or_linear_layers_come_between_full_ones_as_the_chapters_say(
    config, kind, period, others
):
    full = [i for i, name in enumerate(config.layer_types) if name == kind]
    assert {after - before for before, after in itertools.pairwise(full)} == {period}
    assert set(config.layer_types) == {kind, others}


def test_qwen3_next_rotates_some_columns_in_some_layers_and_kimi_linear_none():
    config = Qwen3NextConfig()
    full = config.layer_types.count("full_attention")
    assert (full, config.num_hidden_layers) == (12, 48)
    assert config.rope_parameters["partial_rotary_factor"] == 0.25
    sources = [inspect.getsource(model) for model in (modeling_llama, modeling_kimi_linear)]
    assert ["apply_rotary_pos_emb(" in source for source in sources] == [True, False]


@pytest.mark.parametrize(
    ("config", "experts", "name"),
    [
        (GptOssConfig(), "num_local_experts", "gpt-oss"),
        (Qwen3NextConfig(), "num_experts", "Qwen3-Next"),
        (DeepseekV2Config(), "n_routed_experts", "DeepSeek-V2"),
        (MixtralConfig(), "num_local_experts", "Mixtral"),
    ],
)
def test_models_whose_layers_have_many_experts(config, experts, name):
    (row,) = re.findall(r"\| one feed-forward network \|.*", chapter.source("today-seen"))
    assert name in row
    assert getattr(config, experts) >= 8
    assert not hasattr(LlamaConfig(), experts)


def layer_of(config: MixtralConfig) -> tuple[nn.Module, Any]:
    """Return the chapter's layer with experts, and the experts alone."""
    space = chapter.run("today-layer", "experts-code")
    sizes = config.hidden_size, config.intermediate_size
    experts = space["Experts"](*sizes, config.num_local_experts, config.num_experts_per_tok)
    heads = config.num_attention_heads, config.num_key_value_heads
    return space["Layer"](config.hidden_size, *heads, experts), experts


def test_the_experts_compute_what_mixtral_computes():
    torch.manual_seed(0)
    config = MixtralConfig(hidden_size=16, intermediate_size=24, num_attention_heads=8)
    theirs = modeling_mixtral.MixtralSparseMoeBlock(config)
    for parameter in theirs.parameters():
        nn.init.normal_(parameter)
    layer, ours = layer_of(config)
    ours.router.weight = theirs.gate.weight
    for expert, both, down in zip(
        ours.experts, theirs.experts.gate_up_proj, theirs.experts.down_proj, strict=True
    ):
        expert.gate.weight, expert.up.weight = (nn.Parameter(part) for part in both.chunk(2))
        expert.down.weight = nn.Parameter(down)
    x = torch.randn(3, 7, 16)
    torch.testing.assert_close(ours(x), theirs(x), rtol=1e-4, atol=1e-4)
    assert layer(x).shape == x.shape


def test_each_word_passes_through_two_experts_and_the_router_learns_from_them():
    torch.manual_seed(0)
    config = MixtralConfig(hidden_size=16, intermediate_size=24, num_attention_heads=8)
    _, experts = layer_of(config)
    rows = []
    for expert in experts.experts:
        expert.register_forward_hook(lambda module, inputs, output: rows.append(len(inputs[0])))
    experts(torch.randn(3, 7, 16)).square().sum().backward()
    assert sum(rows) == 2 * 3 * 7
    assert experts.router.weight.grad.abs().max() > 0


def test_mixtral_stores_and_uses_as_many_parameters_as_the_chapter_prints(monkeypatch):
    # PyTorch 2.6 cannot name the default device after the checker has set it back to None.
    monkeypatch.delattr(torch._GLOBAL_DEVICE_CONTEXT, "device_context", raising=False)
    config = MixtralConfig()
    with torch.device("meta"):
        model = MixtralForCausalLM(config)
        llama = LlamaConfig(vocab_size=128_256, intermediate_size=14_336, num_key_value_heads=8)
        other = LlamaForCausalLM(llama)
    total, of_llama = (sum(p.numel() for p in m.parameters()) for m in (model, other))
    expert = 3 * config.hidden_size * config.intermediate_size
    unused = config.num_local_experts - config.num_experts_per_tok
    used = total - config.num_hidden_layers * unused * expert
    both = f"{total / 1e9:.1f} billion parameters; a word uses {used / 1e9:.1f} billion"
    assert both in chapter.printed()
    assert f"{of_llama / 1e9:.2f} billion parameters" in chapter.printed()
    assert "13 billion" in chapter.source("experts-seen")
    for name in "hidden_size", "intermediate_size", "num_hidden_layers", "num_key_value_heads":
        assert getattr(config, name) == getattr(llama, name)


def test_llama_has_neither_biases_nor_dropout_nor_norms_of_queries_and_keys():
    config = LlamaConfig()
    assert not any((config.attention_bias, config.mlp_bias, config.attention_dropout))
    normed = modeling_gemma3, modeling_qwen3, modeling_llama
    assert ["self.q_norm(" in inspect.getsource(m) for m in normed] == [True, True, False]
    for row in "biases, dropout", "query-key normalization", "one feed-forward network":
        assert row in chapter.source("today-seen")


def test_deepseek_v32_picks_single_keys_with_an_indexer():
    config = DeepseekV32Config()
    assert {*config.layer_types} == {"indexed_attention"}
    assert config.index_topk == 2048


def test_the_recipe_for_qwen_reorders_biases_and_norms():
    """The tests of the library show that Qwen2 and Qwen3 differ otherwise."""
    text = chapter.source("halves-seen")
    assert "In Qwen2 the biases of queries and keys have to be reordered too" in text
    assert "in Qwen3 the weights of the two norms" in text


# --- longer texts ------------------------------------------------------------------------------


def test_with_positions_divided_by_4_the_models_name_the_word_eight_or_nine_back():
    for two, seven, eight, nine, ten in percentages("longer-instead"):
        assert max(two, seven, ten) < 12
        assert min(eight, nine) > 20
        assert eight + nine >= 98
    text = chapter.source("longer-stretch-seen")
    assert "they name the word eight or nine back" in text
    assert "tells neighboring positions apart" not in text


def test_a_larger_base_has_to_fit():
    """The lowest and the highest of three models, for two back and for first."""
    _, small, fitting, huge, divided = percentages("longer-stretch")
    assert max(small) < 75
    assert min(fitting) > 80
    assert huge[1] < 95 < huge[2]
    assert divided[1] < 10 < 100 == divided[2]


# --- sinks -------------------------------------------------------------------------------------


def test_only_with_positions_in_the_cache_do_sinks_work_far_into_a_text():
    in_text, in_cache = percentages("sum-positions-print")
    assert max(in_text) < 95
    assert min(in_cache) == 100
    assert "positions were counted inside the cache" in chapter.source("sinks")
    assert "forever" not in ALL["11.kept"].insight
    assert "inside the cache" in ALL["11.kept"].insight


def test_without_a_mask_the_first_layers_keys_could_be_kept():
    """This is thing c of 11.fate, so its insight says no more than that."""
    assert ALL["11.fate"].reference("c") == "keep"
    assert "first layer" in ALL["11.fate"].insight
    assert "cannot have a cache" not in ALL["11.fate"].insight


def test_the_text_says_what_the_claims_try():
    assert "a learned score that starts at 0 leaves a smaller sink" in chapter.source("sum-seen")
    assert "can leave most of the weight on <, but the window does no harm" in chapter.source(
        "sum-seen"
    )
