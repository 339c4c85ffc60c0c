"""Masks: what each allows, which axis is which, and which masks cannot be combined."""

import inspect
import itertools

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from attnbook import (
    KVCache,
    MultiHeadAttention,
    bigbird_mask,
    block_mask,
    causal_mask,
    combine_masks,
    longformer_mask,
    padding_mask,
    sink_mask,
    sliding_window_mask,
    window_attention,
)
from attnbook import scaled_dot_product_attention as attention
from tests.support.draws import drawn, redraw

B, L, D = 3, 5, 8


def rows(*leading: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*leading, L, D, generator=generator, dtype=torch.float64)


# --- causal_mask -----------------------------------------------------------------------------


@given(st.integers(0, 12))
def test_causal_mask_allows_no_later_position(length):
    mask = causal_mask(length)
    assert mask.dtype == torch.bool
    assert mask.shape == (length, length)
    for i, j in itertools.product(range(length), repeat=2):
        assert mask[i, j].item() == (j <= i)


@given(st.integers(0, L - 1), st.integers(0, 10**6))
def test_a_changed_word_changes_no_bit_of_the_outputs_before_it(moved, seed):
    x = rows(seed=seed)
    other = x.clone()
    other[moved] += 1.0
    before, after = (attention(z, z, z, causal_mask(L))[0] for z in (x, other))
    assert after[:moved].equal(before[:moved])
    assert after[moved:].ne(before[moved:]).any(-1).all()


# --- padding_mask ----------------------------------------------------------------------------


@given(st.lists(st.integers(0, 7), max_size=5), st.integers(7, 9))
def test_padding_mask_lets_each_sentence_see_its_own_words(lengths, max_length):
    mask = padding_mask(lengths, max_length)
    assert mask.dtype == torch.bool
    assert mask.shape == (len(lengths), 1, max_length)
    for b, length in enumerate(lengths):
        assert mask[b, 0].tolist() == [j < length for j in range(max_length)]


def test_padding_mask_takes_a_tensor_of_any_whole_numbers():
    for dtype in (torch.int64, torch.int32, torch.int16, torch.uint8):
        lengths = torch.tensor([2, 0, 4], dtype=dtype)
        assert padding_mask(lengths, 4).equal(padding_mask([2, 0, 4], 4))


@pytest.mark.on_cpu
def test_padding_mask_stays_on_the_device_of_the_lengths():
    assert padding_mask([1, 2], 3).device.type == "cpu"
    # The range check has to read numbers, which the "meta" device does not have.
    assert padding_mask(torch.empty(0, dtype=torch.int64, device="meta"), 3).is_meta


# --- combine_masks ---------------------------------------------------------------------------


@given(st.permutations(range(3)), st.integers(0, 10**6))
def test_neither_order_nor_repetition_nor_none_matters(order, seed):
    generator = torch.Generator().manual_seed(seed)
    masks = [torch.rand(B, 1, L, generator=generator) > 0.5, causal_mask(L)]
    masks.append(torch.rand(B, L, 1, generator=generator) > 0.5)
    before, expected = [mask.clone() for mask in masks], masks[0] & masks[1] & masks[2]
    shuffled = [masks[i] for i in order]
    assert combine_masks(*shuffled, None, shuffled[0]).equal(expected)
    assert all(mask.equal(old) for mask, old in zip(masks, before, strict=True))


def test_combining_nothing_allows_everything():
    assert combine_masks() is None
    assert combine_masks(None, None) is None


# --- patterns for long sequences -------------------------------------------------------------


@given(st.integers(0, 12), st.integers(0, 14))
def test_a_window_extends_equally_to_both_sides(length, window):
    mask = sliding_window_mask(length, window)
    assert mask.dtype == torch.bool
    assert mask.shape == (length, length)
    for i, j in itertools.product(range(length), repeat=2):
        assert mask[i, j].item() == (i - window <= j <= i + window)


@given(st.integers(0, 12), st.integers(1, 14))
def test_blocks_do_not_overlap_and_cover_all(length, block):
    mask = block_mask(length, block)
    assert mask.shape == (length, length)
    for i, j in itertools.product(range(length), repeat=2):
        assert mask[i, j].item() == (i // block == j // block)


def test_global_tokens_may_come_from_a_generator():
    assert longformer_mask(9, 1, (t for t in (2, 5))).equal(longformer_mask(9, 1, [2, 5]))


@given(st.integers(0, 4), st.sets(st.integers(0, 9)))
def test_a_global_token_sees_all_and_is_seen_by_all(window, chosen):
    mask = longformer_mask(10, window, sorted(chosen))
    for i, j in itertools.product(range(10), repeat=2):
        assert mask[i, j].item() == (abs(i - j) <= window or i in chosen or j in chosen)


@given(st.integers(0, 3), st.integers(0, 4), st.integers(0, 5), st.integers(0, 10**6))
def test_bigbird_is_window_global_and_random_keys(window, n_global, n_random, seed):
    mask = bigbird_mask(12, window, n_global, n_random, seed)
    regular = longformer_mask(12, window, range(n_global))
    assert (mask | regular).equal(mask)
    assert ((mask & ~regular).sum(-1) <= n_random).all()
    assert mask.equal(bigbird_mask(12, window, n_global, n_random, seed))


def test_bigbirds_random_keys_differ_by_row_and_seed():
    mask = bigbird_mask(200, 0, 0, 5, seed=1) & ~torch.eye(200, dtype=torch.bool)
    assert mask.sum(-1).min() >= 4
    assert not mask[0].equal(mask[1])
    assert not mask.equal(bigbird_mask(200, 0, 0, 5, seed=2))


@pytest.mark.parametrize(
    ("length", "window", "n_sinks"), [(9, 3, 2), (7, 1, 0), (5, 4, 9), (0, 2, 1)]
)
def test_a_sink_mask_shows_the_first_and_last_positions(length, window, n_sinks):
    mask = sink_mask(length, window, n_sinks)
    assert mask.dtype == torch.bool
    assert mask.shape == (length, length)
    for i, j in itertools.product(range(length), repeat=2):
        assert mask[i, j] == (j <= i and (i - j < window or j < n_sinks))


def rows_of_a_cache() -> int:
    cache = KVCache(window=2)
    return max(cache.update(rows()[t : t + 1], rows()[t : t + 1])[0].size(-2) for t in range(L))


def rows_that_a_window_mixes() -> int:
    x = torch.eye(9)
    return int(window_attention(x, x, x, window=2)[0][4].count_nonzero())


ITSELF, NOT_ITSELF = "counts the position itself", "does not count the position itself"


@pytest.mark.parametrize(
    ("function", "seen", "example", "smallest", "convention"),
    [
        (sink_mask, 2, lambda: sink_mask(9, 2, 0)[4].sum(), 1, ITSELF),
        (KVCache, 2, rows_of_a_cache, 1, ITSELF),
        (sliding_window_mask, 5, lambda: sliding_window_mask(9, 2)[4].sum(), 0, NOT_ITSELF),
        (longformer_mask, 5, lambda: longformer_mask(9, 2, ())[4].sum(), 0, NOT_ITSELF),
        (bigbird_mask, 5, lambda: bigbird_mask(9, 2, 0, 0, seed=0)[4].sum(), 0, NOT_ITSELF),
        (window_attention, 5, rows_that_a_window_mixes, 0, NOT_ITSELF),
    ],
)
def test_a_window_of_two_counts_what_the_docstring_and_the_error_say(
    function, seen, example, smallest, convention
):
    assert example() == seen
    assert f"`window` {convention}" in " ".join(function.__doc__.split())
    sizes = {"length": L, "global_tokens": (), "query": rows(), "key": rows(), "value": rows()}
    sizes = {name: sizes.get(name, 0) for name in inspect.signature(function).parameters}
    if function is window_attention:
        sizes |= {"mask": None, "bias": None}
    message = f"window={smallest - 1}: it must be at least {smallest}, because it {convention}"
    with pytest.raises(ValueError, match=f"^{message}$"):
        function(**sizes | {"window": smallest - 1})


# --- bad input -------------------------------------------------------------------------------

ONES = torch.ones(L, L, dtype=torch.bool)
BAD = [
    (ValueError, lambda: causal_mask(-1), "length=-1: it must be at least 0"),
    (ValueError, lambda: padding_mask([1], -1), "max_length=-1: it must be at least 0"),
    (ValueError, lambda: padding_mask(3, 5), r"lengths has shape \(\): it must be \(B,\)"),
    (ValueError, lambda: padding_mask([2.0, 1.0], 5), "torch.float32: it must hold whole numbers"),
    (ValueError, lambda: padding_mask([1j], 5), "torch.complex64: it must hold whole numbers"),
    (ValueError, lambda: padding_mask([True], 5), "dtype torch.bool: it must hold whole numbers"),
    (ValueError, lambda: padding_mask([2, 6], 5), "from 2 to 6: each must lie between 0 and max_l"),
    (ValueError, lambda: padding_mask([-1, 6], 9), "lengths run from -1 to 6: each must lie"),
    (TypeError, lambda: combine_masks([[True]]), "mask must be a torch.Tensor, got list"),
    (
        ValueError,
        lambda: combine_masks(ONES, ONES.float()),
        "mask has dtype torch.float32: it must",
    ),
    (ValueError, lambda: combine_masks(ONES, ONES[:3, :3]), r"\(5, 5\) and \(3, 3\) do not broadc"),
    (
        ValueError,
        lambda: combine_masks(ONES[None], ONES[None, None]),
        "no head axis. Add",
    ),
    (ValueError, lambda: combine_masks(ONES, ONES.to("meta")), "share one device, got .+, meta"),
    (TypeError, lambda: sliding_window_mask(5.0, 1), "length must be an int, got float"),
    (TypeError, lambda: sliding_window_mask(5, True), "window must be an int, got bool"),
    (ValueError, lambda: sliding_window_mask(-2, 1), "length=-2: it must be at least 0"),
    (ValueError, lambda: sliding_window_mask(5, -1), "window=-1: it must be at least 0"),
    (ValueError, lambda: block_mask(-3, 1), "length=-3: it must be at least 0"),
    (ValueError, lambda: block_mask(5, 0), "block=0: it must be at least 1"),
    (ValueError, lambda: longformer_mask(5, 1, [0, 5]), "has 5, but the last position is 4"),
    (ValueError, lambda: longformer_mask(5, 1, [-1]), "one of global_tokens=-1: it must be at"),
    (TypeError, lambda: bigbird_mask("5", 1, 0, 0, 0), "length must be an int, got str"),
    (ValueError, lambda: bigbird_mask(-5, 1, 0, 0, 0), "length=-5: it must be at least 0"),
    (ValueError, lambda: bigbird_mask(5, 1, 6, 0, 0), "n_global=6, but there are only 5 positions"),
    (ValueError, lambda: bigbird_mask(5, 1, 0, 6, 0), "n_random=6, but there are only 5 positions"),
    (ValueError, lambda: bigbird_mask(5, 1, 0, -1, 0), "n_random=-1: it must be at least 0"),
    (ValueError, lambda: sink_mask(-4, 2, 1), "length=-4: it must be at least 0"),
    (ValueError, lambda: sink_mask(5, 0, 1), "window=0: it must be at least 1"),
    (ValueError, lambda: sink_mask(5, 2, -1), "n_sinks=-1: it must be at least 0"),
]


@pytest.mark.parametrize(("error", "call", "message"), BAD)
def test_bad_input_is_named(error, call, message):
    with pytest.raises(error, match=message):
        call()


def test_if_sizes_are_equal_two_axes_of_a_mask_are_rows_and_three_of_a_bias_are_heads():
    """What the shapes do not tell, the docstring says."""
    layer = redraw(MultiHeadAttention(4 * B, B))
    x = drawn(B, B, 4 * B)  # B sentences of B rows, and B heads
    mask = padding_mask([1, 2, 3], B)
    hidden = torch.zeros(B, 1, B).double().masked_fill(~mask, -torch.inf)
    rows, heads = layer(x, mask=mask[:, 0])[1], layer(x, bias=hidden)[1]
    for n in range(B):
        assert (rows[:, :, n] > 0).equal(mask[n].expand(B, B, B))
        assert (heads[:, n] > 0).equal(mask[n].expand(B, B, B))
    sentences = layer(x, mask=mask)[1]
    assert_close(layer(x, bias=hidden[:, None])[1], sentences)
    assert (sentences > 0).equal(mask[:, None].expand(B, B, B, B))
