"""Grouped-query attention: the same result as with copied key heads, without copying any."""

from functools import partial

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from attnbook import (
    GroupedQueryAttention,
    KVCache,
    Rotary,
    RotaryScaling,
    alibi_bias,
    blocked_attention,
    causal_mask,
    chunked_attention,
    fused_attention,
    linear_attention,
    merge_heads,
    scaled_dot_product_attention,
    sink_mask,
    split_heads,
    window_attention,
)
from attnbook.notebook.cost import cost
from tests.support.draws import drawn

B, H, L, DK = 7, 6, 5, 4
D = H * DK
KV = [1, 2, 3, H]
LLAMA_3_1 = Rotary(500_000.0, RotaryScaling(original_length=8))


def some_mask(*size: int) -> Tensor:
    return torch.rand(*size, generator=torch.Generator().manual_seed(1)) < 0.6


def grouped(n_kv_heads: int = 2, **options) -> GroupedQueryAttention:
    torch.manual_seed(0)
    return GroupedQueryAttention(D, H, n_kv_heads, **options).double()


# --- the same as with copies -------------------------------------------------------------------


def with_copies(
    layer: GroupedQueryAttention,
    x: Tensor,
    mask: Tensor | None,
    bias: Tensor | None = None,
    attend=scaled_dot_product_attention,
) -> tuple[Tensor, Tensor]:
    """The definition of groups: each key and value head is repeated for its query heads."""
    query = split_heads(layer.w_q(x), layer.n_heads)
    key, value = (
        split_heads(w(x), layer.n_kv_heads).repeat_interleave(H // layer.n_kv_heads, dim=-3)
        for w in (layer.w_k, layer.w_v)
    )
    if mask is not None and mask.dim() == 3:
        mask = mask[:, None]  # one mask per sequence, shared by all heads
    output, weights = attend(query, key, value, mask, bias)
    return layer.w_o(merge_heads(output)), weights


MASKS = {
    "none": None,
    "(L, Lk)": some_mask(L, L),
    "(B, 1, Lk)": some_mask(B, 1, L),
    "(B, L, Lk)": some_mask(B, L, L),
    "(B, 1, L, Lk)": some_mask(B, 1, L, L),
    "(B, H, L, Lk)": some_mask(B, H, L, L),
    "(1, H, L, Lk)": some_mask(1, H, L, L),
    "(B, 1, 1, Lk)": some_mask(B, 1, 1, L),
}
BIASES = {
    "none": None,
    "(L, Lk)": drawn(L, L),
    "(H, L, Lk)": drawn(H, L, L),
    "(H, 1, 1)": drawn(H, 1, 1),
    "(B, H, L, Lk)": drawn(B, H, L, L),
}


@torch.no_grad()
@pytest.mark.parametrize("n_kv_heads", KV)
@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
@pytest.mark.parametrize("bias", BIASES.values(), ids=BIASES)
def test_groups_equal_attention_with_copied_key_heads(n_kv_heads, mask, bias):
    layer, x = grouped(n_kv_heads), drawn(B, L, D)
    expected = with_copies(layer, x, mask, bias)
    assert_close(layer(x, mask, bias), expected, rtol=0, atol=1e-12)


@torch.no_grad()
@pytest.mark.parametrize("mask", [some_mask(H, 1, L), some_mask(H, L, L), some_mask(H, H, L, L)])
def test_with_as_many_sequences_as_heads_a_mask_still_applies_per_sequence(mask):
    layer, x = grouped(), drawn(H, L, D)
    assert_close(layer(x, mask), with_copies(layer, x, mask, None), rtol=0, atol=1e-12)


@torch.no_grad()
def test_one_sequence_needs_no_batch_axis():
    layer, x, mask, bias = grouped(), drawn(L, D), some_mask(L, L), drawn(H, L, L)
    output, weights = layer(x[None], mask, bias)
    assert_close(layer(x, mask, bias), (output[0], weights[0]), rtol=0, atol=1e-12)


# --- without copies ----------------------------------------------------------------------------


@torch.no_grad()
@pytest.mark.parametrize("new", [1, 2, 4])
@pytest.mark.parametrize("attend", [scaled_dot_product_attention, fused_attention])
def test_new_rows_make_the_new_cache_and_no_copies_of_its_keys(attend, new):
    """With copies, they would create several times as many keys and values."""
    layer, cache = GroupedQueryAttention(D, 8, 2, d_k=128, attend=attend), KVCache()
    cache.update(*torch.randn(2, 1, 2, 2000, 128))
    mask = causal_mask(2000 + new)[2000:]
    step = cost(lambda: layer(torch.randn(1, new, D), mask, cache=cache))
    assert cache.key is not None
    keys = cache.key.nbytes / 1e6
    assert cache.key.shape == (1, 2, 2000 + new, 128)
    assert 2 * keys < step.megabytes < 2.5 * keys


@torch.no_grad()
@pytest.mark.parametrize("n_kv_heads", [1, 2])
@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
@pytest.mark.parametrize("bias", BIASES.values(), ids=BIASES)
@pytest.mark.parametrize(
    "attend", [scaled_dot_product_attention, blocked_attention, fused_attention]
)
def test_several_new_rows_equal_attention_with_copied_key_heads(attend, n_kv_heads, mask, bias):
    layer, x, cache = grouped(n_kv_heads, attend=attend), drawn(B, L, D), KVCache()
    output, weights = with_copies(layer, x, mask, bias)

    def newest(table: Tensor | None) -> Tensor | None:  # the rows of the last three positions
        return None if table is None else table[..., -3:, :]

    layer(x[:, :2], cache=cache)
    found, looks = layer(x[:, 2:], newest(mask), newest(bias), cache)
    assert_close(found, output[:, 2:], rtol=0, atol=1e-12)
    if attend is not fused_attention:
        assert_close(looks, weights[:, :, 2:], rtol=0, atol=1e-12)


# --- step by step ------------------------------------------------------------------------------


@torch.no_grad()
@pytest.mark.parametrize("rotary", [None, LLAMA_3_1])
@pytest.mark.parametrize("pieces", [[1] * 9, [4, 1, 1, 3]])
def test_with_a_cache_the_outputs_equal_those_of_one_pass(rotary, pieces):
    layer, x, cache = grouped(3, rotary=rotary, qk_norm=True), drawn(B, 9, D), KVCache()
    whole, weights = layer(x, mask=causal_mask(9))
    end = 0
    for n in pieces:
        start, end = end, end + n
        part, looks = layer(x[:, start:end], mask=causal_mask(end)[start:], cache=cache)
        assert_close(part, whole[:, start:end], rtol=0, atol=1e-12)
        assert_close(looks, weights[:, :, start:end, :end], rtol=0, atol=1e-12)
    assert cache.key is not None
    assert cache.key.shape == (B, 3, 9, DK)


@torch.no_grad()
@pytest.mark.parametrize("rotary", [None, LLAMA_3_1])
def test_a_window_with_sinks_equals_its_mask(rotary):
    layer, x, cache = grouped(2, rotary=rotary), drawn(B, 12, D), KVCache(window=4, n_sinks=2)
    mask = sink_mask(12, 4, 2)
    whole, _ = layer(x, mask=mask)
    assert_close(layer(x[:, :7], mask=mask[:7, :7], cache=cache)[0], whole[:, :7])
    for t in range(7, 12):
        row, weights = layer(x[:, t : t + 1], cache=cache)
        assert_close(row, whole[:, t : t + 1], rtol=0, atol=1e-12)
        assert weights.size(-1) == 6


@torch.no_grad()
@pytest.mark.parametrize("pieces", [[1] * 9, [4, 1, 1, 3]])
def test_keys_rotated_on_read_give_the_outputs_of_one_pass_while_all_are_kept(pieces):
    layer, x = grouped(3, rotary=LLAMA_3_1, qk_norm=True), drawn(B, 9, D)
    whole, weights = layer(x, mask=causal_mask(9))
    cache, end = KVCache(rotate_on_read=True), 0
    for n in pieces:
        start, end = end, end + n
        part, looks = layer(x[:, start:end], mask=causal_mask(end)[start:], cache=cache)
        assert_close(part, whole[:, start:end], rtol=0, atol=1e-12)
        assert_close(looks, weights[:, :, start:end, :end], rtol=0, atol=1e-12)


@torch.no_grad()
def test_keys_rotated_on_read_are_at_their_positions_in_the_cache():
    """The last of 12 rows gets the output that it has after the rows that are still kept."""
    layer, x = grouped(2, rotary=LLAMA_3_1), drawn(B, 12, D)
    cache = KVCache(window=4, n_sinks=2, rotate_on_read=True)
    rows = [layer(row, cache=cache)[0] for row in x.split(1, dim=1)]
    for t in (3, 5, 6, 11):
        kept = sink_mask(12, 4, 2)[t]
        expected, _ = layer(x[:, kept], causal_mask(int(kept.sum())))
        assert_close(rows[t][:, 0], expected[:, -1], rtol=0, atol=1e-12)
    with pytest.raises(ValueError, match="a cache with rotate_on_read counts them"):
        layer(x[:, :1], cache=cache, positions=torch.tensor([12]))


@torch.no_grad()
def test_a_bias_and_a_mask_for_each_head_reach_the_scores_of_a_step():
    layer, x, cache = grouped(), drawn(B, 9, D), KVCache()
    bias = alibi_bias(H, 9, 9).double()
    mask = causal_mask(9) & some_mask(B, H, 9, 9)
    whole, weights = layer(x, mask=mask, bias=bias)
    assert weights[~mask].eq(0).all()
    for t in range(9):
        now = {"mask": mask[:, :, t : t + 1, : t + 1], "bias": bias[:, t : t + 1, : t + 1]}
        row = layer(x[:, t : t + 1], cache=cache, **now)[0]
        assert_close(row, whole[:, t : t + 1], rtol=0, atol=1e-12)


# --- the layer ---------------------------------------------------------------------------------


def test_gradients_reach_every_parameter_and_own_functions_get_every_head():
    calls = []

    def attend(*arguments):
        calls.append([x.shape for x in arguments[:3]])
        return scaled_dot_product_attention(*arguments)[0], None

    layer = grouped(2, d_k=8, bias=True, qk_norm=True, rotary=Rotary(), attend=attend)
    output, weights = layer(drawn(B, L, D))
    output.square().sum().backward()
    step, step_weights = layer(drawn(B, 1, D))
    assert calls == [[(B, 6, L, 8)] * 3, [(B, 6, 1, 8)] * 3]
    assert step.shape == (B, 1, D)
    assert weights is step_weights is None
    for name, parameter in layer.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().max() > 1e-3, name


@pytest.mark.parametrize(
    ("sizes", "options", "message"),
    [
        ((10, 3, 1), {}, "d_model=10 is not divisible by n_heads=3"),
        ((0, 3, 1), {"d_k": 2}, "d_model=0: it must be at least 1"),
        ((24, 6, 4), {}, "n_heads=6 is not divisible by n_kv_heads=4: each key head"),
        ((24, 6, 0), {}, "n_kv_heads=0: it must be at least 1"),
        ((24, 6, 2), {"d_k": 0}, "d_k=0: it must be at least 1"),
        ((15, 3, 1), {"rotary": Rotary()}, "the width of a head=5 is odd: its columns are taken"),
        ((24, 6, 2), {"d_k": 3, "rotary": Rotary()}, "the width of a head=3 is odd"),
    ],
)
def test_invalid_sizes_of_a_layer_are_named(sizes, options, message):
    with pytest.raises(ValueError, match=message):
        GroupedQueryAttention(*sizes, **options)


@pytest.mark.parametrize(
    ("x", "options", "message"),
    [
        (drawn(B, L, D - 1), {}, "so its rows have width 23: d_model=24 is expected"),
        (drawn(1, B, L, D), {}, r"x has shape \(1, 7, 5, 24\): it must be \(L, D\) or"),
        (drawn(B, L, D), {"mask": some_mask(L, 5)}, r"mask of shape \(5, 5\) does not .* 5, 6\)"),
        (drawn(B, L, D), {"bias": drawn(2, L, 6)}, r"bias of shape \(2, 5, 6\) does not .* 5, 6\)"),
        (drawn(B, L, D), {"bias": some_mask(L, 6)}, "bias has dtype torch.bool: it must be float"),
        (drawn(1, L, D), {}, r"key has shape \(1, 2, 5, 4\) but the cache has \(7, 2, 1, 4\)"),
    ],
)
def test_bad_input_is_named_and_does_not_change_the_cache(x, options, message):
    layer, cache = grouped(), KVCache()
    layer(drawn(B, 1, D), cache=cache)
    before = dict(vars(cache))
    with pytest.raises(ValueError, match=message):
        layer(x, cache=cache, **options)
    assert vars(cache) == before  # the very same tensors


# --- forms of attention with a rule on positions -------------------------------------------------


def only_backward(query, key, value, mask, bias):
    """A reader's own rule: the last query is at the position of the last key."""
    ago = torch.arange(key.size(-2)) - torch.arange(query.size(-2))[:, None]
    allowed = ago <= key.size(-2) - query.size(-2)
    return scaled_dot_product_attention(query, key, value, allowed, bias)


RULES = {
    "fused": partial(fused_attention, causal=True),
    "chunked": partial(chunked_attention, chunk=4, causal=True),
    "linear": partial(linear_attention, causal=True),
    "window": partial(window_attention, window=1),
    "no window": partial(window_attention, window=0),
    "own": only_backward,
}


@pytest.mark.parametrize("n_kv_heads", [1, 2])
@pytest.mark.parametrize("length", [1, 2, L])
@pytest.mark.parametrize("attend", RULES.values(), ids=RULES)
def test_a_rule_on_positions_compares_tokens_and_not_heads(attend, length, n_kv_heads):
    layer, x = grouped(n_kv_heads, attend=attend), drawn(B, length, D)
    assert_close(layer(x), with_copies(layer, x, None, attend=attend), rtol=0, atol=1e-12)


@torch.no_grad()
@pytest.mark.parametrize("n_kv_heads", [1, 2])
@pytest.mark.parametrize("attend", RULES.values(), ids=RULES)
def test_a_step_with_as_many_keys_as_heads_in_a_group_is_no_text(attend, n_kv_heads):
    layer, x, cache = grouped(n_kv_heads, attend=attend), drawn(B, H // n_kv_heads, D), KVCache()
    layer(x[:, :-1], cache=cache)
    if attend is only_backward:
        assert_close(layer(x[:, -1:], cache=cache)[0], layer(x)[0][:, -1:])
    else:
        with pytest.raises(ValueError, match=rf"query has 1 row and key has {x.size(1)}: "):
            layer(x[:, -1:], cache=cache)


@torch.no_grad()
@pytest.mark.parametrize(
    "attend", [blocked_attention, chunked_attention, fused_attention, linear_attention]
)
def test_every_form_takes_steps_with_a_padding_mask(attend):
    layer, x, cache = grouped(attend=attend), drawn(B, L, D), KVCache()
    shown = some_mask(B, 1, 1, L)
    expected, _ = with_copies(layer, x, shown, attend=attend)
    layer(x[:, :-1], shown[..., :-1], cache=cache)
    assert_close(layer(x[:, -1:], shown, cache=cache)[0], expected[:, -1:], rtol=0, atol=1e-12)


@torch.no_grad()
def test_positions_account_for_missing_rows():
    """Rows at 0, 1, 4, 5 and 8 get the same output as in a sequence of 9 with the others hidden."""
    layer, at = grouped(rotary=LLAMA_3_1), torch.tensor([0, 1, 4, 5, 8])
    long, hidden = drawn(B, 9, D), torch.zeros(9, dtype=torch.bool)
    hidden[at] = True
    expected, _ = layer(long, hidden & causal_mask(9))
    output, _ = layer(long[:, at], causal_mask(L), positions=at)
    assert_close(output, expected[:, at])
    assert not torch.allclose(output, layer(long[:, at], causal_mask(L))[0])


def test_positions_need_rotary():
    with pytest.raises(ValueError, match="positions were given, but this layer uses none"):
        grouped()(drawn(B, L, D), positions=torch.arange(L))


def test_rotary_has_to_be_a_rotary():
    with pytest.raises(TypeError, match=r"rotary must be a Rotary, such as Rotary\(\), got True"):
        GroupedQueryAttention(24, 6, 2, rotary=True)


def test_a_step_accepts_a_scalar_bias():
    layer, x = grouped(2), drawn(B, 1, D)
    assert_close(layer(x, bias=torch.tensor(0.5, dtype=torch.float64)), layer(x))
