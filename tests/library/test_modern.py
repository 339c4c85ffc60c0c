"""The cache, rotary positions, ALiBi, windows with sinks, and fewer key heads, each against a loop,
a formula or PyTorch. Against the models that use them: test_parity_models.py."""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F
from torch.testing import assert_close

from attnbook import (
    GroupedQueryAttention,
    KVCache,
    MultiHeadAttention,
    alibi_bias,
    apply_rotary,
    causal_mask,
    rotation_matrix,
    scaled_dot_product_attention,
    sink_mask,
    split_heads,
)
from attnbook.alibi import alibi_slopes

B, H, L, DK, DV = 2, 3, 5, 4, 7


def drawn(*size: int, seed: int = 0) -> Tensor:
    return torch.randn(*size, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


# --- keys and values of earlier positions ------------------------------------------------------


@pytest.mark.parametrize("leading", [(), (B,), (B, H)])
def test_a_cache_gives_back_all_in_the_order_in_which_it_came(leading):
    key, value, cache = drawn(*leading, L, DK), drawn(*leading, L, DV), KVCache()
    assert cache.length == 0
    for start, end in ((0, 2), (2, 2), (2, 3), (3, L)):
        keys, values = cache.append(key[..., start:end, :], value[..., start:end, :])
        assert keys.equal(key[..., :end, :])
        assert values.equal(value[..., :end, :])
        assert cache.length == end


@pytest.mark.parametrize("sizes", [(None, 0), (3, 1)])
def test_what_was_given_back_before_does_not_change(sizes):
    cache, given = KVCache(*sizes), []
    for t in range(9):
        with torch.set_grad_enabled(t % 4 == 0):
            keys, _ = cache.append(drawn(B, H, 1, DK, seed=t), drawn(B, H, 1, DV, seed=t))
        given.append((keys, keys.clone()))
    assert all(keys.equal(before) for keys, before in given)


@torch.no_grad()
def test_a_step_copies_no_earlier_row_but_when_the_room_is_used_up():
    cache, rooms = KVCache(), set()
    for t in range(100):
        keys, values = cache.append(drawn(B, H, 1, DK, seed=t), drawn(B, H, 1, DV, seed=t))
        rooms.add((keys.data_ptr(), values.data_ptr()))
        assert max(room.size(-2) for room in cache.rooms) <= 2 * (t + 1)
    assert len(rooms) < 8


def test_gradients_come_back_through_every_step():
    x = drawn(B, L, H * DK).requires_grad_()
    layer, cache = GroupedQueryAttention(H * DK, H, H).double(), KVCache()
    expected = torch.autograd.grad(layer(x, mask=causal_mask(L))[0].square().sum(), x)[0]
    steps = [layer(x[:, t : t + 1], cache=cache)[0] for t in range(L)]
    found = torch.autograd.grad(torch.cat(steps, dim=1).square().sum(), x)[0]
    assert_close(found, expected)


def test_select_keeps_drops_and_doubles_sequences():
    key, value, cache = drawn(3, H, L, DK), drawn(3, H, L, DV), KVCache()
    cache.select(torch.tensor([0]))  # nothing is there yet
    cache.append(key, value)
    cache.select(torch.tensor([2, 0, 2]))
    keys, values = cache.append(key[:, :, :0], value[:, :, :0])
    assert keys.equal(key[[2, 0, 2]])
    assert values.equal(value[[2, 0, 2]])


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        (drawn(B, 3, DK), drawn(B, 2, DV), r"key has shape \(2, 3, 4\) but value has \(2, 2, 7\)"),
        (drawn(B, 1, 9), drawn(B, 1, DV), r"key has shape \(2, 1, 9\) but the cache has \(2, 1, 4"),
        (drawn(B, 1, DK), drawn(1, 1, DV), r"value has shape \(1, 1, 7\) but the cache has \(2,"),
        (drawn(B, 1, DK).float(), drawn(B, 1, DV), "key: torch.float32, the cache: torch.float64"),
        (drawn(DK), drawn(DV), r"key has shape \(4,\): it needs at least"),
    ],
)
def test_what_does_not_continue_a_cache_is_named(key, value, message):
    cache = KVCache()
    cache.append(drawn(B, 1, DK), drawn(B, 1, DV))
    with pytest.raises(ValueError, match=message):
        cache.append(key, value)
    assert cache.length == 1


# --- rotary positions --------------------------------------------------------------------------


@contextmanager
def float64() -> Iterator[None]:
    """Let functions that return the default dtype return float64."""
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("leading", [(), (B,), (B, H)])
def test_each_row_is_turned_by_the_rotation_of_chapter_7(leading):
    x, positions = drawn(*leading, L, 10), torch.tensor([0, 1, 7, -3, 2])
    with float64():
        turns = torch.stack([rotation_matrix(int(t), 10) for t in positions])
    by_matrix = torch.einsum("...ld,lde->...le", x, turns)
    assert_close(apply_rotary(x, positions), by_matrix, rtol=0, atol=1e-12)


def test_each_sequence_may_have_positions_of_its_own():
    x, positions = drawn(B, H, L, 6), torch.stack((torch.arange(L), torch.arange(L) + 9))
    turned = apply_rotary(x, positions[:, None])
    for sequence, own, each in zip(x, positions, turned, strict=True):
        assert_close(apply_rotary(sequence, own), each, rtol=0, atol=0)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_turned_rows_keep_their_dtype_and_far_ones_their_digits(dtype):
    t, x = 123_457_891, drawn(1, 8)
    turned = apply_rotary(x.to(dtype), torch.tensor([t]))
    assert turned.dtype == dtype
    exact = apply_rotary(x, torch.tensor([t], dtype=torch.float64))
    assert_close(turned.double(), exact, rtol=0, atol=4 * torch.finfo(dtype).eps)


@pytest.mark.parametrize(
    ("x", "positions", "error", "message"),
    [
        (torch.ones(L, 5), torch.arange(L), ValueError, "the width of x=5 is odd: each clock hand"),
        (torch.ones(6), torch.arange(6), ValueError, r"x has shape \(6,\): it needs at least"),
        (torch.ones(L, 6), range(L), TypeError, "positions must be a torch.Tensor, got range"),
        (torch.ones(B, L, 6), torch.arange(4), ValueError, r"\(4,\) do not .* rows of x, \(2, 5\)"),
        (torch.ones(L, 6), torch.ones(B, L), ValueError, r"\(2, 5\) do not broadcast to the rows"),
    ],
)
def test_what_cannot_be_turned_is_named(x, positions, error, message):
    with pytest.raises(error, match=message):
        apply_rotary(x, positions)


# --- ALiBi -------------------------------------------------------------------------------------


def published_slopes(n_heads: int) -> list[float]:
    """What the authors describe: see their §3, and the note on other numbers of heads."""
    if (n_heads & (n_heads - 1)) == 0:
        return [2.0 ** (-8 * (h + 1) / n_heads) for h in range(n_heads)]
    lower = 1
    while 2 * lower < n_heads:
        lower *= 2
    return published_slopes(lower) + published_slopes(2 * lower)[::2][: n_heads - lower]


def test_every_number_of_heads_has_the_published_slopes():
    for n_heads in range(1, 34):
        assert_close(alibi_slopes(n_heads), torch.tensor(published_slopes(n_heads)))


def test_the_bias_is_a_slope_times_a_distance():
    n_heads, lq, lk = 6, 3, 7
    bias, slopes = alibi_bias(n_heads, lq, lk), published_slopes(n_heads)
    assert bias.shape == (n_heads, lq, lk)
    for h, i, j in itertools.product(range(n_heads), range(lq), range(lk)):
        assert bias[h, i, j] == pytest.approx(-slopes[h] * abs(lk - lq + i - j))


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ((0, 2, 3), "n_heads=0: it must be at least 1"),
        ((2, 4, 3), "lq=4 but lk=3: the queries are the last of the keys' positions"),
        ((2, -1, 3), "lq=-1: it must be at least 0"),
        ((2, 0, -1), "lk=-1: it must be at least 0"),
    ],
)
def test_sizes_of_a_bias_that_do_not_fit_are_named(sizes, message):
    with pytest.raises(ValueError, match=message):
        alibi_bias(*sizes)


# --- windows with sinks ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("length", "window", "n_sinks"), [(9, 3, 2), (7, 1, 0), (5, 4, 9), (0, 2, 1)]
)
def test_the_mask_shows_the_first_and_the_last(length, window, n_sinks):
    mask = sink_mask(length, window, n_sinks)
    assert mask.shape == (length, length)
    for i, j in itertools.product(range(length), repeat=2):
        assert mask[i, j] == (j <= i and (i - j < window or j < n_sinks))


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ((-1, 2, 1), "length=-1: it must be at least 0"),
        ((5, 0, 1), "window=0: it must be at least 1"),
        ((5, 2, -1), "n_sinks=-1: it must be at least 0"),
    ],
)
def test_sizes_of_a_window_that_do_not_fit_are_named(sizes, message):
    with pytest.raises(ValueError, match=message):
        sink_mask(*sizes)
    if sizes[0] > 0:
        with pytest.raises(ValueError, match=message):
            KVCache(*sizes[1:])


@pytest.mark.parametrize(("window", "n_sinks"), [(4, 2), (1, 0), (3, 1), (20, 1), (1, 12)])
def test_a_cache_keeps_the_first_and_the_last(window, n_sinks):
    cache, key = KVCache(window, n_sinks), drawn(B, 12, DK)
    for t in range(12):
        keys, values = cache.append(key[:, t : t + 1], 2 * key[:, t : t + 1])
        visible = sink_mask(12, window, n_sinks)[t]
        assert keys.equal(key[:, visible])
        assert values.equal(2 * keys)
    assert cache.length == 12


# --- fewer key heads ---------------------------------------------------------------------------

D = 24  # d_model: 6 heads of width 4
KV = [1, 2, 3, 6]


def grouped(n_kv_heads: int = 2, **options) -> GroupedQueryAttention:
    torch.manual_seed(0)
    return GroupedQueryAttention(D, 6, n_kv_heads, **options).double()


def test_as_many_key_heads_as_heads_is_multi_head_attention():
    ours, multi_head = grouped(6), MultiHeadAttention(D, 6, bias=False).double()
    multi_head.load_state_dict(ours.state_dict())
    x, mask, bias = drawn(B, L, D), torch.rand(B, L, L) < 0.5, drawn(6, L, L)
    assert_close(ours(x), multi_head(x))
    assert_close(ours(x, mask=mask, bias=bias), multi_head(x, mask=mask, bias=bias))


@pytest.mark.parametrize("n_kv_heads", KV)
def test_pytorchs_own_grouped_queries_give_the_same(n_kv_heads):
    layer, x = grouped(n_kv_heads), drawn(B, L, D)
    q = split_heads(layer.w_q(x), 6)
    k, v = (split_heads(w(x), n_kv_heads) for w in (layer.w_k, layer.w_v))
    mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
    assert_close(layer(x, mask=causal_mask(L))[0], layer.w_o(mixed.transpose(1, 2).flatten(2)))


@pytest.mark.parametrize("rotary", [False, True])
@pytest.mark.parametrize("steps", [[1] * 9, [4, 1, 1, 3], [9]])
def test_with_a_cache_rows_get_what_they_get_together(rotary, steps):
    layer, x, cache = grouped(3, rotary=rotary), drawn(B, 9, D), KVCache()
    whole, weights = layer(x, mask=causal_mask(9))
    end = 0
    for n in steps:
        start, end = end, end + n
        part, looks = layer(x[:, start:end], mask=causal_mask(end)[start:], cache=cache)
        assert_close(part, whole[:, start:end])
        assert_close(looks, weights[:, :, start:end, :end])
    assert cache.key is not None
    assert cache.key.shape == (B, 3, 9, 4)


@pytest.mark.parametrize("rotary", [False, True])
def test_with_a_window_and_sinks_rows_get_what_their_mask_gives(rotary):
    layer, x, cache = grouped(2, rotary=rotary), drawn(B, 12, D), KVCache(window=4, n_sinks=2)
    mask = sink_mask(12, 4, 2)
    whole, _ = layer(x, mask=mask)
    assert_close(layer(x[:, :7], mask=mask[:7, :7], cache=cache)[0], whole[:, :7])
    for t in range(7, 12):
        row, weights = layer(x[:, t : t + 1], cache=cache)
        assert_close(row, whole[:, t : t + 1])
        assert weights.size(-1) == 6


def test_a_bias_and_a_mask_for_each_head_reach_the_scores():
    layer, x, cache = grouped(), drawn(B, 9, D), KVCache()
    bias = alibi_bias(6, 9, 9).double()
    mask = causal_mask(9) & (torch.rand(B, 6, 9, 9) < 0.7)
    whole, weights = layer(x, mask=mask, bias=bias)
    assert weights[~mask].eq(0).all()
    for t in range(9):
        now = {"mask": mask[:, :, t : t + 1, : t + 1], "bias": bias[:, t : t + 1, : t + 1]}
        assert_close(layer(x[:, t : t + 1], cache=cache, **now)[0], whole[:, t : t + 1])


def test_gradients_reach_every_matrix_and_the_seam_is_used():
    calls = []

    def attend(*arguments):
        calls.append(arguments[0].shape)
        return scaled_dot_product_attention(*arguments)

    layer = grouped(2, rotary=True, attend=attend)
    layer(drawn(B, L, D))[0].sum().backward()
    assert calls == [(B, 6, L, 4)]
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in layer.parameters())


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ((10, 3, 1), "d_model=10 is not divisible by n_heads=3"),
        ((24, 6, 4), "n_heads=6 is not divisible by n_kv_heads=4: each key head"),
        ((24, 6, 0), "n_kv_heads=0: it must be at least 1"),
        ((15, 3, 1), "the width of a head=5 is odd: each clock"),
    ],
)
def test_sizes_of_a_layer_that_do_not_fit_are_named(sizes, message):
    with pytest.raises(ValueError, match=message):
        GroupedQueryAttention(*sizes, rotary=True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((torch.ones(B, L, D - 1),), "so its rows have width 23: d_model=24 is expected"),
        ((torch.ones(1, B, L, D),), r"x has shape \(1, 2, 5, 24\): it must be \(L, D\) or"),
        ((torch.ones(B, L, D), torch.ones(L, 4).bool()), r"mask of shape \(5, 4\) does not"),
    ],
)
def test_rows_that_do_not_fit_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        GroupedQueryAttention(D, 6, 2)(*arguments)
