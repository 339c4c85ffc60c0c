"""Chapter 10: what its text claims beyond what its cells print, tried in other experiments."""

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from attnbook import (
    bigbird_mask,
    chunked_attention,
    device,
    fused_attention,
    linear_attention,
    scaled_dot_product_attention,
    sliding_window_mask,
)
from attnbook.notebook.cost import cost, seconds
from tests.support.chapters import Chapter

chapter = Chapter("10_efficient_attention.ipynb")


@cache
def trained(attend: Callable, width: int, *, names: int = 64, pairs: int = 16) -> tuple[Any, dict]:
    """Five models of section 10.13 after their training, and the names that its cells define."""
    cell = chapter.source("recall-run").partition("print(")[0]
    sizes = chapter.source("recall-model").replace("MODELS = 64,", f"MODELS = {names},")
    cell = cell.replace("model(16, 16)", f"model(16, {pairs})")
    space = chapter.run("recall-model", "recall-run", **{"recall-model": sizes, "recall-run": cell})
    torch.manual_seed(0)
    model = space["Recall"](attend, width).to(device())
    space["train"](model, space["recall_loss"], steps=200, lr=0.05)
    return model, space


def recalled(attend: Callable, width: int, asked: int = 64, **training: int) -> Tensor:
    """What five trained models recall of this many pairs, pair by pair: (5, pairs)."""
    guesses, answers = trained(attend, width, **training)[0](64, asked)
    return (guesses.argmax(-1) == answers).double().mean(1)


def by_products(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, None]:
    """Linear attention with a feature map from n = 16 numbers to 1 + n + n², 153 of them distinct.

    The features are a 1, the numbers themselves, and all products of two of them, each scaled so
    that the dot product of two results is 1 + s + s² / 2.
    """
    s = query @ key.mT / 4
    table = 1 + s + s**2 / 2
    return table / table.sum(-1, keepdim=True) @ value, None


def test_what_counts_is_the_width_of_the_feature_map():
    assert recalled(linear_attention, 16).mean(-1).max() < 0.5
    assert recalled(by_products, 16).mean(-1).min() > 0.9
    assert recalled(linear_attention, 1 + 16 + 16 * 17 // 2).mean(-1).min() > 0.9


def test_what_has_to_fit_are_the_names_and_not_the_pairs():
    """With 16 pairs and width 16 there would be room for 16 right angles."""
    of_64 = recalled(linear_attention, 16, asked=16).mean(-1)
    of_16 = recalled(linear_attention, 16, asked=16, names=16).mean(-1)
    assert of_64.max() < 0.86 < of_16.min()


def test_at_width_64_more_pairs_in_training_help():
    few, many = (recalled(linear_attention, 64, pairs=pairs).mean(-1) for pairs in (16, 64))
    assert few.max() < 0.87
    assert many.min() > 0.88
    assert many.max() < 0.95


def test_the_state_mixes_pairs_and_does_not_forget_the_oldest():
    found = recalled(linear_attention, 16, asked=32).mean(0)
    assert found.mean() < 0.75
    assert abs(found[:8].mean() - found[-8:].mean()) < 0.03


def gathered(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    """Attend from 64 queries at a time to the keys that each may look at, the same in all heads.

    Shapes:  query (H, L, Dk)   key, value (L, D)   mask (L, L)
    """
    outputs = []
    for rows in torch.arange(len(mask)).split(64):
        n_keys = int(mask[rows].sum(-1).max())
        shown, at = mask[rows].byte().topk(n_keys)  # (64, n)
        its_own = (query[:, rows].transpose(0, 1), key[at], value[at])  # (64, H or n, D)
        outputs.append(scaled_dot_product_attention(*its_own, shown.bool()[:, None])[0])
    return torch.cat(outputs).transpose(0, 1)


def test_single_keys_can_be_gathered_fast_if_many_heads_share_them():
    length, n_heads = 2048, 32
    mask = bigbird_mask(length, 64, 1, 2, seed=0)
    mask[0] = sliding_window_mask(length, 64)[0]  # a query that attends to all has to read all
    query, (key, value) = torch.randn(n_heads, length, 64), torch.randn(2, length, 64)
    expected, _ = fused_attention(query, key, value, mask)
    assert_close(gathered(query, key, value, mask), expected, rtol=0, atol=1e-5)
    pairs = 2 * n_heads * length**2 * 64
    assert cost(lambda: gathered(query, key, value, mask)).multiplications < 0.07 * pairs
    in_chunks = cost(lambda: chunked_attention(query[:1], key, value, mask, chunk=64))
    assert in_chunks.multiplications > 0.95 * pairs / n_heads
    times = [
        seconds(lambda: gathered(query, key, value, mask)),
        seconds(lambda: fused_attention(query, key, value)),
    ]
    assert times[0] < times[1] / 1.5


# --- time, which no test of `make test` measures -----------------------------------------------


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


def test_most_of_the_loops_time_is_not_arithmetic():
    """With a single key to read, the loop hardly needs any arithmetic, and most of the time."""
    by_loop = chapter.run("forms-code")["by_loop"]
    query, key, value = torch.randn(3, 1, 1, 1024, 64)
    whole = seconds(lambda: by_loop(query, key, value))
    assert seconds(lambda: by_loop(query, key[..., :1, :], value[..., :1, :])) > 0.3 * whole


def test_in_time_linear_attention_gains_less_than_in_multiplications():
    qkv = torch.randn(3, 1, 1, 4096, 64)
    forms = fused_attention, linear_attention
    counts = [cost(lambda f=f: f(*qkv)).multiplications for f in forms]
    times = [seconds(lambda f=f: f(*qkv)) for f in forms]
    assert round(counts[0] / counts[1]) == 63
    assert 1 < times[0] / times[1] < 40
