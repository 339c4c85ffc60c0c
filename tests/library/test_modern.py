"""KVCache: what goes in comes back, in order, and what does not fit is named."""

import pytest
import torch
from torch import Tensor

from attnbook import KVCache, MultiHeadAttention, causal_mask, split_heads

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


def test_what_was_given_back_before_does_not_change():
    cache = KVCache()
    keys, _ = cache.append(drawn(B, H, 1, DK), drawn(B, H, 1, DV))
    before = keys.clone()
    cache.append(drawn(B, H, 1, DK, seed=1), drawn(B, H, 1, DV, seed=1))
    assert keys.equal(before)


def test_rows_that_come_one_by_one_get_what_they_get_together():
    attention, x = MultiHeadAttention(H * DK, H).double(), drawn(B, L, H * DK)
    expected, _ = attention(x, mask=causal_mask(L))
    cache = KVCache()
    for t in range(L):
        row = x[:, t : t + 1]
        q, k, v = (split_heads(w(row), H) for w in (attention.w_q, attention.w_k, attention.w_v))
        output, _ = attention.attend(q, *cache.append(k, v))
        merged = output.transpose(1, 2).flatten(-2)
        torch.testing.assert_close(attention.w_o(merged), expected[:, t : t + 1])


def test_select_keeps_drops_and_doubles_sequences():
    key, value, cache = drawn(3, H, L, DK), drawn(3, H, L, DV), KVCache()
    cache.select(torch.tensor([0]))  # nothing is there yet
    cache.append(key, value)
    cache.select(torch.tensor([2, 0, 2]))
    keys, values = cache.append(key[:, :, :0], value[:, :, :0])
    assert keys.equal(key[[2, 0, 2]])
    assert values.equal(value[[2, 0, 2]])


@pytest.mark.parametrize(
    ("first", "then", "error", "message"),
    [
        (
            None,
            (drawn(B, L, DK), drawn(B, L + 1, DV)),
            ValueError,
            r"key has shape \(2, 5, 4\) but value has \(2, 6, 7\): each key needs one value",
        ),
        (
            (drawn(B, 1, DK), drawn(B, 1, DV)),
            (drawn(B, 1, DK + 1), drawn(B, 1, DV)),
            ValueError,
            r"key has shape \(2, 1, 5\) but the cache has \(2, 1, 4\): all but the length",
        ),
        (
            (drawn(B, 1, DK), drawn(B, 1, DV)),
            (drawn(B, 1, DK), drawn(1, 1, DV)),
            ValueError,
            r"value has shape \(1, 1, 7\) but the cache has \(2, 1, 7\)",
        ),
        (
            (drawn(1, DK), drawn(1, DV)),
            (drawn(1, DK).float(), drawn(1, DV)),
            ValueError,
            "share one dtype, got key: torch.float32, the cache: torch.float64",
        ),
        (None, (drawn(DK), drawn(DV)), ValueError, r"key has shape \(4,\): it needs at least"),
        (None, ([1.0], drawn(1, DV)), TypeError, "key must be a torch.Tensor, got list"),
    ],
)
def test_what_does_not_continue_a_cache_is_named(first, then, error, message):
    cache = KVCache()
    if first:
        cache.append(*first)
    before = cache.length
    with pytest.raises(error, match=message):
        cache.append(*then)
    assert cache.length == before
