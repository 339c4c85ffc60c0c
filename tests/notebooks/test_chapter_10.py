"""What chapter 10 claims beyond the numbers that it prints."""

import math

import pytest
import torch
from transformers import GptOssConfig

from attnbook import (
    bigbird_mask,
    device,
    fused_attention,
    linear_attention,
    scaled_dot_product_attention,
)
from attnbook.notebook.cost import cost, seconds
from tests.support.chapters import Chapter

chapter = Chapter("10_efficient_attention.ipynb")


# --- compute, memory and time ------------------------------------------------------------------


def test_a_kernel_that_skips_half_leaves_73_percent_for_a_book_and_half_at_12_widths():
    def share(width: int, length: int) -> float:
        products, rest = length**2 * width, 12 * length * width**2
        return products / (products + rest)

    assert share(64, 12 * 64) == 0.5
    assert f"{share(4096, 131_072):.0%}" == "73%"
    assert "the limit is $12D$, and the 84% become 73%" in chapter.source("bill-verdict")


def test_in_the_batched_form_attention_takes_more_of_the_time_than_of_the_multiplications():
    width, length = 512, 1024
    x, square, tall = (torch.randn(n, width) for n in (length, width, 4 * width))
    qkv = torch.randn(3, 1, 8, length, width // 8)

    def rest() -> None:  # four projections, and a feed-forward network
        for _ in range(4):
            x @ square
        x @ tall.T @ tall

    forms = scaled_dot_product_attention, fused_attention
    others = seconds(rest)
    batched, fused = (seconds(lambda f=f: f(*qkv)) for f in forms)
    counted = 2 * length**2 * width / (2 * length**2 * width + 12 * length * width**2)
    assert counted == pytest.approx(0.25)
    assert batched / (batched + others) > 1.2 * counted
    assert fused < batched


def test_many_narrow_heads_take_longer_for_as_many_multiplications():
    wide, narrow = (torch.randn(3, 1, 512 // width, 1024, width) for width in (64, 8))
    counts = {cost(lambda x=x: fused_attention(*x)).multiplications for x in (wide, narrow)}
    assert len(counts) == 1
    times = [seconds(lambda x=x: fused_attention(*x)) for x in (wide, narrow)]
    assert times[1] > 1.5 * times[0]
    assert "with heads as wide as here" in chapter.source("forms-times-seen")


def test_most_of_the_loops_time_is_not_arithmetic():
    """With a single key to read, the loop hardly needs any arithmetic, and most of the time."""
    by_loop = chapter.run("forms-code")["by_loop"]
    query, key, value = torch.randn(3, 1, 1, 1024, 64)
    whole = seconds(lambda: by_loop(query, key, value))
    assert seconds(lambda: by_loop(query, key[..., :1, :], value[..., :1, :])) > 0.3 * whole
    assert "isn't arithmetic" in chapter.source("forms-times-seen")


def test_in_time_linear_attention_gains_less_than_in_multiplications():
    qkv = torch.randn(3, 1, 1, 4096, 64)
    forms = fused_attention, linear_attention
    counts = [cost(lambda f=f: f(*qkv)).multiplications for f in forms]
    times = [seconds(lambda f=f: f(*qkv)) for f in forms]
    assert round(counts[0] / counts[1]) == 63
    assert 1 < times[0] / times[1] < 40


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
    assert "64 keys at right angles" in chapter.source("recall-why")
    assert "With more pairs" not in chapter.source("recall-why")
    assert "doesn't forget old pairs" in chapter.source("recall-why")
    for name in "running-seen", "recall":
        assert "forget" not in chapter.source(name)
    assert "has to be coarse" not in chapter.source("sparse-blocks")
