"""Masks: True = may look. Who sees whom, which axis is which, and what cannot be combined."""

import itertools

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from attnbook import (
    MultiHeadAttention,
    bigbird_mask,
    block_mask,
    causal_mask,
    combine_masks,
    longformer_mask,
    padding_mask,
    sliding_window_mask,
)
from attnbook import scaled_dot_product_attention as attention
from attnbook.sentence import life_is_short

B, H, L, D = 3, 2, 5, 8


def rows(*leading: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*leading, L, D, generator=generator, dtype=torch.float64)


# --- causal_mask -----------------------------------------------------------------------------


@given(st.integers(0, 12))
def test_causal_mask_is_not_later_than(length):
    mask = causal_mask(length)
    assert mask.dtype == torch.bool
    assert mask.shape == (length, length)
    for i, j in itertools.product(range(length), repeat=2):
        assert mask[i, j].item() == (j <= i)


@given(st.integers(0, L - 1), st.integers(0, 10**6))
def test_no_output_before_a_word_moves_with_it_not_by_one_bit(moved, seed):
    x = rows(seed=seed)
    other = x.clone()
    other[moved] += 1.0
    before, after = (attention(z, z, z, causal_mask(L))[0] for z in (x, other))
    assert after[:moved].equal(before[:moved])
    assert after[moved:].ne(before[moved:]).any(-1).all()


def test_the_causal_row_that_s1_never_prints():
    generator = torch.Generator().manual_seed(123)
    w_q, w_k = (torch.rand(24, 16, generator=generator) for _ in range(2))
    x = life_is_short()[1]
    _, weights = attention(x @ w_q.T, x @ w_k.T, x, causal_mask(6))
    expected = torch.tensor([0.9649, 0.0351, 0.0, 0.0, 0.0, 0.0])
    assert_close(weights[1], expected, rtol=0, atol=5e-5)
    assert weights[1, 2:].eq(0).all()


# --- padding_mask ----------------------------------------------------------------------------


@given(st.lists(st.integers(0, 7), max_size=5), st.integers(7, 9))
def test_padding_mask_lets_each_sentence_see_its_own_words(lengths, max_length):
    mask = padding_mask(lengths, max_length)
    assert mask.dtype == torch.bool
    assert mask.shape == (len(lengths), 1, max_length)
    for b, length in enumerate(lengths):
        assert mask[b, 0].tolist() == [j < length for j in range(max_length)]


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.int16, torch.uint8])
def test_padding_mask_takes_a_tensor_of_any_whole_numbers(dtype):
    lengths = torch.tensor([2, 0, 4], dtype=dtype)
    assert padding_mask(lengths, 4).equal(padding_mask([2, 0, 4], 4))


@pytest.mark.on_cpu
def test_padding_mask_stays_on_the_device_of_the_lengths():
    assert padding_mask([1, 2], 3).device.type == "cpu"
    # The range check has to read numbers, which the "meta" device does not hold.
    assert padding_mask(torch.empty(0, dtype=torch.int64, device="meta"), 3).is_meta


def test_a_padded_sentence_gets_what_it_gets_alone():
    x, lengths = rows(B), [5, 2, 4]
    layer = MultiHeadAttention(D, H).double()
    output, weights = layer(x, mask=padding_mask(lengths, L))
    for b, n in enumerate(lengths):
        alone, _ = layer(x[b, :n])
        assert_close(output[b, :n], alone, rtol=0, atol=1e-12)
        assert weights[b, :, :, n:].eq(0).all()


# --- combine_masks ---------------------------------------------------------------------------


def test_combining_causal_and_padding_allows_what_both_allow():
    lengths = [5, 2, 0]
    mask = combine_masks(causal_mask(L), padding_mask(lengths, L))
    assert mask is not None
    assert mask.shape == (3, L, L)
    for b, i, j in itertools.product(range(3), range(L), range(L)):
        assert mask[b, i, j].item() == (j <= i and j < lengths[b])


@given(st.permutations(range(3)), st.integers(0, 10**6))
def test_neither_order_nor_repetition_nor_none_matters(order, seed):
    generator = torch.Generator().manual_seed(seed)
    masks = [torch.rand(B, 1, L, generator=generator) > 0.5, causal_mask(L)]
    masks.append(torch.rand(B, L, 1, generator=generator) > 0.5)
    expected = masks[0] & masks[1] & masks[2]
    shuffled = [masks[i] for i in order]
    assert combine_masks(*shuffled, None, shuffled[0]).equal(expected)


def test_combining_nothing_allows_everything():
    assert combine_masks() is None
    assert combine_masks(None, None) is None
    x = rows()
    assert_close(attention(x, x, x, combine_masks(None)), attention(x, x, x))


def test_no_mask_is_written_to():
    masks = [causal_mask(L), padding_mask([2, 5, 0], L)]
    before = [mask.clone() for mask in masks]
    combine_masks(*masks)
    assert all(mask.equal(old) for mask, old in zip(masks, before, strict=True))


# --- bad input -------------------------------------------------------------------------------

ONES = torch.ones(L, L, dtype=torch.bool)
BAD = [
    (TypeError, lambda: causal_mask(5.0), "length must be an int, got float"),
    (TypeError, lambda: causal_mask(True), "length must be an int, got bool"),
    (ValueError, lambda: causal_mask(-1), "length=-1: it must be at least 0"),
    (TypeError, lambda: padding_mask([1], 2.0), "max_length must be an int, got float"),
    (ValueError, lambda: padding_mask([1], -1), "max_length=-1: it must be at least 0"),
    (ValueError, lambda: padding_mask(3, 5), r"lengths has shape \(\): it must be \(B,\)"),
    (ValueError, lambda: padding_mask([[3], [2]], 5), r"lengths has shape \(2, 1\): it must be"),
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
    (
        ValueError,
        lambda: combine_masks(ONES, ONES[:3, :3]),
        r"masks of shapes \(5, 5\) and \(3, 3\) do not broadcast",
    ),
    (
        ValueError,
        lambda: combine_masks(padding_mask([5, 2], L), ONES.expand(2, 2, L, L)),
        r"shapes \(2, 1, 5\) and \(2, 2, 5, 5\): one has no axis for the heads. Give it",
    ),
    (
        ValueError,
        lambda: combine_masks(ONES, ONES.to("meta")),
        "the masks must share one device, got .+, meta",
    ),
]


@pytest.mark.parametrize(("error", "call", "message"), BAD)
def test_bad_input_is_named(error, call, message):
    with pytest.raises(error, match=message):
        call()


# --- patterns for long sequences -------------------------------------------------------------


@given(st.integers(0, 12), st.integers(0, 14))
def test_a_window_is_so_many_places_to_either_side(length, window):
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


@given(st.integers(0, 4), st.sets(st.integers(0, 9)))
def test_a_global_token_sees_all_and_is_seen_by_all(window, chosen):
    mask = longformer_mask(10, window, sorted(chosen))
    for i, j in itertools.product(range(10), repeat=2):
        assert mask[i, j].item() == (abs(i - j) <= window or i in chosen or j in chosen)


@given(st.integers(0, 3), st.integers(0, 4), st.integers(0, 5), st.integers(0, 10**6))
def test_bigbird_is_window_global_and_lots(window, n_global, n_random, seed):
    mask = bigbird_mask(12, window, n_global, n_random, seed)
    regular = longformer_mask(12, window, range(n_global))
    assert (mask | regular).equal(mask)
    assert ((mask & ~regular).sum(-1) <= n_random).all()
    assert mask.equal(bigbird_mask(12, window, n_global, n_random, seed))


def test_bigbirds_lots_are_so_many_and_differ_by_row_and_seed():
    mask = bigbird_mask(200, 0, 0, 5, seed=1) & ~torch.eye(200, dtype=torch.bool)
    assert mask.sum(-1).min() >= 4
    assert not mask[0].equal(mask[1])
    assert not mask.equal(bigbird_mask(200, 0, 0, 5, seed=2))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: sliding_window_mask(5, -1), ValueError, "window=-1: it must be at least 0"),
        (lambda: sliding_window_mask(5.0, 1), TypeError, "length must be an int, got float"),
        (lambda: block_mask(5, 0), ValueError, "block=0: it must be at least 1"),
        (
            lambda: longformer_mask(5, 1, [0, 5]),
            ValueError,
            "global_tokens has 5, but the last position is 4",
        ),
        (lambda: longformer_mask(5, 1, [-1]), ValueError, "one of global_tokens=-1: it must be at"),
        (
            lambda: bigbird_mask(5, 1, 6, 0, 0),
            ValueError,
            "n_global=6, but there are only 5 positions",
        ),
        (
            lambda: bigbird_mask(5, 1, 0, 6, 0),
            ValueError,
            "n_random=6, but there are only 5 positions",
        ),
    ],
)
def test_bad_patterns_are_named(call, error, message):
    with pytest.raises(error, match=message):
        call()
