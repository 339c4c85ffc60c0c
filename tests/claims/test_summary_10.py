"""The summary of chapter 10, tried with other vectors, widths and lengths."""

import math

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from attnbook import (
    EncoderLayer,
    KVCache,
    fused_attention,
    linear_attention,
    longformer_mask,
    scaled_dot_product_attention,
    sliding_window_mask,
    window_attention,
)
from attnbook.notebook.cost import cost
from tests.support.claims import claim


def multiplications(layer: nn.Module, words: int) -> int:
    """Count the multiplications of a layer's forward pass."""
    with torch.no_grad():
        x = torch.randn(1, words, layer.attention.d_model)
        return cost(lambda: layer(x)).multiplications


@claim(
    "At a length of six times the width, its two products need as many multiplications as the rest"
    " of the layer.",
    width=(16, 40),
    heads=(1, 4),
)
def test_at_six_widths_the_two_products_are_half_of_a_layer(width, heads):
    layer = EncoderLayer(width, heads, 4 * width)
    rest = 12 * width**2  # for each word: four projections, and a feed-forward network
    for words, fraction in ((width, 1 / 7), (6 * width, 1 / 2), (18 * width, 3 / 4)):
        counted = multiplications(layer, words)
        assert (counted - rest * words) / counted == pytest.approx(fraction)


@claim(
    "The memory for the tables of $L^2$ numbers often becomes a problem at shorter lengths.",
    width=(64, 128),
    heads=(8, 16),
)
def test_at_three_widths_the_tables_take_most_of_a_layers_memory(width, heads):
    taken = {}
    for attend in (scaled_dot_product_attention, fused_attention):
        layer, x = (
            EncoderLayer(width, heads, 4 * width, attend=attend),
            torch.randn(3 * width, width),
        )
        taken[attend] = cost(lambda layer=layer, x=x: layer(x[None])[0].sum()).megabytes
    assert taken[scaled_dot_product_attention] > 2 * taken[fused_attention]


@claim(
    "You can compute a softmax without its whole row: keep the largest score and two running sums,"
    " and shrink the sums when a larger score arrives.",
    "The result is exact.",
    seed=(11, 12),
    chunk=(1, 30),
)
def test_a_softmax_in_chunks_is_exact(seed, chunk):
    torch.manual_seed(seed)
    scores, values = 20 * torch.randn(100).double(), torch.randn(100, 5).double()
    largest, total, mixed = torch.tensor(-math.inf).double(), 0.0, torch.zeros(5).double()
    for some, their in zip(scores.split(chunk), values.split(chunk), strict=True):
        new = torch.maximum(largest, some.max())
        shrink, powers = (largest - new).exp(), (some - new).exp()
        total, mixed, largest = shrink * total + powers.sum(), shrink * mixed + powers @ their, new
    assert_close(mixed / total, scores.softmax(-1) @ values)


@claim(
    "A mask alone saves no work.",
    "The program has to skip what the mask hides.",
    "The cost of a window is linear in the length,",
    window=(4, 30),
    width=(8, 32),
)
def test_a_window_saves_work_only_if_a_program_skips_what_is_hidden(window, width):
    counts = {}
    for words in (300, 3000):
        x, mask = torch.randn(3, words, width), sliding_window_mask(words, window)
        forms = {
            "plain": lambda x=x: scaled_dot_product_attention(*x),
            "masked": lambda x=x, mask=mask: scaled_dot_product_attention(*x, mask),
            "window": lambda x=x: window_attention(*x, window=window),
        }
        counts[words] = {name: cost(form).multiplications for name, form in forms.items()}
        assert_close(forms["window"]()[0], forms["masked"]()[0], atol=1e-4, rtol=1e-4)
    assert all(each["masked"] == each["plain"] > each["window"] for each in counts.values())
    assert counts[3000]["plain"] == 100 * counts[300]["plain"]
    assert counts[3000]["window"] == pytest.approx(10 * counts[300]["window"], rel=0.3)


@claim("one global word connects all words within two layers.", window=(0, 3), words=(20, 100))
def test_one_global_word_connects_all_words_in_two_layers(window, words):
    for place in (0, words // 2):
        one = longformer_mask(words, window, [place]).float()
        assert not (one > 0).all()
        assert (one @ one > 0).all()
    alone = sliding_window_mask(words, window).float()
    assert not (alone @ alone > 0).all()


@claim(
    "Without the softmax you can change the order of the products, and the cost is linear in the"
    " length.",
    "But the result is a different function,",
    seed=(11, 12),
    width=(4, 32),
)
def test_the_other_order_costs_in_proportion_to_the_length(seed, width):
    torch.manual_seed(seed)

    def phi(x: Tensor) -> Tensor:
        return nn.functional.elu(x) + 1

    counts = []
    for words in (100, 1000):
        query, key, value = torch.randn(3, words, width).double()
        table = phi(query) @ phi(key).mT
        found, _ = linear_attention(query, key, value)
        assert_close(table / table.sum(-1, keepdim=True) @ value, found)
        softmax, _ = scaled_dot_product_attention(query, key, value)
        assert (found - softmax).abs().max() > 0.1
        call = lambda q=query, k=key, v=value: linear_attention(q, k, v)  # noqa: E731
        counts.append(cost(call).multiplications)
    assert counts[1] == 10 * counts[0]


@claim(
    "the width of $\\varphi(\\textcolor{key}{k})$ limits how many keys it can keep apart.",
    seed=(11, 12),
    width=(4, 16),
)
def test_no_more_keys_than_the_width_of_their_features_can_be_told_apart(seed, width):
    """What a state of Dk rows holds is read back exactly for Dk keys, and not for more."""
    torch.manual_seed(seed)
    for keys, exact in ((width, True), (2 * width, False)):
        features = (nn.functional.elu(torch.randn(keys, width)) + 1).double()
        state = torch.linalg.lstsq(features, torch.eye(keys).double(), driver="gelsd").solution
        off = (features @ state - torch.eye(keys)).abs().max()
        assert off < 1e-6 if exact else off > 0.2


@claim(
    "The last two save *multiplications* only where the text is long compared with six times the"
    " width.",
    width=(16, 64),
    form=("window", "linear"),
)
def test_cheap_forms_save_little_of_a_layer_in_a_short_text(width, form):
    def attend(query: Tensor, key: Tensor, value: Tensor, mask: None, bias: None) -> tuple:
        if form == "linear":
            return linear_attention(query, key, value)
        return window_attention(query, key, value, window=4)

    plain, cheap = (
        EncoderLayer(width, 1, 4 * width),
        EncoderLayer(width, 1, 4 * width, attend=attend),
    )
    left = {
        n: multiplications(cheap, n * width) / multiplications(plain, n * width) for n in (1, 48)
    }
    assert left[1] > 0.8
    assert left[48] < 0.3


@claim(
    "In a model that writes, they also save memory, in shorter texts too.",
    width=(16, 64),
    window=(8, 20),
)
def test_a_window_or_a_state_takes_less_memory_than_a_cache_of_a_short_text(width, window):
    words = 3 * width  # half of six times the width
    whole, short = KVCache(), KVCache(window=window)
    for row in torch.randn(words, 1, width):
        for cache in (whole, short):
            cache.update(row, row)
    state = width * (width + 1)  # of linear attention: the keys' sums with the values, and alone
    assert max(2 * short.key.numel(), state) < whole.key.numel()
