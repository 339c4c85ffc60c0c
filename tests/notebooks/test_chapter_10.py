"""What chapter 10 claims beyond the numbers that it prints."""

import math

import pytest
import torch
from transformers import GptOssConfig

from attnbook import (
    bigbird_mask,
    device,
    scaled_dot_product_attention,
)
from tests.support.chapters import Chapter

chapter = Chapter("10_efficient_attention.ipynb")


# --- compute and memory ------------------------------------------------------------------


def test_a_kernel_that_skips_half_leaves_73_percent_for_a_book_and_half_at_12_widths():
    def share(width: int, length: int) -> float:
        products, rest = length**2 * width, 12 * length * width**2
        return products / (products + rest)

    assert share(64, 12 * 64) == 0.5
    assert f"{share(4096, 131_072):.0%}" == "73%"
    assert "the limit is $12D$, and the 84% become 73%" in chapter.source("bill-verdict")


def test_windows_shrink_a_cache_in_texts_much_shorter_than_six_widths():
    """The sizes of gpt-oss 120B: in half of its layers, a word attends to the last 128 words."""
    config, length = GptOssConfig(), 2048
    assert length < 6 * config.hidden_size / 8
    per_word = 2 * config.num_key_value_heads * config.head_dim * 2 / 2**20  # MiB in a layer
    windows = config.layer_types.count("sliding_attention")
    others = config.num_hidden_layers - windows
    assert config.num_hidden_layers * per_word * length == 144.0
    assert (others * length + windows * config.sliding_window) * per_word == 76.5
    for name in "pays-seen", "summary":
        assert "multiplications" in chapter.source(name)
        assert "also save memory" in chapter.source(name)
    assert "pay off only" not in chapter.source("summary")


# --- sparse patterns ---------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_two_random_keys_per_query_connect_256_words_in_five_layers(seed):
    reach = chapter.run("forms-code", "pieces-heard")["reach"]
    mask = bigbird_mask(256, 4, 0, 2, seed)
    assert not reach(mask, 4).all()
    assert reach(mask, 5).all()


# --- linear attention --------------------------------------------------------------------------


def test_softmax_attention_recalls_64_names_on_a_large_circle_without_training():
    angle = torch.arange(64) * 2 * math.pi / 64
    circle = 30 * torch.stack((angle.cos(), angle.sin()), -1)
    model = chapter.run("recall-model")["Recall"](scaled_dot_product_attention, 2)
    with torch.no_grad():
        model.vectors.copy_(circle.expand_as(model.vectors))
    model.to(device())
    guesses, answers = model(64, 64)
    assert (guesses.argmax(-1) == answers).all()


def test_the_text_says_what_the_claims_try():
    assert "with heads as wide as here" in chapter.source("forms-times-seen")
    assert "isn't arithmetic" in chapter.source("forms-times-seen")
    assert "64 keys at right angles" in chapter.source("recall-why")
    assert "With more pairs" not in chapter.source("recall-why")
    assert "doesn't forget old pairs" in chapter.source("recall-why")
    for name in "running-seen", "recall":
        assert "forget" not in chapter.source(name)
    assert "has to be coarse" not in chapter.source("sparse-blocks")
