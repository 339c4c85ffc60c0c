"""What chapter 10 claims beyond the numbers that it prints."""

import math
from collections.abc import Callable
from itertools import permutations

import pytest
import torch
from torch import Tensor
from torch.nn import Linear
from torch.nn import functional as F
from transformers.models.qwen3_next.modeling_qwen3_next import torch_recurrent_gated_delta_rule

from attnbook import (
    MultiHeadAttention,
    bigbird_mask,
    linear_attention,
    scaled_dot_product_attention,
)
from attnbook.cost import cost
from tests.support.chapters import Chapter

chapter = Chapter("10_efficient_attention.ipynb")


@pytest.mark.parametrize("seed", range(3))
def test_two_random_keys_per_query_connect_256_words_in_five_layers(seed):
    reach = chapter.run("forms-code", "pieces-heard")["reach"]
    mask = bigbird_mask(256, 4, 0, 2, seed)
    assert not reach(mask, 4).all()
    assert reach(mask, 5).all()


@pytest.mark.parametrize(("length", "width"), [(96, 64), (384, 64), (100, 32)])
def test_a_layer_needs_the_multiplications_of_the_table(length, width):
    x = torch.randn(length, width)
    layer = MultiHeadAttention(width, 8)
    up, down = Linear(width, 4 * width), Linear(4 * width, width)
    counted = cost(lambda: down(up(layer(x)[0]).relu())).multiplications
    assert counted == 12 * length * width**2 + 2 * length**2 * width


def test_in_any_order_the_online_softmax_ends_in_the_same_lse_and_output():
    space = chapter.run("online-scores")
    scores, values = space["scores"].double(), space["values"].double()
    orders = torch.tensor(list(permutations(range(6))))
    largest = scores[orders].cummax(-1).values
    shrinks = (largest.diff() > 0).sum(-1)
    assert orders[shrinks == 5].tolist() == [scores.argsort().tolist()]
    assert (shrinks == 0).equal(orders[:, 0] == 4)  # dessert first
    total, mixed = torch.zeros(720), torch.zeros(720, 28)
    factors = F.pad(largest[:, :-1] - largest[:, 1:], (1, 0)).exp()
    for t in range(6):
        power = (scores[orders[:, t]] - largest[:, t]).exp()
        total = total * factors[:, t] + power
        mixed = mixed * factors[:, t, None] + values[orders[:, t]] * power[:, None]
    expected = (scores.softmax(0) @ values).expand(720, 28)
    torch.testing.assert_close(mixed / total[:, None], expected)
    lse = scores.logsumexp(0).expand(720)
    torch.testing.assert_close(largest[:, -1] + total.log(), lse)


def test_the_gradient_does_not_need_the_largest_score():
    code = chapter.source("chunks-code").replace("s.detach()", "s")
    detached, attached = (
        chapter.run("forms-code", "chunks-code", **change) for change in ({}, {"chunks-code": code})
    )
    found = []
    for space in detached, attached:
        qkv = [x.double().requires_grad_() for x in space["draw"](100)]
        output = space["by_chunks"](*qkv, 32)
        found.append(torch.autograd.grad(output.square().sum(), qkv))
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-12)


def recalled_after_training(attend: Callable, width: int) -> Tensor:
    untrained = chapter.source("recall-run").partition("print(")[0]
    space = chapter.run("recall-model", "recall-run", **{"recall-run": untrained})
    torch.manual_seed(0)
    model = space["Recall"](attend, width)
    space["train"](model, space["recall_loss"], steps=200, lr=0.05)
    guesses, answers = model(64, 64)
    return (guesses.argmax(-1) == answers).double().mean((1, 2))


def by_products(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, None]:
    """Linear attention with a feature map from n = 16 numbers to 1 + n + n², 153 of them distinct.

    The features are a 1, the numbers themselves, and all products of two of them, so that the dot
    product of two results is 1 + s + s² / 2.
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
    guesses, answers = model(64, 64)
    assert (guesses.argmax(-1) == answers).all()


def test_under_the_gated_delta_rule_a_key_that_comes_back_replaces_its_value():
    torch.manual_seed(0)
    one, other = F.normalize(torch.randn(2, 8), dim=-1)
    keys = torch.stack((one, other, one)).view(1, 3, 1, 8)
    values = torch.randn(1, 3, 1, 8)
    writes, keeps = torch.ones(1, 3, 1), torch.full((1, 3, 1), -0.5)

    def answer(beta: float) -> torch.Tensor:
        arguments = keys, keys, values, keeps, beta * writes, None, True
        _, state = torch_recurrent_gated_delta_rule(*arguments)
        return one @ state[0, 0]

    torch.testing.assert_close(answer(1.0), values[0, 2, 0])  # replaced in full
    half = (answer(0.5) - values[0, 2, 0]).norm()  # replaced in part
    assert 0.1 < half < (values[0, 0, 0] - values[0, 2, 0]).norm()
