"""Linear attention: its parallel form, its running state and its definition agree."""

import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close

from attnbook import causal_mask, linear_attention, padding_mask
from tests.support.draws import drawn, query_key_value

B, H, LQ, LK = 2, 3, 13, 17
LEADINGS = [(), (B,), (B, H), (2, 1, 4, 3)]
NEARLY = {"rtol": 0, "atol": 1e-12}


def quadratic(query, key, value, mask=None):
    """The definition: a matrix of φ(q)·φ(k), each row divided by its sum."""
    table = (F.elu(query) + 1) @ (F.elu(key) + 1).mT
    table = table if mask is None else table * mask
    return table / table.sum(-1, keepdim=True).clamp(min=1e-300) @ value


@pytest.mark.parametrize("leading", LEADINGS)
def test_both_orders_of_multiplication_agree(leading):
    qkv = query_key_value(*leading)
    output, weights = linear_attention(*qkv)
    assert weights is None
    assert_close(output, quadratic(*qkv), **NEARLY)


@pytest.mark.parametrize("length", [0, 1, 63, 64, 65, 150])
def test_the_running_state_equals_the_parallel_form(length):
    qkv = [x.requires_grad_() for x in query_key_value(B, H, lq=length, lk=length)]
    output, _ = linear_attention(*qkv, causal=True)
    expected = quadratic(*qkv, causal_mask(length))
    assert_close(output, expected, **NEARLY)
    toward = drawn(*output.shape)
    gradients = (torch.autograd.grad(x, qkv, toward) for x in (output, expected))
    assert_close(*gradients, rtol=0, atol=1e-10)


def test_linear_attention_hides_padding_and_gives_zeros_for_nothing():
    qkv = [x.requires_grad_() for x in query_key_value(B, H)]
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


def test_in_float32_very_negative_numbers_have_features_of_0():
    key, value = torch.ones(LK, 4), torch.randn(LK, 6)
    for number, counts in ((-16.0, True), (-20.0, False)):
        query = torch.full((LQ, 4), number)
        assert linear_attention(query, key, value)[0].ne(0).all() == counts
        exact, _ = linear_attention(query.double(), key.double(), value.double())
        assert_close(exact, value.double().mean(-2).expand(LQ, 6))


def test_linear_attention_in_half_precision():
    query, key, value = query_key_value(B, lq=300, lk=300, dtype=torch.float16)
    for causal in (False, True):
        output, _ = linear_attention(query, key, value, causal=causal)
        assert output.dtype == torch.float16
        expected, _ = linear_attention(query.double(), key.double(), value.double(), causal=causal)
        assert_close(output.double(), expected, rtol=0, atol=2e-3)
