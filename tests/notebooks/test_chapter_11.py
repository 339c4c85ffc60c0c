"""Chapter 11: what its text claims beyond what its cells print."""

import itertools
from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from transformers import (
    DeepseekV2Config,
    FalconConfig,
    Gemma3TextConfig,
    GPT2Config,
    GptOssConfig,
    KimiLinearConfig,
    LlamaConfig,
    MistralConfig,
    Qwen3NextConfig,
)

from attnbook import (
    apply_rotary,
    scaled_dot_product_attention,
)
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


def slowed(*divisors: float) -> Callable[..., tuple[Tensor, Tensor]]:
    """Attention that divides the positions of each pair of columns by the pair's own divisor."""

    def attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor, bias: Tensor | None):
        at = torch.arange(query.size(-2))

        def slower(rows: Tensor) -> Tensor:
            pairs = zip(rows.split(2, dim=-1), divisors, strict=True)
            moved = [apply_rotary(x, (at / by - at) / 10**k) for k, (x, by) in enumerate(pairs)]
            return torch.cat(moved, dim=-1)

        return scaled_dot_product_attention(slower(query), slower(key), value, mask, bias)

    return attend


def test_it_is_the_fastest_rotation_that_tells_neighbors_apart():
    space = chapter.run("longer-reader", "longer-tasks-code", "longer-train")
    model = space["trained"](space["two_back"], "rotary", 0)
    found = []
    for divisors in (4, 1, 1, 1), (1, 4, 4, 4):
        for layer in model.layers:
            layer.attend = slowed(*divisors)
        found.append(space["right"](model, space["two_back"], "rotary", 64))
    assert found[0] < 0.1
    assert found[1] > 0.9
