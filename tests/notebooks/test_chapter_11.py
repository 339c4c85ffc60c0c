"""Chapter 11: what its text claims beyond what its cells print."""

import itertools
from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode
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
    GroupedQueryAttention,
    KVCache,
    Rotary,
    apply_rotary,
    causal_mask,
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


def test_a_rotation_between_query_and_matrix_prevents_the_exchange():
    """Why a latent cache keeps a rotary key beside the latents (11.4)."""
    space = chapter.run("two-layers", "latent-size")
    query, latents, up = space["one_query"], space["latents"], space["up"]
    turned = apply_rotary(query, torch.tensor([5]))
    by_keys = turned @ apply_rotary(latents @ up, torch.arange(6)).T
    assert ((turned @ up.T) @ latents.T - by_keys).abs().max() > 1


def multiplications(layer: GroupedQueryAttention, x: Tensor, cache: KVCache | None) -> int:
    """The number of multiplications for writing x word by word."""
    with FlopCounterMode(display=False) as counter:
        for n in range(1, len(x) + 1):
            if cache is None:
                layer(x[:n], mask=causal_mask(n))
            else:
                layer(x[n - 1 : n], cache=cache)
    return counter.get_total_flops() // 2  # it also counts additions


def test_the_multiplications_of_writing_are_those_of_the_formulas():
    layer, n, width = GroupedQueryAttention(64, 8, 8), 12, 64
    x = torch.randn(n, width)
    slow = sum(4 * t * width**2 + 2 * t * t * width for t in range(1, n + 1))
    quick = sum(4 * width**2 + 2 * t * width for t in range(1, n + 1))
    assert multiplications(layer, x, None) == slow
    assert multiplications(layer, x, KVCache()) == quick


@pytest.mark.parametrize("cached", [True, False])
def test_one_key_head_keeps_an_eighth_of_the_bytes_and_more_than_half_of_the_work(cached):
    x, work, kept = torch.randn(6, 64), [], []
    for n_kv_heads in (8, 1):
        cache = KVCache() if cached else None
        work.append(multiplications(GroupedQueryAttention(64, 8, n_kv_heads), x, cache))
        kept.append(cache.key.numel() if cache else 0)
    assert 1 / 2 < work[1] / work[0] < 2 / 3
    assert kept[0] == 8 * kept[1]


def test_a_cache_of_another_text_changes_the_outputs_without_an_error():
    layer, cache = GroupedQueryAttention(16, 4, 4), KVCache()
    first, second = torch.randn(2, 5, 16)
    layer(first, mask=causal_mask(5), cache=cache)
    fresh, _ = layer(second[:1])
    stale, _ = layer(second[:1], cache=cache)
    assert (stale - fresh).abs().max() > 0.01


def test_with_repeat_heads_1_and_4_use_the_wrong_keys():
    kept = torch.arange(2).repeat_interleave(3) == torch.arange(2).repeat(3)
    assert (~kept).nonzero().flatten().tolist() == [1, 4]


def test_steps_at_position_0_are_wrong_from_the_second_word_on():
    layer, cache, x = (
        GroupedQueryAttention(16, 4, 2, rotary=Rotary()),
        KVCache(),
        torch.randn(6, 16),
    )
    expected, _ = layer(x, mask=causal_mask(6))
    off = []
    for row, wanted in zip(x, expected, strict=True):
        cache.length = 0
        off.append((layer(row[None], cache=cache)[0] - wanted).abs().max())
    assert off[0] < 1e-6
    assert min(off[1:]) > 1e-3


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
