"""The exact forms, fused, chunked and blocked attention, agree with the definition."""

import math
import os
from functools import partial

import pytest
import torch
from torch.testing import assert_close

from attnbook import (
    MultiHeadAttention,
    blocked_attention,
    causal_mask,
    chunked_attention,
    combine_masks,
    fused_attention,
    linear_attention,
    padding_mask,
    scaled_dot_product_attention,
    window_attention,
)
from attnbook.efficient import blocked as blocked_module
from tests.support.draws import drawn, query_key_value

B, H, LQ, LK, DK, DV = 2, 3, 13, 17, 4, 6
LEADINGS = [(), (B,), (B, H), (2, 1, 4, 3)]
EXACT = {
    "fused": fused_attention,
    "chunked": partial(chunked_attention, chunk=5),
    "chunked in one": chunked_attention,
    "blocked": blocked_attention,
}
exact = pytest.mark.parametrize("attend", EXACT.values(), ids=EXACT)
NEARLY = {"rtol": 0, "atol": 1e-12}


def some_mask(*leading: int, seed: int = 1) -> torch.Tensor:
    """A random mask with an empty row, and with a hidden block that covers a whole chunk."""
    mask = torch.rand(*leading, LQ, LK, generator=torch.Generator().manual_seed(seed)) > 0.5
    mask[..., 2] = True
    mask[..., 5:10, 10:15] = False
    mask[..., 3, :] = False
    return mask


@pytest.fixture(autouse=True)
def small_tables(monkeypatch):
    """Make row blocks small enough for these tensors: eight rows of one head."""
    monkeypatch.setattr(blocked_module, "BLOCK", 8 * LK)


@exact
@pytest.mark.parametrize("leading", LEADINGS)
@pytest.mark.parametrize("table", ["none", "mask", "mask each", "keys", "bias", "both"])
def test_exact_forms_agree(attend, leading, table):
    qkv = query_key_value(*leading)
    mask, bias = {
        "none": (None, None),
        "mask": (some_mask(), None),
        "mask each": (some_mask(*leading), None),
        "keys": (torch.arange(LK) < 11, None),
        "bias": (None, drawn(*leading[-1:], LQ, LK)),
        "both": (some_mask(*leading), drawn(1, LK)),
    }[table]
    output, weights = attend(*qkv, mask, bias)
    expected, expected_weights = scaled_dot_product_attention(*qkv, mask, bias)
    assert_close(output, expected, **NEARLY)
    if attend is blocked_attention:
        assert_close(weights, expected_weights, **NEARLY)
    else:
        assert weights is None


@exact
@pytest.mark.parametrize("biased", [False, True])
def test_gradients_agree(attend, biased):
    tensors = [x.requires_grad_() for x in (*query_key_value(B, H), drawn(H, LQ, LK))]
    tensors = tensors if biased else tensors[:3]
    mask, toward = some_mask(B, 1), drawn(B, H, LQ, DV)

    def gradients(attend):
        q, k, v, *bias = tensors
        return torch.autograd.grad(attend(q, k, v, mask, *bias)[0], tensors, toward)

    assert_close(gradients(attend), gradients(scaled_dot_product_attention), **NEARLY)


def test_gradients_flow_through_the_weights_of_blocks_too():
    qkv = [x.requires_grad_() for x in query_key_value(B)]
    toward = drawn(B, LQ, LK)
    for both in (False, True):
        found = []
        for attend in (blocked_attention, scaled_dot_product_attention):
            output, weights = attend(*qkv, some_mask())
            total = (weights * toward).sum() + (output.square().sum() if both else 0)
            found.append(torch.autograd.grad(total, qkv, materialize_grads=True))
        assert_close(*found, **NEARLY)


@exact
def test_empty_rows_are_zero_and_their_gradients_are_finite(attend):
    for mask, bias in (
        (some_mask(), None),
        (None, drawn(LQ, LK).masked_fill(~some_mask(), -math.inf)),
        (torch.zeros(LQ, LK, dtype=torch.bool), None),
    ):
        qkv = [x.requires_grad_() for x in query_key_value(B)]
        output, _ = attend(*qkv, mask, bias)
        assert output[:, 3].eq(0).all()
        output.square().sum().backward()
        assert all(x.grad.isfinite().all() for x in qkv)


@exact
def test_scores_beyond_exp_do_not_overflow(attend):
    query, key, value = query_key_value(B)
    expected = scaled_dot_product_attention(1e3 * query, key, value)[0]
    assert_close(attend(1e3 * query, key, value)[0], expected, **NEARLY)
    shifted = drawn(LQ, 1) * 1e4
    assert_close(attend(query, key, value, None, shifted)[0], attend(query, key, value)[0])


@exact
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_survives_scores_beyond_its_largest_number(attend, dtype):
    query, key, value = (300 * torch.randn(3, 3, 6, 64)).to(dtype)
    assert (query.float() @ key.float().mT).abs().max() > 8 * 65504
    output, _ = attend(query, key, value)
    assert output.dtype == dtype
    expected, _ = scaled_dot_product_attention(query.float(), key.float(), value.float())
    assert_close(output.float(), expected, rtol=2e-2, atol=2e-2)


FORMS = EXACT | {
    "definition": scaled_dot_product_attention,
    "window": partial(window_attention, window=LK),
}
OTHERS = [  # the dtypes of query and bias, and a finite number that only the bias can hold
    (torch.float16, torch.float32, 1e9),
    (torch.bfloat16, torch.float64, 1e300),
    (torch.float32, torch.float64, 1e300),
]


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize(("dtype", "wider", "large"), OTHERS)
@pytest.mark.parametrize("attend", FORMS.values(), ids=FORMS)
def test_a_bias_that_overflows_hides_its_key_in_every_form(attend, dtype, wider, large, masked):
    qkv = [x.to(dtype) for x in query_key_value(B, lq=LK)]
    hidden = torch.rand(LK, LK, generator=torch.Generator().manual_seed(1)) < 0.5
    hidden[3] = True
    mask = causal_mask(LK) if masked else None
    output, _ = attend(*qkv, mask, torch.zeros(LK, LK, dtype=wider).masked_fill(hidden, -large))
    assert output[:, 3].eq(0).all()
    wide = (x.double() for x in qkv)
    expected, _ = scaled_dot_product_attention(*wide, combine_masks(~hidden, mask))
    assert_close(output.double(), expected, rtol=0, atol=4 * torch.finfo(dtype).eps)


def test_a_score_overflows_float16_in_the_definition_as_documented_but_not_in_exact_forms():
    query, values = torch.full((2, 64), 100.0), torch.ones(2, 6)
    for dtype in (torch.float16, torch.bfloat16, torch.float32):
        output, weights = scaled_dot_product_attention(
            *(x.to(dtype) for x in (query, query, values))
        )
        assert output.dtype == weights.dtype == dtype
        assert output.isnan().all() == (dtype == torch.float16)  # 100 · 100 · 64 / 8 = 80,000
    for attend in EXACT.values():
        output, _ = attend(query.half(), query.half(), values.half())
        assert output.eq(1).all()


@pytest.mark.parametrize("attend", [chunked_attention, blocked_attention])
def test_a_second_derivative_is_refused(attend):
    """Without the check, the result would be a wrong number, not an error."""
    qkv = [x.requires_grad_() for x in query_key_value(B)]
    output, _ = attend(*qkv)
    with pytest.raises(RuntimeError, match=f"{attend.__name__} has first derivatives only"):
        torch.autograd.grad(output.sum(), qkv, create_graph=True)


@exact
@pytest.mark.parametrize(
    ("leading", "lq", "lk"), [((0,), LQ, LK), ((B,), 0, LK), ((B,), LQ, 0), ((), 1, 1)]
)
def test_empty_inputs_and_single_rows(attend, leading, lq, lk):
    query, key, value = query_key_value(*leading, lq=lq, lk=lk)
    output, _ = attend(query, key, value)
    assert_close(output, scaled_dot_product_attention(query, key, value)[0])
    mask = torch.ones(lq, lk, dtype=torch.bool)
    assert_close(attend(query, key, value, mask)[0], output)


@exact
def test_leading_dimensions_broadcast(attend):
    query, key, value = (x.requires_grad_() for x in query_key_value(B, H))
    few = key[:, :1], value[:, :1]
    expected = scaled_dot_product_attention(query, *few)[0]
    output = attend(query, *few)[0]
    assert_close(output, expected, **NEARLY)
    toward = torch.ones_like(output)
    found = (torch.autograd.grad(x, (query, key, value), toward) for x in (output, expected))
    assert_close(*found, **NEARLY)


@exact
def test_no_argument_is_written_to_and_strides_do_not_matter(attend):
    tensors = (*(x.mT.contiguous().mT for x in query_key_value(B)), some_mask(), drawn(LQ, LK))
    before = [x.clone() for x in tensors]
    output, _ = attend(*tensors)
    assert_close(output, attend(*query_key_value(B), *tensors[3:])[0], **NEARLY)
    for x, old in zip(tensors, before, strict=True):
        assert x.equal(old)


@exact
def test_each_form_works_as_attend_in_a_layer(attend):
    torch.manual_seed(0)
    layer = MultiHeadAttention(12, H).double()
    other = MultiHeadAttention(12, H, attend=attend).double()
    other.load_state_dict(layer.state_dict())
    x = drawn(B, 5, 12)
    mask = combine_masks(causal_mask(5), padding_mask([5, 3], 5))
    assert_close(other(x, mask=mask)[0], layer(x, mask=mask)[0], **NEARLY)


@pytest.mark.parametrize("attend", [fused_attention, partial(chunked_attention, chunk=5)])
@pytest.mark.parametrize("biased", [False, True])
def test_causal_equals_the_causal_mask(attend, biased):
    qkv = query_key_value(B, H, lq=LK)
    bias = drawn(H, LK, LK) if biased else None
    expected = scaled_dot_product_attention(*qkv, causal_mask(LK), bias)[0]
    assert_close(attend(*qkv, None, bias, causal=True)[0], expected, **NEARLY)
    assert_close(attend(*qkv, causal_mask(LK), bias)[0], expected, **NEARLY)


def test_a_mask_of_one_row_is_not_mistaken_for_a_triangle():
    qkv = query_key_value(B, lq=1)
    everything = torch.ones(1, 1, dtype=torch.bool)
    assert_close(fused_attention(*qkv, everything)[0], fused_attention(*qkv)[0], **NEARLY)


@pytest.mark.parametrize("biased", [False, True])
def test_a_triangle_that_is_not_square_is_treated_like_any_mask(biased):
    qkv, mask = query_key_value(B), torch.ones(LQ, LK, dtype=torch.bool).tril()
    bias = drawn(LQ, LK) if biased else None
    expected = scaled_dot_product_attention(*qkv, mask, bias)[0]
    assert_close(fused_attention(*qkv, mask, bias)[0], expected, **NEARLY)


# --- torch.compile ---------------------------------------------------------------------------


@pytest.mark.skipif(
    os.environ.get("ATTNBOOK_REHEARSAL") == "1",
    reason="a transform does not see through the simulated GPU's tensors",
)
@pytest.mark.parametrize("bias", [None, drawn(LK, LK)])
def test_torch_compile_captures_fused_attention_with_a_mask_in_one_graph(bias):
    qkv, mask = query_key_value(B, lq=LK), causal_mask(LK)
    compiled = torch.compile(fused_attention, fullgraph=True, backend="eager")
    output, _ = compiled(*qkv, mask, bias)
    assert_close(output, fused_attention(*qkv, mask, bias)[0], **NEARLY)


# --- bad input -------------------------------------------------------------------------------

Q, K, V = torch.ones(LQ, DK), torch.ones(LK, DK), torch.ones(LK, DV)
SAME = torch.ones(LK, DK)
TRIANGLE = causal_mask(LK)


@pytest.mark.parametrize(
    "attend",
    [*EXACT.values(), partial(window_attention, window=2), linear_attention],
)
def test_bad_tensors_are_named_before_any_arithmetic(attend):
    with pytest.raises(ValueError, match="key has 17 rows but value has 5"):
        attend(SAME, K, V[:5])
    with pytest.raises(ValueError, match="mask has dtype"):
        attend(SAME, K, V, torch.ones(LK, LK))
    with pytest.raises(TypeError, match=r"query must be a torch\.Tensor"):
        attend(None, K, V)


BAD = [
    (lambda: fused_attention(Q, K, V, causal=True), "13 rows and key has 17: causal=True compares"),
    (lambda: chunked_attention(Q, K, V, causal=True), "13 rows and key has 17: causal=True"),
    (lambda: linear_attention(Q, K, V, causal=True), "13 rows and key has 17: causal"),
    (
        lambda: fused_attention(SAME, K, V, TRIANGLE, causal=True),
        "a mask were given: combine_masks",
    ),
    (lambda: chunked_attention(SAME, K, V, TRIANGLE, causal=True), "causal=True and a mask were"),
    (lambda: chunked_attention(Q, K, V, chunk=0), "chunk=0: it must be at least 1"),
    (lambda: window_attention(Q, K, V, window=2), "key has 17: a window compares positions of one"),
    (lambda: window_attention(SAME, K, V, window=-1), "window=-1: it must be at least 0"),
    (lambda: linear_attention(SAME, K, V, TRIANGLE), r"\(17, 17\) differs from query to query"),
    (
        lambda: linear_attention(Q, K, V, None, torch.ones(LQ, LK)),
        "bias was given: linear attention",
    ),
]


@pytest.mark.parametrize(("call", "message"), BAD)
def test_bad_calls_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
