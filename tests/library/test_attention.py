"""softmax and scaled_dot_product_attention: properties, parity, extremes, bad input."""

import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from attnbook import scaled_dot_product_attention as attention
from attnbook import softmax

B, H, LQ, LK, DK, DV = 2, 3, 5, 7, 4, 6
LEADINGS = [(), (B,), (B, H), (2, 1, 4, 3)]


def draw(*leading: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> tuple:
    generator = torch.Generator().manual_seed(seed)
    return tuple(
        torch.randn(*leading, *size, generator=generator, dtype=dtype)
        for size in ((LQ, DK), (LK, DK), (LK, DV))
    )


def some_mask(*leading: int, seed: int = 1) -> torch.Tensor:
    """A random mask in which every query may look at something."""
    mask = torch.rand(*leading, LQ, LK, generator=torch.Generator().manual_seed(seed)) > 0.5
    mask[..., 2] = True
    return mask


# --- softmax ---------------------------------------------------------------------------------


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_softmax_equals_pytorch(dim):
    x = torch.randn(LQ, LK, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    assert_close(softmax(x, dim), torch.softmax(x, dim), rtol=0, atol=1e-15)


def test_softmax_survives_scores_that_overflow_exp():
    x = torch.tensor([1000.0, 999.0, -1000.0])
    assert not x.exp().isfinite().all()
    assert_close(softmax(x), torch.softmax(x, -1))


@given(
    st.lists(st.floats(-1e4, 1e4), min_size=1, max_size=8),
    st.floats(-1e4, 1e4),
)
def test_softmax_sums_to_one_ignores_a_shift_and_keeps_the_order(scores, shift):
    x = torch.tensor(scores, dtype=torch.float64)
    weights = softmax(x)
    assert weights.min() >= 0
    assert_close(weights.sum(), torch.ones((), dtype=torch.float64))
    assert_close(softmax(x + shift), weights, rtol=0, atol=1e-10)
    assert weights[x.argmax()] == weights.max()


def test_softmax_of_nothing_to_choose_from_is_zero_with_zero_gradient():
    x = torch.full((2, 3), -math.inf, dtype=torch.float64, requires_grad=True)
    weights = softmax(x)
    weights.sum().backward()
    assert weights.eq(0).all()
    assert x.grad is not None
    assert x.grad.eq(0).all()


@pytest.mark.parametrize("hidden", [(), (0, 3), (slice(None), 0), (slice(None),)])
def test_softmax_in_place_equals_softmax_which_leaves_its_scores(hidden):
    x = torch.randn(LQ, LK, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    x[1] = -math.inf
    if hidden:
        x[hidden] = -math.inf
    before = x.clone()
    weights = softmax(x)
    assert x.equal(before)
    assert softmax(x, out=x) is x
    assert x.equal(weights)
    assert x[1].eq(0).all()


def test_softmax_over_an_empty_dimension_is_empty():
    assert softmax(torch.zeros(3, 0)).shape == (3, 0)


# --- parity with PyTorch ---------------------------------------------------------------------


@pytest.mark.parametrize("leading", LEADINGS)
@pytest.mark.parametrize("masked", ["no mask", "one mask", "a mask each"])
def test_output_equals_pytorch(leading, masked):
    query, key, value = draw(*leading)
    mask = {"no mask": None, "one mask": some_mask(), "a mask each": some_mask(*leading)}[masked]
    output, weights = attention(query, key, value, mask)
    assert_close(
        output, F.scaled_dot_product_attention(query, key, value, mask), rtol=0, atol=1e-12
    )
    assert weights.shape == (*leading, LQ, LK)


def test_bias_is_added_to_the_scores_like_pytorchs_float_mask():
    query, key, value = draw(B, H)
    bias = torch.randn(H, LQ, LK, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    expected = F.scaled_dot_product_attention(query, key, value, attn_mask=bias)
    assert_close(attention(query, key, value, bias=bias)[0], expected, rtol=0, atol=1e-12)


def test_bias_and_mask_work_together():
    query, key, value = draw(B)
    mask, bias = some_mask(), torch.linspace(-2, 2, LK, dtype=torch.float64)
    expected = F.scaled_dot_product_attention(
        query, key, value, attn_mask=bias.expand(LQ, LK).masked_fill(~mask, -math.inf)
    )
    assert_close(attention(query, key, value, mask, bias)[0], expected, rtol=0, atol=1e-12)


def test_it_is_the_triple_loop():
    query, key, value = draw()
    expected = torch.zeros(LQ, DV, dtype=torch.float64)
    for i in range(LQ):
        scores = [sum(query[i, d] * key[j, d] for d in range(DK)) / DK**0.5 for j in range(LK)]
        total = sum(math.exp(s) for s in scores)
        for j in range(LK):
            expected[i] += math.exp(scores[j]) / total * value[j]
    assert_close(attention(query, key, value)[0], expected, rtol=0, atol=1e-12)


def test_leading_dimensions_broadcast():
    query, key, value = draw(B, H)
    output, weights = attention(query, key[:, :1], value[:, :1])
    assert_close(
        output, attention(query, key[:, :1].expand_as(key), value[:, :1].expand_as(value))[0]
    )
    assert weights.shape == (B, H, LQ, LK)


# --- properties ------------------------------------------------------------------------------


@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(1, 6), st.integers(1, 5))
def test_rows_sum_to_one_and_outputs_stay_among_the_values(seed, lq, lk, d_k):
    generator = torch.Generator().manual_seed(seed)
    query, key, value = (
        torch.randn(n, d, generator=generator, dtype=torch.float64)
        for n, d in ((lq, d_k), (lk, d_k), (lk, 3))
    )
    output, weights = attention(query, key, value)
    assert_close(weights.sum(-1), torch.ones(lq, dtype=torch.float64))
    assert (output <= value.amax(0) + 1e-12).all()
    assert (output >= value.amin(0) - 1e-12).all()


@given(st.integers(0, 10**6))
def test_what_is_masked_cannot_be_seen(seed):
    query, key, value = draw()
    mask = some_mask(seed=seed)
    output, weights = attention(query, key, value, mask)
    assert weights[~mask].eq(0).all()
    other_key, other_value = key.clone(), value.clone()
    hidden = ~mask[0]
    other_key[hidden], other_value[hidden] = 99.0, 99.0
    assert_close(attention(query, other_key, other_value, mask)[0][0], output[0], rtol=0, atol=0)


def test_gradients_are_right():
    tensors = [x.requires_grad_() for x in draw(B)]
    mask = some_mask()
    mask[1] = False
    assert torch.autograd.gradcheck(lambda q, k, v: attention(q, k, v, mask), tensors)


def test_gradients_of_gradients_are_right():
    tensors = [x.requires_grad_() for x in draw(B)]
    mask = some_mask()
    mask[1] = False
    bias = torch.randn(LQ, LK, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    tensors.append(bias.requires_grad_())
    assert torch.autograd.gradgradcheck(lambda q, k, v, b: attention(q, k, v, mask, b), tensors)


def test_no_argument_is_written_to():
    query, key, value = draw(B)
    mask, bias = some_mask(), torch.ones(LQ, LK, dtype=torch.float64)
    before = [x.clone() for x in (query, key, value, mask, bias)]
    attention(query, key, value, mask, bias)
    for x, old in zip((query, key, value, mask, bias), before, strict=True):
        assert x.equal(old)


def test_non_contiguous_inputs():
    query, key, value = (x.mT.contiguous().mT for x in draw(B, H))
    assert not query.is_contiguous()
    assert_close(attention(query, key, value), attention(*draw(B, H)))


# --- extremes --------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_survives_dot_products_beyond_its_largest_number(dtype, seed):
    generator = torch.Generator().manual_seed(seed)
    query, key, value = (300 * torch.randn(3, 6, 64, generator=generator) for _ in range(3))
    query, key, value = query.to(dtype), key.to(dtype), value.to(dtype)
    assert (query.float() @ key.float().mT).abs().max() > 65504
    output, weights = attention(query, key, value)
    assert (output.dtype, weights.dtype) == (dtype, dtype)
    expected = attention(query.float(), key.float(), value.float())
    assert_close(output.float(), expected[0].to(dtype).float())
    assert_close(weights.float(), expected[1].to(dtype).float())


def test_a_query_that_may_look_at_nothing_gets_zeros_and_finite_gradients():
    query, key, value = (x.requires_grad_() for x in draw(B))
    mask = some_mask()
    mask[3] = False
    output, weights = attention(query, key, value, mask)
    assert output[:, 3].eq(0).all()
    assert weights[:, 3].eq(0).all()
    assert_close(weights[:, :3].sum(-1), torch.ones(B, 3, dtype=torch.float64))
    output.square().sum().backward()
    for x in (query, key, value):
        assert x.grad.isfinite().all()
    assert query.grad[:, 3].eq(0).all()
    assert query.grad[:, :3].ne(0).any()


def test_a_bias_of_minus_infinity_can_forbid_a_whole_row_too():
    query, key, value = (x.requires_grad_() for x in draw(B))
    bias = torch.zeros(LQ, LK, dtype=torch.float64)
    bias[3] = -math.inf
    bias.requires_grad_()
    output, weights = attention(query, key, value, bias=bias)
    assert weights[:, 3].eq(0).all()
    output.square().sum().backward()
    for x in (query, key, value, bias):
        assert x.grad.isfinite().all()
    assert bias.grad[3].eq(0).all()


@pytest.mark.parametrize(
    ("leading", "lq", "lk"), [((0,), LQ, LK), ((B,), 0, LK), ((B,), LQ, 0), ((), 1, 1)]
)
def test_empty_and_single(leading, lq, lk):
    query, key, value = (
        torch.ones(*leading, lq, 4),
        torch.ones(*leading, lk, 4),
        torch.ones(*leading, lk, 6),
    )
    output, weights = attention(query, key, value)
    assert output.shape == (*leading, lq, 6)
    assert weights.shape == (*leading, lq, lk)
    assert output.eq(0 if lk == 0 else 1).all()


# --- bad input -------------------------------------------------------------------------------

Q, K, V = torch.ones(LQ, DK), torch.ones(LK, DK), torch.ones(LK, DV)
BAD = [
    (TypeError, ([[1.0]], K, V), "query must be a torch.Tensor, got list"),
    (TypeError, (Q, K.numpy(), V), "key must be a torch.Tensor, got ndarray"),
    (TypeError, (Q, K, None), "value must be a torch.Tensor, got NoneType"),
    (TypeError, (Q, K, V, [[True]]), "mask must be a torch.Tensor, got list"),
    (TypeError, (Q, K, V, None, 0.5), "bias must be a torch.Tensor, got float"),
    (ValueError, (Q[0], K, V), r"query has shape \(4,\): it needs at least \(length, width\)"),
    (ValueError, (Q, K, V[:, 0]), r"value has shape \(7,\): it needs at least"),
    (ValueError, (Q.long(), K, V), "query has dtype torch.int64: it must be floating point"),
    (ValueError, (Q, K, V + 0j), "value has dtype torch.complex64: it must be floating point"),
    (ValueError, (Q, K.double(), V), "one dtype, got query: torch.float32, key: torch.float64"),
    (ValueError, (Q, K, V.to("meta")), "one device, got query: .+, key: .+, value: meta"),
    (ValueError, (Q[:, :0], K[:, :0], V), "query has width 0: a dot product needs"),
    (ValueError, (Q[:, :3], K, V), "query has width 3 but key has width 4: a dot product needs"),
    (ValueError, (Q, K, V[:5]), "key has 7 rows but value has 5: each key needs one value"),
    (ValueError, (Q, K[:1], V), "key has 1 row but value has 7: each key needs one value"),
    (
        ValueError,
        (Q.expand(2, -1, -1), K.expand(3, -1, -1), V),
        r"leading dimensions of query \(2, 5, 4\), key \(3, 7, 4\) and value \(7, 6\) do not",
    ),
    (ValueError, (Q, K, V, torch.ones(LQ, LK)), "mask has dtype torch.float32: it must be boolean"),
    (
        ValueError,
        (Q, K, V, torch.ones(LQ, LK).int()),
        "mask has dtype torch.int32: it must be bool",
    ),
    (
        ValueError,
        (Q, K, V, torch.ones(LK, LQ).bool()),
        r"mask of shape \(7, 5\) does not broadcast to the scores \(..., Lq, Lk\) = \(5, 7\)",
    ),
    (
        ValueError,
        (Q, K, V, torch.ones(2, LQ, LK).bool()),
        r"mask of shape \(2, 5, 7\) does not broadcast to the scores \(..., Lq, Lk\) = \(5, 7\)",
    ),
    (
        ValueError,
        (Q, K, V, torch.ones(LQ, LK).bool().to("meta")),
        "mask is on meta but query is on",
    ),
    (
        ValueError,
        (Q, K, V.expand(2, -1, -1), torch.ones(2, LQ, LK).bool()),
        r"mask of shape \(2, 5, 7\) does not broadcast to the scores \(..., Lq, Lk\) = \(5, 7\)",
    ),
    (ValueError, (Q, K, V, None, torch.ones(LQ, LK).bool()), "bias has dtype torch.bool: it must"),
    (ValueError, (Q, K, V, None, torch.ones(LQ, 2)), r"bias of shape \(5, 2\) does not broadcast"),
]


@pytest.mark.parametrize(("error", "arguments", "message"), BAD)
def test_bad_input_is_named(error, arguments, message):
    with pytest.raises(error, match=message):
        attention(*arguments)


@pytest.mark.parametrize(
    ("error", "arguments", "message"),
    [
        (TypeError, ([1.0],), "x must be a torch.Tensor, got list"),
        (ValueError, (torch.ones(3).long(),), "x has dtype torch.int64: it must be floating point"),
        (ValueError, (torch.ones(3), 1), "dim=1 is out of range for x with 1 dimensions"),
        (ValueError, (torch.ones(()),), "dim=-1 is out of range for x with 0 dimensions"),
    ],
)
def test_bad_softmax_input_is_named(error, arguments, message):
    with pytest.raises(error, match=message):
        softmax(*arguments)
