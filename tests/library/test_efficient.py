"""Cheaper attention: the exact forms agree with the plain one, and the forms of linear
attention agree with each other.

Chunked and blocked attention are also tested here, because the same tests apply to them.
"""

import math
import os
from functools import partial

import pytest
import torch
import torch.nn.functional as F
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
    sliding_window_mask,
    window_attention,
)
from attnbook.efficient import blocked as blocked_module
from attnbook.notebook.cost import cost
from tests.support.largest import Largest

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


def draw(*leading: int, lq: int = LQ, lk: int = LK, seed: int = 0, dtype=torch.float64) -> tuple:
    generator = torch.Generator().manual_seed(seed)
    return tuple(
        torch.randn(*leading, *size, generator=generator, dtype=dtype)
        for size in ((lq, DK), (lk, DK), (lk, DV))
    )


def some_mask(*leading: int, seed: int = 1) -> torch.Tensor:
    """A random mask with an empty row, and with a hidden block that covers a whole chunk."""
    mask = torch.rand(*leading, LQ, LK, generator=torch.Generator().manual_seed(seed)) > 0.5
    mask[..., 2] = True
    mask[..., 5:10, 10:15] = False
    mask[..., 3, :] = False
    return mask


def some_bias(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(2))


@pytest.fixture(autouse=True)
def small_tables(monkeypatch):
    """Make row blocks small enough for these tensors: eight rows of one head."""
    monkeypatch.setattr(blocked_module, "BLOCK", 8 * LK)


# --- the exact forms, against the plain one --------------------------------------------------


@exact
@pytest.mark.parametrize("leading", LEADINGS)
@pytest.mark.parametrize("table", ["none", "mask", "mask each", "keys", "bias", "both"])
def test_exact_forms_agree(attend, leading, table):
    qkv = draw(*leading)
    mask, bias = {
        "none": (None, None),
        "mask": (some_mask(), None),
        "mask each": (some_mask(*leading), None),
        "keys": (torch.arange(LK) < 11, None),
        "bias": (None, some_bias(*leading[-1:], LQ, LK)),
        "both": (some_mask(*leading), some_bias(1, LK)),
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
    tensors = [x.requires_grad_() for x in (*draw(B, H), some_bias(H, LQ, LK))]
    tensors = tensors if biased else tensors[:3]
    mask, toward = some_mask(B, 1), some_bias(B, H, LQ, DV)

    def gradients(attend):
        q, k, v, *bias = tensors
        return torch.autograd.grad(attend(q, k, v, mask, *bias)[0], tensors, toward)

    assert_close(gradients(attend), gradients(scaled_dot_product_attention), **NEARLY)


def test_gradients_flow_through_the_weights_of_blocks_too():
    qkv = [x.requires_grad_() for x in draw(B)]
    toward = some_bias(B, LQ, LK)
    for both in (False, True):
        found = []
        for attend in (blocked_attention, scaled_dot_product_attention):
            output, weights = attend(*qkv, some_mask())
            total = (weights * toward).sum() + (output.square().sum() if both else 0)
            found.append(torch.autograd.grad(total, qkv, materialize_grads=True))
        assert_close(*found, **NEARLY)


def test_blocks_compute_nothing_after_the_last_visible_key():
    qkv = draw(B, lq=LK)

    def products(mask):
        return cost(lambda: blocked_attention(*qkv, mask)).multiplications

    shown = sum(8 * min(start + 8, LK) for start in (0, 8)) + LK  # rows 0-7, 8-15, 16
    assert products(causal_mask(LK)) * LK**2 == products(None) * shown
    assert products(torch.arange(LK) < 5) * LK == products(None) * 5


@exact
def test_empty_rows_are_zero_and_their_gradients_are_finite(attend):
    for mask, bias in (
        (some_mask(), None),
        (None, some_bias(LQ, LK).masked_fill(~some_mask(), -math.inf)),
        (torch.zeros(LQ, LK, dtype=torch.bool), None),
    ):
        qkv = [x.requires_grad_() for x in draw(B)]
        output, _ = attend(*qkv, mask, bias)
        assert output[:, 3].eq(0).all()
        output.square().sum().backward()
        assert all(x.grad.isfinite().all() for x in qkv)


@exact
def test_scores_beyond_exp_do_not_overflow(attend):
    query, key, value = draw(B)
    expected = scaled_dot_product_attention(1e3 * query, key, value)[0]
    assert_close(attend(1e3 * query, key, value)[0], expected, **NEARLY)
    shifted = some_bias(LQ, 1) * 1e4
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


@pytest.mark.parametrize("attend", [chunked_attention, blocked_attention])
def test_a_second_derivative_is_refused(attend):
    """Without the check, the result would be a wrong number, not an error."""
    qkv = [x.requires_grad_() for x in draw(B)]
    output, _ = attend(*qkv)
    with pytest.raises(RuntimeError, match=f"{attend.__name__} has first derivatives only"):
        torch.autograd.grad(output.sum(), qkv, create_graph=True)


@exact
@pytest.mark.parametrize(
    ("leading", "lq", "lk"), [((0,), LQ, LK), ((B,), 0, LK), ((B,), LQ, 0), ((), 1, 1)]
)
def test_empty_inputs_and_single_rows(attend, leading, lq, lk):
    query, key, value = draw(*leading, lq=lq, lk=lk)
    output, _ = attend(query, key, value)
    assert_close(output, scaled_dot_product_attention(query, key, value)[0])
    mask = torch.ones(lq, lk, dtype=torch.bool)
    assert_close(attend(query, key, value, mask)[0], output)


@exact
def test_leading_dimensions_broadcast(attend):
    query, key, value = (x.requires_grad_() for x in draw(B, H))
    few = key[:, :1], value[:, :1]
    expected = scaled_dot_product_attention(query, *few)[0]
    output = attend(query, *few)[0]
    assert_close(output, expected, **NEARLY)
    toward = torch.ones_like(output)
    found = (torch.autograd.grad(x, (query, key, value), toward) for x in (output, expected))
    assert_close(*found, **NEARLY)


@exact
def test_no_argument_is_written_to_and_strides_do_not_matter(attend):
    tensors = (*(x.mT.contiguous().mT for x in draw(B)), some_mask(), some_bias(LQ, LK))
    before = [x.clone() for x in tensors]
    output, _ = attend(*tensors)
    assert_close(output, attend(*draw(B), *tensors[3:])[0], **NEARLY)
    for x, old in zip(tensors, before, strict=True):
        assert x.equal(old)


@exact
def test_each_form_works_as_attend_in_a_layer(attend):
    torch.manual_seed(0)
    layer = MultiHeadAttention(12, H).double()
    other = MultiHeadAttention(12, H, attend=attend).double()
    other.load_state_dict(layer.state_dict())
    x = some_bias(B, 5, 12)
    mask = combine_masks(causal_mask(5), padding_mask([5, 3], 5))
    assert_close(other(x, mask=mask)[0], layer(x, mask=mask)[0], **NEARLY)


@pytest.mark.parametrize("attend", [fused_attention, partial(chunked_attention, chunk=5)])
@pytest.mark.parametrize("biased", [False, True])
def test_causal_equals_the_causal_mask(attend, biased):
    qkv = draw(B, H, lq=LK)
    bias = some_bias(H, LK, LK) if biased else None
    expected = scaled_dot_product_attention(*qkv, causal_mask(LK), bias)[0]
    assert_close(attend(*qkv, None, bias, causal=True)[0], expected, **NEARLY)
    assert_close(attend(*qkv, causal_mask(LK), bias)[0], expected, **NEARLY)


def test_a_mask_of_one_row_is_not_mistaken_for_a_triangle():
    qkv = draw(B, lq=1)
    everything = torch.ones(1, 1, dtype=torch.bool)
    assert_close(fused_attention(*qkv, everything)[0], fused_attention(*qkv)[0], **NEARLY)


@pytest.mark.parametrize("biased", [False, True])
def test_a_triangle_that_is_not_square_is_treated_like_any_mask(biased):
    qkv, mask = draw(B), torch.ones(LQ, LK, dtype=torch.bool).tril()
    bias = some_bias(LQ, LK) if biased else None
    expected = scaled_dot_product_attention(*qkv, mask, bias)[0]
    assert_close(fused_attention(*qkv, mask, bias)[0], expected, **NEARLY)


# --- the window ------------------------------------------------------------------------------


@pytest.mark.parametrize("window", [0, 3, 70, 500])
@pytest.mark.parametrize("table", ["none", "keys", "mask", "bias"])
def test_the_window_equals_the_masked_dense_form(window, table):
    length = 150
    qkv = [x.requires_grad_() for x in draw(B, H, lq=length, lk=length)]
    generator = torch.Generator().manual_seed(3)
    mask, bias = {
        "none": (None, None),
        "keys": (padding_mask([150, 90], length)[:, None], None),
        "mask": (torch.rand(length, length, generator=generator) > 0.5, None),
        "bias": (None, some_bias(H, length, length)),
    }[table]
    both = combine_masks(None if mask is None else mask, sliding_window_mask(length, window))
    output, weights = window_attention(*qkv, mask, bias, window=window)
    expected = scaled_dot_product_attention(*qkv, both, bias)[0]
    assert weights is None
    assert_close(output, expected, **NEARLY)
    toward = some_bias(*output.shape)
    assert_close(*(torch.autograd.grad(x, qkv, toward) for x in (output, expected)), **NEARLY)


# --- linear attention ------------------------------------------------------------------------


def quadratic(query, key, value, mask=None):
    """The definition: a matrix of φ(q)·φ(k), each row divided by its sum."""
    table = (F.elu(query) + 1) @ (F.elu(key) + 1).mT
    table = table if mask is None else table * mask
    return table / table.sum(-1, keepdim=True).clamp(min=1e-300) @ value


@pytest.mark.parametrize("leading", LEADINGS)
def test_both_orders_of_multiplication_agree(leading):
    qkv = draw(*leading)
    output, weights = linear_attention(*qkv)
    assert weights is None
    assert_close(output, quadratic(*qkv), **NEARLY)


@pytest.mark.parametrize("length", [0, 1, 63, 64, 65, 150])
def test_the_running_state_equals_the_parallel_form(length):
    qkv = [x.requires_grad_() for x in draw(B, H, lq=length, lk=length)]
    output, _ = linear_attention(*qkv, causal=True)
    expected = quadratic(*qkv, causal_mask(length))
    assert_close(output, expected, **NEARLY)
    toward = some_bias(*output.shape)
    gradients = (torch.autograd.grad(x, qkv, toward) for x in (output, expected))
    assert_close(*gradients, rtol=0, atol=1e-10)


def test_linear_attention_hides_padding_and_gives_zeros_for_nothing():
    qkv = [x.requires_grad_() for x in draw(B, H)]
    mask = padding_mask([11, 0], LK)[:, None]
    for causal in (False, True):
        q, k, v = qkv if not causal else [x[..., :LQ, :] for x in qkv]
        hidden = mask[..., : k.size(-2)]
        output, _ = linear_attention(q, k, v, hidden, causal=causal)
        triangle = causal_mask(LQ) if causal else True
        assert_close(output, quadratic(q, k, v, hidden & triangle), **NEARLY)
        assert output[1].eq(0).all()
        output.sum().backward()
        assert all(x.grad.isfinite().all() for x in qkv)


def test_linear_attention_in_half_precision():
    query, key, value = draw(B, lq=300, lk=300, dtype=torch.float16)
    for causal in (False, True):
        output, _ = linear_attention(query, key, value, causal=causal)
        assert output.dtype == torch.float16
        expected, _ = linear_attention(query.double(), key.double(), value.double(), causal=causal)
        assert_close(output.double(), expected, rtol=0, atol=2e-3)


# --- compute and memory ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "attend",
    [
        partial(chunked_attention, chunk=64),
        partial(chunked_attention, chunk=64, causal=True),
        partial(window_attention, window=8),
        linear_attention,
        partial(linear_attention, causal=True),
    ],
)
def test_no_score_matrix_is_created_forward_or_backward(attend):
    sizes = []
    for length in (512, 1024):
        qkv = [x.requires_grad_() for x in draw(H, lq=length, lk=length)]
        with Largest() as largest:
            attend(*qkv)[0].sum().backward()
        sizes.append(largest.elements)
    assert sizes[0] < H * 512**2 / 16
    assert sizes[1] <= 2 * sizes[0]
    with Largest() as largest:
        scaled_dot_product_attention(*qkv)
    assert largest.elements == H * length**2


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


def spent(attend, *arguments) -> float:
    return cost(lambda: attend(*arguments)).megabytes


@pytest.mark.skipif(
    os.environ.get("ATTNBOOK_REHEARSAL") == "1", reason="a simulated GPU has no kernels of its own"
)
@pytest.mark.parametrize(
    ("leading", "dv", "mask"),
    [
        ((1, 2), 32, None),
        ((1, 2), 32, causal_mask(512)),
        ((1, 2), 32, sliding_window_mask(512, 9)),
        ((2,), 32, None),
        ((), 32, causal_mask(512)),
        ((2, 1, 2), 32, sliding_window_mask(512, 9)),
        ((1, 2), 24, None),
        ((1, 2), 40, None),
    ],
)
def test_fused_takes_no_more_memory_than_the_plain_form(leading, dv, mask):
    query, key = torch.randn(2, *leading, 512, 32)
    qkv = query, key, torch.randn(*leading, 512, dv)
    table = query.numel() // 32 * 512 * 4 / 1e6
    plain, fused = (spent(f, *qkv, mask) for f in (scaled_dot_product_attention, fused_attention))
    assert fused <= plain
    if mask is None or mask.equal(causal_mask(512)):
        assert fused < table / 3, "PyTorch created a matrix of scores"


def test_fused_needs_matrices_for_a_bias_as_documented():
    qkv, bias = torch.randn(3, 1, 2, 512, 32), torch.randn(2, 512, 512)
    assert spent(fused_attention, *qkv, None, bias) >= bias.numel() * 4 / 1e6


def test_chunks_that_a_mask_hides_are_skipped():
    qkv = torch.randn(3, 2, 512, 32)
    mask = sliding_window_mask(512, 20)

    def products(mask: torch.Tensor | None) -> int:
        return cost(lambda: chunked_attention(*qkv, mask, chunk=64)).multiplications

    assert products(mask) == products(None) * (8 + 7 + 7) / 64  # the diagonal and its neighbors
