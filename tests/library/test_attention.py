"""softmax and scaled_dot_product_attention: properties, parity, extremes, bad input."""

import math
import os

import pytest
import torch
import torch.nn.functional as F
from torch.func import hessian, jvp, vjp, vmap
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
    """A random mask in which every query may attend to at least one key."""
    mask = torch.rand(*leading, LQ, LK, generator=torch.Generator().manual_seed(seed)) > 0.5
    mask[..., 2] = True
    return mask


# --- softmax ---------------------------------------------------------------------------------


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_softmax_equals_pytorch_even_for_scores_that_overflow_exp(dim):
    x = 1000 * torch.randn(LQ, LK, dtype=torch.float64)
    assert x.exp().isinf().any()
    assert_close(softmax(x, dim), torch.softmax(x, dim), rtol=0, atol=1e-15)


def test_softmax_of_scores_of_minus_infinity_is_zero_with_zero_gradient():
    x = torch.full((2, 3), -math.inf, dtype=torch.float64, requires_grad=True)
    weights = softmax(x)
    weights.sum().backward()
    assert weights.eq(0).all()
    assert x.grad is not None
    assert x.grad.eq(0).all()


# --- parity with PyTorch ---------------------------------------------------------------------


@pytest.mark.parametrize("leading", LEADINGS)
@pytest.mark.parametrize("table", ["none", "one mask", "a mask each", "bias", "both"])
def test_it_equals_pytorch(leading, table):
    query, key, value = draw(*leading)
    mask = {"one mask": some_mask(), "a mask each": some_mask(*leading), "both": some_mask()}
    mask = mask.get(table)
    bias = torch.randn(LQ, LK, dtype=torch.float64) if table in ("bias", "both") else None
    added = mask if bias is None else bias
    if table == "both":
        added = bias.masked_fill(~mask, -math.inf)
    output, weights = attention(query, key, value, mask, bias)
    one_each = torch.eye(LK, dtype=torch.float64)  # with these values the output equals the weights
    for ours, values in ((output, value), (weights, one_each.expand(*leading, LK, LK))):
        expected = F.scaled_dot_product_attention(query, key, values, added)
        assert_close(ours, expected, rtol=0, atol=1e-12)
    if mask is not None:
        assert weights.masked_select(~mask).eq(0).all()


@pytest.mark.parametrize("lowest", [torch.finfo(torch.float64).min, -1e300])
def test_hidden_scores_get_no_weight_even_beside_the_lowest_finite_score(lowest):
    """Some programs hide keys with a bias of the lowest finite number."""
    query, key, value = draw()
    mask, bias = some_mask(), torch.full((LQ, LK), lowest, dtype=torch.float64)
    _, weights = attention(query, key, value, mask, bias)
    assert_close(weights.sum(-1), torch.ones(LQ, dtype=torch.float64))
    assert weights.masked_select(~mask).eq(0).all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_a_bias_of_another_precision_is_cast(dtype):
    query, key, value = draw(dtype=dtype)
    bias = torch.randn(LQ, LK, dtype=torch.float64)
    output, _ = attention(query, key, value, bias=bias)
    assert output.equal(attention(query, key, value, bias=bias.to(dtype))[0])


def test_leading_dimensions_broadcast():
    query, key, value = draw(B, H)
    output, weights = attention(query, key[:, :1], value[:, :1])
    assert_close(
        output, attention(query, key[:, :1].expand_as(key), value[:, :1].expand_as(value))[0]
    )
    assert weights.shape == (B, H, LQ, LK)


# --- properties ------------------------------------------------------------------------------


def test_gradients_and_their_gradients_are_right():
    tensors = [x.requires_grad_() for x in (*draw(B), torch.randn(LQ, LK).double())]
    mask = some_mask()
    mask[1] = False

    def call(query, key, value, bias):
        return attention(query, key, value, mask, bias)

    assert torch.autograd.gradcheck(call, tensors)
    assert torch.autograd.gradgradcheck(call, tensors)


def test_no_argument_is_written_to_and_strides_do_not_matter():
    arguments = [x.mT.contiguous().mT for x in draw(B)]
    arguments += [some_mask(), torch.ones(LQ, LK, dtype=torch.float64)]
    before = [x.clone() for x in arguments]
    output = attention(*arguments)
    assert all(x.equal(old) for x, old in zip(arguments, before, strict=True))
    assert_close(output, attention(*draw(B), *arguments[3:]))


# --- transforms ------------------------------------------------------------------------------


UNTRACED = pytest.mark.skipif(
    os.environ.get("ATTNBOOK_REHEARSAL") == "1",
    reason="a transform does not see through the simulated GPU's tensors",
)
# PyTorch's own jvp and hessian cause this warning.
SCRIPT = pytest.mark.filterwarnings("ignore:.torch.jit.script. is :DeprecationWarning")


@UNTRACED
def test_vmap_maps_over_any_argument():
    batched = (*draw(B), some_mask(B), torch.randn(B, LQ, LK, dtype=torch.float64))
    for mapped in range(5):
        arguments = [x if i == mapped else x[0] for i, x in enumerate(batched)]
        in_dims = tuple(0 if i == mapped else None for i in range(5))
        one_by_one = [
            attention(*(x[b] if i == mapped else x for i, x in enumerate(arguments)))
            for b in range(B)
        ]
        expected = tuple(torch.stack(results) for results in zip(*one_by_one, strict=True))
        assert_close(vmap(attention, in_dims)(*arguments), expected)


def with_an_empty_row() -> tuple:
    """Query, key and value, and a function for attention with a mask that has an empty row."""
    mask = some_mask()
    mask[3] = False
    return draw(), lambda query, key, value: attention(query, key, value, mask)[0]


@UNTRACED
@SCRIPT
def test_jvp_and_vjp_agree_with_the_jacobian():
    tensors, attend = with_an_empty_row()
    tangents = draw(seed=5)
    jacobians = torch.autograd.functional.jacobian(attend, tensors)
    expected = sum(
        torch.einsum("abcd,cd->ab", j, t) for j, t in zip(jacobians, tangents, strict=True)
    )
    output, moved = jvp(attend, tensors, tangents)
    assert_close(moved, expected)
    _, pull_back = vjp(attend, *tensors)
    toward = torch.randn_like(output)
    expected = tuple(torch.einsum("ab,abcd->cd", toward, j) for j in jacobians)
    assert_close(pull_back(toward), expected)


@UNTRACED
@SCRIPT
def test_the_hessian_equals_that_of_autograd():
    tensors, attend = with_an_empty_row()

    def loss(query: torch.Tensor) -> torch.Tensor:
        return attend(query, *tensors[1:]).square().sum()

    expected = torch.autograd.functional.hessian(loss, tensors[0])
    assert_close(hessian(loss)(tensors[0]), expected)
    assert expected[3].eq(0).all()


@UNTRACED
def test_torch_compile_captures_it_in_one_graph():
    tensors, attend = with_an_empty_row()
    compiled = torch.compile(attend, fullgraph=True, backend="aot_eager")
    assert_close(compiled(*tensors), attend(*tensors))
    gradients = []
    for form in (compiled, attend):
        leaves = [x.clone().requires_grad_() for x in tensors]
        gradients.append(torch.autograd.grad(form(*leaves).sum(), leaves))
    assert_close(*gradients)


# --- extremes --------------------------------------------------------------------------------


@pytest.mark.parametrize("by", ["mask", "bias", "both"])
def test_a_query_that_may_attend_to_nothing_gets_zeros_and_finite_gradients(by):
    tensors = [x.requires_grad_() for x in draw(B)]
    mask, bias = some_mask(), None
    mask[3] = False
    if by != "mask":
        bias = torch.zeros(LQ, LK, dtype=torch.float64).masked_fill(~mask, -math.inf)
        tensors = [*tensors, bias.requires_grad_()]
        mask = torch.ones_like(mask) if by == "both" else None
    output, weights = attention(*tensors[:3], mask, bias)
    assert output[:, 3].eq(0).all()
    assert weights[:, 3].eq(0).all()
    assert_close(weights[:, :3].sum(-1), torch.ones(B, 3, dtype=torch.float64))
    output.square().sum().backward()
    assert all(x.grad.isfinite().all() for x in tensors)
    assert tensors[0].grad[:, 3].eq(0).all()
    assert tensors[0].grad[:, :3].ne(0).any()


@pytest.mark.parametrize(
    ("leading", "lq", "lk"), [((0,), LQ, LK), ((B,), 0, LK), ((B,), LQ, 0), ((), 1, 1)]
)
def test_empty_inputs_and_single_rows(leading, lq, lk):
    query, key, value = (
        torch.ones(*leading, lq, 4),
        torch.ones(*leading, lk, 4),
        torch.ones(*leading, lk, 6),
    )
    output, weights = attention(query, key, value)
    assert output.shape == (*leading, lq, 6)
    assert weights.shape == (*leading, lq, lk)
    assert output.eq(0 if lk == 0 else 1).all()


@pytest.mark.parametrize("broken", [torch.nan, torch.inf])
def test_a_hidden_value_that_is_not_finite_spreads_as_documented(broken):
    query, key, value = torch.ones(3, 4), torch.ones(3, 4), torch.ones(3, 4)
    mask = torch.tensor([True, True, False])
    value[2] = 1e9
    assert attention(query, key, value, mask)[0].eq(1).all()
    value[2] = broken
    assert attention(query, key, value, mask)[0].isnan().all()


# --- bad input -------------------------------------------------------------------------------

Q, K, V = torch.ones(LQ, DK), torch.ones(LK, DK), torch.ones(LK, DV)
YES = torch.ones(LQ, LK, dtype=torch.bool)
BAD = [
    ((Q[0], K, V), r"query has shape \(4,\): it needs at least \(length, width\)"),
    ((Q, K, V[:, 0]), r"value has shape \(7,\): it needs at least"),
    ((Q.long(), K, V), "query has dtype torch.int64: it must be floating point"),
    ((Q, K, V + 0j), "value has dtype torch.complex64: it must be floating point"),
    ((Q, K.double(), V), "one dtype, got query: torch.float32, key: torch.float64"),
    ((Q, K, V.to("meta")), "one device, got query: .+, key: .+, value: meta"),
    ((Q[:, :0], K[:, :0], V), "query has width 0: a dot product needs"),
    ((Q[:, :3], K, V), "query has width 3 but key has width 4: a dot product needs"),
    ((Q, K, V[:5]), "key has 7 rows but value has 5: each key needs one value"),
    ((Q, K[:1], V), "key has 1 row but value has 7: each key needs one value"),
    (
        (Q.expand(2, -1, -1), K.expand(3, -1, -1), V),
        r"leading dimensions of query \(2, 5, 4\), key \(3, 7, 4\) and value \(7, 6\) do not",
    ),
    ((Q, K, V, YES.int()), "mask has dtype torch.int32: it must be boolean"),
    ((Q, K, V, YES.mT), r"mask of shape \(7, 5\) does not .* \(..., Lq, Lk\) = \(5, 7\)"),
    ((Q, K, V, YES[None]), r"mask of shape \(1, 5, 7\) does not broadcast to the scores"),
    ((Q, K, V.expand(2, -1, -1), YES.expand(2, -1, -1)), r"mask of shape \(2, 5, 7\) does not"),
    ((Q, K, V, YES.to("meta")), "mask is on meta but query is on"),
    ((Q, K, V, None, YES), "bias has dtype torch.bool: it must"),
    ((Q, K, V, None, torch.ones(LQ, 2)), r"bias of shape \(5, 2\) does not broadcast"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD)
def test_bad_input_is_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        attention(*arguments)


@pytest.mark.parametrize("place", range(5))
def test_an_argument_that_is_not_a_tensor_is_named(place):
    arguments = [Q, K, V, YES, torch.ones(LQ, LK)]
    arguments[place] = [[1.0]]
    name = ("query", "key", "value", "mask", "bias")[place]
    with pytest.raises(TypeError, match=rf"{name} must be a torch\.Tensor, got list"):
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
