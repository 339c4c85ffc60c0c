"""SelfAttention, split, merge, MultiHeadAttention: definition, parity with PyTorch, edge cases."""

import copy

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close

from attnbook import (
    MultiHeadAttention,
    SelfAttention,
    merge_heads,
    padding_mask,
    split_heads,
)
from tests.support.draws import drawn, redraw

B, H, LQ, LK, DK = 2, 3, 5, 7, 4
D, DC = H * DK, 10  # model width, context width


def layer(d_context: int | None = None, seed: int = 0, **options) -> MultiHeadAttention:
    return redraw(MultiHeadAttention(D, H, d_context=d_context, **options), seed)


def some_mask(*size: int, seed: int = 1) -> torch.Tensor:
    """A random mask in which every query may attend to at least one key."""
    mask = torch.rand(*size, generator=torch.Generator().manual_seed(seed)) > 0.5
    mask[..., 2] = True
    return mask


# --- one head --------------------------------------------------------------------------------


def test_one_head_is_three_matrices_and_attention():
    head, x = redraw(SelfAttention(DC, DK, 6)), drawn(B, LQ, DC)
    mask = some_mask(LQ, LQ)
    expected = F.scaled_dot_product_attention(
        x @ head.w_q.weight.T, x @ head.w_k.weight.T, x @ head.w_v.weight.T, mask
    )
    output, weights = head(x, mask)
    assert_close(output, expected, rtol=0, atol=1e-12)
    assert weights.shape == (B, LQ, LQ)
    assert weights[:, ~mask].eq(0).all()
    assert sum(p.numel() for p in head.parameters()) == DC * (DK + DK + 6)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: SelfAttention(0, 1, 1), ValueError, "d_model=0: it must be at least 1"),
        (lambda: SelfAttention(1, -1, 1), ValueError, "d_k=-1: it must be at least 1"),
        (lambda: SelfAttention(1, 1, 2.0), TypeError, "d_v must be an int, got float"),
        (lambda: SelfAttention(1, True, 1), TypeError, "d_k must be an int, got bool"),
        (lambda: SelfAttention(4, 2, 2)(torch.ones(3, 5)), ValueError, "have width 5: d_model=4"),
    ],
)
def test_one_head_names_bad_input(make, error, message):
    with pytest.raises(error, match=message):
        make()


# --- split and merge -------------------------------------------------------------------------

LEADING = st.lists(st.integers(0, 3), max_size=2)
SIZES = st.tuples(LEADING, st.integers(0, 4), st.integers(1, 4), st.integers(0, 3))


@given(SIZES)
def test_merge_undoes_split(sizes):
    leading, length, n_heads, width = sizes
    x = drawn(*leading, n_heads * width, length).mT
    pieces = split_heads(x, n_heads)
    assert pieces.shape == (*leading, n_heads, length, width)
    assert merge_heads(pieces).equal(x)


def test_each_head_gets_neighboring_columns_of_every_token():
    tokens, channels = torch.arange(LQ, dtype=torch.float64), torch.arange(D, dtype=torch.float64)
    x = 100 * tokens[:, None] + channels  # 307 is channel 7 of token 3
    pieces = split_heads(x, H)
    for h in range(H):
        assert pieces[h].equal(x[:, h * DK : (h + 1) * DK])
        assert (pieces[h] // 100).equal(tokens[:, None].expand(LQ, DK))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: split_heads(torch.ones(2, 10), 3), ValueError, "width 10 is not divisible by n_h"),
        (lambda: split_heads(torch.ones(10), 2), ValueError, r"it needs at least \(length, width"),
        (lambda: split_heads(torch.ones(2, 4), 0), ValueError, "n_heads=0: it must be at least 1"),
        (lambda: split_heads(torch.ones(2, 4), 2.0), TypeError, "n_heads must be an int"),
        (lambda: split_heads([1.0], 1), TypeError, "x must be a torch.Tensor, got list"),
        (lambda: split_heads(torch.ones(2, 4).long(), 2), ValueError, "must be floating point"),
        (lambda: merge_heads(torch.ones(2, 4)), ValueError, r"at least \(heads, length, width\)"),
        (lambda: merge_heads(None), TypeError, "x must be a torch.Tensor, got NoneType"),
    ],
)
def test_split_and_merge_name_bad_input(call, error, message):
    with pytest.raises(error, match=message):
        call()


# --- many heads: the definition --------------------------------------------------------------


def test_omitted_arguments_are_filled_from_the_left():
    attention, query, key = layer(), drawn(B, LQ, D), drawn(B, LK, D, seed=1)
    assert_close(attention(query), attention(query, query, query), rtol=0, atol=0)
    assert_close(attention(query, key), attention(query, key, key), rtol=0, atol=0)
    other = drawn(B, LK, D, seed=2)
    assert not torch.allclose(attention(query, key, other)[0], attention(query, key)[0])


def test_gradients_are_right():
    attention, query, key = layer(DC), drawn(1, 2, D), drawn(1, 3, DC, seed=1)
    mask = torch.tensor([[True, False, True], [False, False, False]])

    def call(query, key):
        return attention(query, key, mask=mask)

    assert torch.autograd.gradcheck(call, (query.requires_grad_(), key.requires_grad_()))


def test_no_argument_is_written_to_and_nothing_is_kept():
    attention, mask, bias = layer(DC), some_mask(B, LQ, LK), drawn(H, LQ, LK)
    arguments = [drawn(B, LQ, D), drawn(B, LK, DC), drawn(B, LK, DC, seed=1), mask, bias]
    before, kept = [x.clone() for x in arguments], set(vars(attention))
    first = attention(*arguments)
    assert all(x.equal(old) for x, old in zip(arguments, before, strict=True))
    assert set(vars(attention)) == kept
    assert_close(attention(*arguments), first, rtol=0, atol=0)


# --- parity with PyTorch ---------------------------------------------------------------------


def pytorchs(*, bias: bool = True, d_context: int | None = None, batch_first: bool = True):
    other = nn.MultiheadAttention(
        D, H, bias=bias, kdim=d_context, vdim=d_context, batch_first=batch_first
    )
    return redraw(other, seed=3)


MASKS = {
    "none": None,
    "causal": torch.ones(LQ, LK).tril(1).bool(),
    "padding": padding_mask([7, 4], LK),
    "a mask each": some_mask(B, LQ, LK),
    "a mask per head": some_mask(B, H, LQ, LK),
    "one mask per head": some_mask(1, H, LQ, LK),
}


def inverted(mask):
    """Our mask as PyTorch's attn_mask, (B * H, Lq, Lk), where True means "may not attend"."""
    if mask is None:
        return None
    mask = mask.unsqueeze(1) if mask.dim() == 3 else mask
    return ~mask.expand(B, H, LQ, LK).reshape(B * H, LQ, LK)


@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("d_context", [None, DC])
@pytest.mark.parametrize("bias", [True, False])
def test_it_equals_pytorchs_with_the_same_weights(bias, d_context, batch_first, mask):
    other = pytorchs(bias=bias, d_context=d_context, batch_first=batch_first)
    ours = MultiHeadAttention.from_torch(other)
    width = d_context or D
    query, key, value = drawn(B, LQ, D), drawn(B, LK, width, seed=1), drawn(B, LK, width, seed=2)
    theirs = (query, key, value)
    if not batch_first:
        theirs = tuple(x.transpose(0, 1) for x in theirs)
    expected, expected_weights = other(
        *theirs, attn_mask=inverted(mask), average_attn_weights=False
    )
    if not batch_first:
        expected = expected.transpose(0, 1)
    output, weights = ours(query, key, value, mask)
    assert_close(output, expected, rtol=0, atol=1e-12)
    assert_close(weights, expected_weights, rtol=0, atol=1e-12)


def test_weights_are_copied_not_shared():
    other = pytorchs()
    before = copy.deepcopy(other.state_dict())
    ours = MultiHeadAttention.from_torch(other)
    assert ours.w_q.weight.dtype == torch.float64
    assert all(p.requires_grad and p.is_leaf for p in ours.parameters())
    with torch.no_grad():
        for parameter in ours.parameters():
            parameter.zero_()
    assert all(x.equal(before[name]) for name, x in other.state_dict().items())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kdim": 8, "vdim": 9}, "kdim=8 and vdim=9: MultiHeadAttention needs kdim == vdim"),
        (
            {"add_bias_kv": True},
            "add_bias_kv and add_zero_attn add keys that MultiHeadAttention does not have",
        ),
        ({"add_zero_attn": True}, "add_bias_kv and add_zero_attn"),
    ],
)
def test_from_torch_refuses_what_ours_does_not_have(options, message):
    with pytest.raises(ValueError, match=message):
        MultiHeadAttention.from_torch(nn.MultiheadAttention(D, H, **options))
    with pytest.raises(TypeError, match=r"expected torch\.nn\.MultiheadAttention, got Linear"):
        MultiHeadAttention.from_torch(nn.Linear(D, D))


@pytest.mark.parametrize(
    ("position", "pair", "message"),
    [
        (1, (drawn(D, DC), None), "only w_q, w_v, w_o have a bias: all four need one, or none"),
        (2, (drawn(DC, D), drawn(D)), r"w_v has shape \(10, 12\): \(12, 10\) is expected"),
        (0, (drawn(DC, D), drawn(D)), r"w_q has shape \(10, 12\): \(12, 12\) is expected"),
        (3, (drawn(D, DC), drawn(D)), r"w_o has shape \(12, 10\): \(12, 12\) is expected"),
        (0, (drawn(D, D + 1), drawn(D)), "d_model=13 is not divisible by n_heads=3"),
        (3, (drawn(D, D), drawn(DC)), r"the bias of w_o has shape \(10,\): \(12,\) is expected"),
        (3, (drawn(D, D), drawn(1)), r"the bias of w_o has shape \(1,\): \(12,\) is expected"),
    ],
)
def test_from_weights_names_what_does_not_fit(position, pair, message):
    four = [(drawn(D, width), drawn(D)) for width in (D, DC, DC, D)]
    four[position] = pair
    with pytest.raises(ValueError, match=message):
        MultiHeadAttention.from_weights(H, *four)


# --- another function as `attend` ------------------------------------------------------------


def test_attend_is_called_once_with_split_heads_and_its_result_is_used():
    calls = []

    def mine(*arguments):
        calls.append(arguments)
        _, _, value, *_ = arguments
        return value[..., :1, :].expand(-1, -1, LQ, -1), "my weights"

    attention = layer(DC, attend=mine)
    query, key, bias = drawn(B, LQ, D), drawn(B, LK, DC, seed=1), drawn(H, LQ, LK)
    output, weights = attention(query, key, mask=MASKS["padding"], bias=bias)
    ((q, k, v, mask, passed),) = calls
    assert (q.shape, k.shape, v.shape) == ((B, H, LQ, DK), (B, H, LK, DK), (B, H, LK, DK))
    assert mask.shape == (B, 1, 1, LK)
    assert passed is bias
    assert weights == "my weights"
    first = attention.w_o(attention.w_v(key[:, :1]))
    assert_close(output, first.expand(-1, LQ, -1), rtol=0, atol=1e-12)


# --- masks -----------------------------------------------------------------------------------

N = 4  # B = H = Lq = Lk: here a mask on the wrong axis raises no error


def square(mask: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
    """The weights of N heads over N tokens in N sequences."""
    attention = redraw(MultiHeadAttention(2 * N, N))
    return attention(drawn(N, N, 2 * N), mask=mask, bias=bias)[1]


@pytest.mark.parametrize(
    ("mask", "expected"),
    [
        (some_mask(N, N), lambda mask: mask),
        (some_mask(N, N, N), lambda mask: mask[:, None]),  # per sequence, not per head
        (padding_mask([1, 2, 3, 4], N), lambda mask: mask[:, None]),
        (some_mask(N, N, N, N), lambda mask: mask),
        (some_mask(1, N, N, N), lambda mask: mask),  # shared along an axis of length 1
        (some_mask(N, 1, 1, N), lambda mask: mask),
    ],
)
def test_a_mask_applies_along_its_documented_axes(mask, expected):
    assert (square(mask) > 0).equal(expected(mask).expand(N, N, N, N))


def test_a_3d_bias_is_per_head():
    bias = torch.where(some_mask(N, N, N), 0.0, -torch.inf)  # (H, Lq, Lk)
    everything = torch.ones(N, N, dtype=torch.bool)
    assert (square(everything, bias) > 0).equal((bias == 0).expand(N, N, N, N))


def test_the_mask_of_a_context_that_all_sequences_share():
    attention, query, key = layer(DC), drawn(B, LQ, D), drawn(LK, DC, seed=1)
    mask = some_mask(B, LQ, LK)
    expected = attention(query, key.expand(B, LK, DC), mask=mask)
    assert_close(attention(query, key, mask=mask), expected, rtol=0, atol=1e-12)
    assert_close(attention(query, key[None], mask=mask), expected, rtol=0, atol=1e-12)
    one, many = query[:1], key.expand(B, LK, DC)
    assert_close(attention(one, many, mask=mask)[1] > 0, (mask[:, None]).expand(B, H, LQ, LK))


# --- edges -----------------------------------------------------------------------------------


def test_a_query_that_may_attend_to_nothing_gets_only_the_bias():
    attention, mask = layer(DC), some_mask(B, LQ, LK)
    mask[1, 3] = False
    output, weights = attention(drawn(B, LQ, D), drawn(B, LK, DC), mask=mask)
    assert weights[1, :, 3].eq(0).all()
    assert output[1, 3].equal(attention.w_o.bias)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize(
    ("leading", "lq", "lk"),
    [((0,), LQ, LK), ((B,), 0, LK), ((B,), LQ, 0), ((B,), 0, 0), ((B,), 1, 1), ((), 1, LK)],
)
def test_empty_inputs_and_single_rows(leading, lq, lk, masked):
    attention, mask = layer(DC), torch.ones(lq, lk, dtype=torch.bool) if masked else None
    query, key = drawn(*leading, lq, D).requires_grad_(), drawn(*leading, lk, DC)
    output, weights = attention(query, key, mask=mask)
    assert output.shape == (*leading, lq, D)
    assert weights.shape == (*leading, H, lq, lk)
    if lk == 0:
        assert_close(output, attention.w_o.bias.expand_as(output), rtol=0, atol=0)
    if lk == 1:
        assert_close(output, attention.w_o(attention.w_v(key)), rtol=0, atol=1e-12)
    output.sum().backward()
    assert query.grad.isfinite().all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_outputs_keep_the_dtype_of_the_inputs(dtype):
    attention, query, key = layer(DC), drawn(B, LQ, D), drawn(B, LK, DC, seed=1)
    expected = attention(query, key)[0]
    output, weights = attention.to(dtype)(query.to(dtype), key.to(dtype))
    assert (output.dtype, weights.dtype) == (dtype, dtype)
    assert_close(output.double(), expected, rtol=0, atol=1e-5 if dtype is torch.float32 else 0.25)


# --- bad input -------------------------------------------------------------------------------


def never(*arguments):
    raise AssertionError("attend was called")


Q, K = torch.ones(B, LQ, D), torch.ones(B, LK, DC)
YES = torch.ones(LQ, LK, dtype=torch.bool)
BAD = [
    ((Q[..., :5], K), r"query has shape \(2, 5, 5\), so its rows have width 5: d_model=12 is exp"),
    ((Q,), r"key has shape \(2, 5, 12\), so its rows have width 12: d_context=10 is expected"),
    ((Q, K, Q), r"value has shape \(2, 5, 12\), so its rows have width 12: d_context"),
    ((Q, None, K), "value was given without key: each value needs a key"),
    ((Q, K[:1].expand(3, -1, -1)), r"query \(2, 5, 12\), key \(3, 7, 10\)"),
    ((Q[None], K), r"query has shape \(1, 2, 5, 12\): it must be \(L, D\) or \(B, L, D\)"),
    ((Q, K[None]), r"key has shape \(1, 2, 7, 10\): it must be"),
    ((Q, K, K[None]), r"value has shape \(1, 2, 7, 10\): it must be"),
    ((Q, K, None, YES.float()), "mask has dtype torch.float32: it must be boolean"),
    ((Q, K, None, YES[0]), r"mask has shape \(7,\): it must be \(Lq, Lk\), \(B, 1 or"),
    ((Q, K, None, YES.expand(3, -1, -1)), r"\(3, 1, 5, 7\) does not .* = \(2, 3, 5, 7\)"),
    ((Q, K, None, YES.mT), r"mask of shape \(7, 5\) does not broadcast to the scores"),
    ((Q[0], K[0], None, YES[None]), r"mask of shape \(1, 1, 5, 7\) does not broadcast"),
    (
        (Q, K, None, YES[:B]),
        r"\(2, 7\): two axes are \(Lq, Lk\) = \(5, 7\). A padding mask .*: mask\[:, None\]",
    ),
    ((Q[:, :1], K, None, YES[:B]), r"mask has shape \(2, 7\): two axes are .* = \(1, 7\)"),
    (
        (Q, K, None, None, YES[None].expand(B, -1, -1).float()),
        r"bias has shape \(2, 5, 7\): three axes are \(H, Lq, Lk\), and H = 3. .*: bias\[:, None\]",
    ),
]


@pytest.mark.parametrize(("arguments", "message"), BAD)
def test_bad_input_is_named_before_attend_is_called(arguments, message):
    with pytest.raises(ValueError, match=message):
        MultiHeadAttention(D, H, d_context=DC, attend=never)(*arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"d_model": 10}, "d_model=10 is not divisible by n_heads=3"),
        ({"n_heads": 0}, "n_heads=0: it must be at least 1"),
        ({"d_model": 0}, "d_model=0: it must be at least 1"),
        ({"d_context": 0}, "d_context=0: it must be at least 1"),
    ],
)
def test_bad_sizes_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        MultiHeadAttention(**{"d_model": D, "n_heads": H, **arguments})
