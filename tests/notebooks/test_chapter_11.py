"""Chapter 11: what its text claims beyond what its cells print."""

import itertools

import pytest
import torch
from transformers import (
    DeepseekV2Config,
    FalconConfig,
    Gemma2Config,
    Gemma3TextConfig,
    GPT2Config,
    GptOssConfig,
    KimiLinearConfig,
    Llama4TextConfig,
    LlamaConfig,
    MistralConfig,
    Qwen3NextConfig,
    SmolLM3Config,
)

from attnbook import apply_rotary
from tests.support.chapters import Chapter

chapter = Chapter("11_modern_attention.ipynb")


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


def test_mistral_lets_go_of_all_but_its_window_and_falcon_ends_where_the_caption_says():
    assert MistralConfig().sliding_window == 4096
    assert FalconConfig().max_position_embeddings == 2048
    assert GPT2Config().n_positions == 1024
    assert "Falcon at 2,048" in chapter.source("caption-weight-picture")


def test_deepseek_keeps_as_many_numbers_as_the_chapter_says():
    config = DeepseekV2Config()
    assert f"d_c, d_rotary = 60, 128, {config.kv_lora_rank}, {config.qk_rope_head_dim}" in (
        chapter.source("latent-size")
    )


@pytest.mark.parametrize(
    ("config", "kind", "period", "others"),
    [
        (Gemma2Config(), "full_attention", 2, "sliding_attention"),
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


@pytest.mark.parametrize("config", [Llama4TextConfig(), SmolLM3Config()])
def test_every_fourth_layer_of_llama_4_and_smollm3_has_no_positions(config):
    turned = config.no_rope_layers  # 1: with rotary positions
    assert turned == [int((layer + 1) % 4 != 0) for layer in range(len(turned))]


def test_a_rotation_between_query_and_matrix_prevents_the_exchange():
    """Why a latent cache keeps a rotary key beside the latents (11.4)."""
    space = chapter.run("two-layers", "latent-size")
    query, latents, up = space["one_query"], space["latents"], space["up"]
    turned = apply_rotary(query, torch.tensor([5]))
    by_keys = turned @ apply_rotary(latents @ up, torch.arange(6)).T
    assert ((turned @ up.T) @ latents.T - by_keys).abs().max() > 1


@pytest.mark.parametrize(
    ("task", "helps"), [("two_back", False), ("first", True), ("latest", False)]
)
def test_at_512_places_the_third_hand_counts_in_one_task_of_three(task, helps):
    fewer = chapter.source("longer-exam").replace("drawn_texts(50,", "drawn_texts(6,")
    names = "five-class", "five-run", "longer-tasks-code", "longer-train", "longer-exam"
    space = chapter.run(*names, "longer-hands-code", **{"longer-exam": fewer})
    model = space["trained"](space[task], "rotary")
    shares = []
    for divisors in (1, 32, 1, 1), (1, 32, 32, 1):
        model.attend = space["with_hands"](*divisors)
        shares.append(space["right"](model, space[task], 512).mean())
    assert (shares[1] - shares[0] > 0.08) if helps else (abs(shares[1] - shares[0]) < 0.05)
