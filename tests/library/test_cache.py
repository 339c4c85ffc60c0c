"""The KV cache: what it keeps, returns and drops, and multi-head attention with a cache."""

import pytest
import torch
from torch.testing import assert_close

from attnbook import GroupedQueryAttention, KVCache, MultiHeadAttention, causal_mask, sink_mask
from tests.support.draws import drawn, redraw

B, H, L, DK, DV = 2, 3, 5, 4, 7
D = H * DK


# --- what a cache keeps ------------------------------------------------------------------------


@pytest.mark.parametrize("leading", [(), (B,), (B, H)])
def test_a_cache_returns_everything_in_the_order_of_arrival(leading):
    key, value, cache = drawn(*leading, L, DK), drawn(*leading, L, DV), KVCache()
    assert (cache.length, cache.n_kept) == (0, 0)
    for start, end in ((0, 2), (2, 2), (2, 3), (3, L)):
        keys, values = cache.update(key[..., start:end, :], value[..., start:end, :])
        assert keys.equal(key[..., :end, :])
        assert values.equal(value[..., :end, :])
        assert (cache.length, cache.n_kept) == (end, end)


@pytest.mark.parametrize(("window", "n_sinks"), [(4, 2), (1, 0), (3, 1), (20, 1), (1, 12)])
def test_with_a_window_it_keeps_the_first_and_last_positions(window, n_sinks):
    cache, key = KVCache(window, n_sinks), drawn(B, 12, DK)
    for t in range(12):
        keys, values = cache.update(key[:, t : t + 1], 2 * key[:, t : t + 1])
        visible = sink_mask(12, window, n_sinks)[t]
        assert keys.equal(key[:, visible])
        assert values.equal(2 * keys)
    assert cache.length == 12
    assert cache.n_kept == min(12, n_sinks + window - 1)


@pytest.mark.parametrize(("window", "n_sinks"), [(None, 0), (3, 0), (3, 1)])
def test_a_cache_holds_only_the_bytes_that_it_keeps(window, n_sinks):
    """A view would keep the whole tensor in memory, with the keys of other positions."""
    cache, rows = KVCache(window, n_sinks), drawn(B, H, 9, DK + DV)

    def held() -> tuple[int, ...]:
        kept = (cache.key, cache.value)
        return tuple(x.untyped_storage().nbytes() for x in kept if x is not None)

    for start, end in ((0, 5), (5, 6), (6, 7), (7, 8), (8, 9)):
        cache.update(*rows[:, :, start:end].split((DK, DV), dim=-1))
        places = B * H * cache.n_kept * rows.element_size()
        assert held() == (places * DK, places * DV)
    cache.reorder(torch.tensor([1]))
    assert held() == (places * DK // B, places * DV // B)


def test_a_window_takes_one_position_at_a_time_and_sinks_need_a_window():
    rows, cache = drawn(B, H, 9, DK), KVCache(window=3, n_sinks=1)
    cache.update(rows[:, :, :5], rows[:, :, :5])
    with pytest.raises(ValueError, match="key has 2 rows: a cache with a window takes one at a"):
        cache.update(rows[:, :, 5:7], rows[:, :, 5:7])
    assert cache.length == 5
    with pytest.raises(ValueError, match="n_sinks=2 needs a window"):
        KVCache(n_sinks=2)


def test_keys_rotated_on_read_enter_together_only_if_all_of_them_stay():
    rows, cache = drawn(B, H, 9, DK), KVCache(window=3, n_sinks=1, rotate_on_read=True)
    with pytest.raises(ValueError, match="key has 5 rows, but window=3 and n_sinks=1 leave 4 pos"):
        cache.update(rows[:, :, :5], rows[:, :, :5])
    assert cache.length == 0
    assert cache.update(rows[:, :, :4], rows[:, :, :4])[0].equal(rows[:, :, :4])
    assert cache.update(rows[:, :, 4:5], rows[:, :, 4:5])[0].equal(rows[:, :, [0, 2, 3, 4]])


def test_appended_tensors_may_be_overwritten():
    key, cache = drawn(B, 1, DK), KVCache()
    cache.update(key, key)
    expected = key.clone()
    key.zero_()
    assert cache.key is not None
    assert cache.key.equal(expected)


def test_reorder_keeps_drops_and_duplicates_sequences():
    key, value, cache = drawn(3, H, L, DK), drawn(3, H, L, DV), KVCache()
    cache.reorder(torch.tensor([0]))  # the cache is still empty
    cache.update(key, value)
    cache.reorder(torch.tensor([2, 0, 2]))
    keys, values = cache.update(key[:, :, :0], value[:, :, :0])
    assert keys.equal(key[[2, 0, 2]])
    assert values.equal(value[[2, 0, 2]])


def test_only_sequences_of_a_batch_can_be_reordered():
    key, cache = drawn(H, L, DK), KVCache()
    cache.update(key, key)
    with pytest.raises(ValueError, match=r"keys of shape \(3, 5, 4\): to reorder .* batch axis"):
        cache.reorder(torch.tensor([2, 0]))
    assert cache.key is not None
    assert cache.key.equal(key)


def test_gradients_flow_back_through_every_step():
    x = drawn(B, L, D).requires_grad_()
    layer, cache = GroupedQueryAttention(D, H, 1).double(), KVCache()
    expected = torch.autograd.grad(layer(x, mask=causal_mask(L))[0].square().sum(), x)[0]
    steps = [layer(x[:, t : t + 1], cache=cache)[0] for t in range(L)]
    found = torch.autograd.grad(torch.cat(steps, dim=1).square().sum(), x)[0]
    assert_close(found, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        (drawn(B, 3, DK), drawn(B, 2, DV), "key has 3 rows but value has 2: each key needs one"),
        (drawn(B, 1, 9), drawn(B, 1, DV), r"key has shape \(2, 1, 9\) but the cache has \(2, 1, 4"),
        (drawn(B, 1, DK), drawn(1, 1, DV), r"value has shape \(1, 1, 7\) but the cache has \(2,"),
        (drawn(B, 1, DK).float(), drawn(B, 1, DV), "key: torch.float32, the cache: torch.float64"),
        (drawn(DK), drawn(DV), r"key has shape \(4,\): it needs at least"),
    ],
)
def test_keys_that_do_not_fit_a_cache_are_named_and_change_nothing(key, value, message):
    cache = KVCache(window=2)
    cache.update(drawn(B, 1, DK), drawn(B, 1, DV))
    before = dict(vars(cache))
    with pytest.raises(ValueError, match=message):
        cache.update(key, value)
    assert vars(cache) == before  # the very same tensors


@pytest.mark.parametrize(
    ("sizes", "message"),
    [((0, 1), "window=0: it must be at least 1"), ((2, -1), "n_sinks=-1: it must be at least 0")],
)
def test_invalid_sizes_of_a_cache_are_named(sizes, message):
    with pytest.raises(ValueError, match=message):
        KVCache(*sizes)


# --- multi-head attention with a cache ---------------------------------------------------------


@torch.no_grad()
@pytest.mark.parametrize("leading", [(), (B,)])
@pytest.mark.parametrize("pieces", [[1] * 9, [4, 1, 3, 1]])
def test_self_attention_step_by_step_equals_causal_self_attention(leading, pieces):
    layer, x, bias = redraw(MultiHeadAttention(D, H)), drawn(*leading, 9, D), drawn(H, 9, 9)
    whole, weights = layer(x, mask=causal_mask(9), bias=bias)
    cache, end = KVCache(), 0
    for n in pieces:
        start, end = end, end + n
        rows = {"mask": causal_mask(end)[start:], "bias": bias[:, start:end, :end]}
        output, looks = layer(x[..., start:end, :], cache=cache, **rows)
        assert_close(output, whole[..., start:end, :], rtol=0, atol=1e-12)
        assert_close(looks, weights[..., start:end, :end], rtol=0, atol=1e-12)


@torch.no_grad()
def test_cross_attention_finds_the_context_in_the_cache():
    layer, cache = redraw(MultiHeadAttention(D, H, d_context=DV)), KVCache()
    query, context = drawn(B, L, D), drawn(B, 9, DV, seed=1)
    whole, _ = layer(query, context)
    for t in range(L):
        rows = layer(query[:, t : t + 1], context[:, cache.length :], cache=cache)[0]
        assert_close(rows, whole[:, t : t + 1], rtol=0, atol=1e-12)
    assert cache.n_kept == 9


YES = torch.ones(1, 1, dtype=torch.bool)


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        (drawn(B, 1, D - 1), {}, "so its rows have width 11: d_model=12 is expected"),
        (drawn(B, 1, D), {"mask": YES.expand(1, 3)}, r"mask of shape \(1, 3\) does not .* 1, 2\)"),
        (drawn(B, 1, D), {"mask": YES.double()}, "it must be boolean"),
        (drawn(B, 1, D), {"bias": drawn(1, 5)}, r"bias of shape \(1, 5\) does not broadcast"),
    ],
)
def test_a_step_that_does_not_fit_is_named_and_changes_nothing(rows, options, message):
    layer, cache = redraw(MultiHeadAttention(D, H)), KVCache()
    layer(drawn(B, 1, D), cache=cache)
    before = dict(vars(cache))
    with pytest.raises(ValueError, match=message):
        layer(rows, cache=cache, **options)
    assert vars(cache) == before
