"""What chapter 10 claims beyond the numbers that it prints."""

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from attnbook import (
    bigbird_mask,
    device,
    linear_attention,
    scaled_dot_product_attention,
)
from tests.support.chapters import Chapter

chapter = Chapter("10_efficient_attention.ipynb")


@pytest.mark.parametrize("seed", range(3))
def test_two_random_keys_per_query_connect_256_words_in_five_layers(seed):
    reach = chapter.run("forms-code", "pieces-heard")["reach"]
    mask = bigbird_mask(256, 4, 0, 2, seed)
    assert not reach(mask, 4).all()
    assert reach(mask, 5).all()


def recalled_after_training(attend: Callable, width: int) -> Tensor:
    untrained = chapter.source("recall-run").partition("print(")[0]
    space = chapter.run("recall-model", "recall-run", **{"recall-run": untrained})
    torch.manual_seed(0)
    model = space["Recall"](attend, width).to(device())
    space["train"](model, space["recall_loss"], steps=200, lr=0.05)
    guesses, answers = model(64, 64)
    return (guesses.argmax(-1) == answers).double().mean((1, 2))


def by_products(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, None]:
    """Linear attention with a feature map from n = 16 numbers to 1 + n + n², 153 of them distinct.

    The features are a 1, the numbers themselves, and all products of two of them, each scaled so
    that the dot product of two results is 1 + s + s² / 2.
    """
    s = query @ key.mT / 4
    table = 1 + s + s**2 / 2
    return table / table.sum(-1, keepdim=True) @ value, None


def test_what_counts_is_the_width_of_the_feature_map():
    assert recalled_after_training(linear_attention, 16).max() < 0.5
    assert recalled_after_training(by_products, 16).min() > 0.9
    assert recalled_after_training(linear_attention, 1 + 16 + 16 * 17 // 2).min() > 0.9


def test_softmax_attention_recalls_64_names_on_a_large_circle_without_training():
    angle = torch.arange(64) * 2 * math.pi / 64
    circle = 30 * torch.stack((angle.cos(), angle.sin()), -1)
    model = chapter.run("recall-model")["Recall"](scaled_dot_product_attention, 2)
    with torch.no_grad():
        model.vectors.copy_(circle.expand_as(model.vectors))
    model.to(device())
    guesses, answers = model(64, 64)
    assert (guesses.argmax(-1) == answers).all()
