"""The delta rule: its steps, its triangular system and its state agree."""

import pytest
import torch
from torch.testing import assert_close

from attnbook import delta_rule
from tests.support.draws import drawn, query_key_value

B, H, DK, DV = 2, 3, 5, 7
NEARLY = {"rtol": 0, "atol": 1e-10}


def drawn_input(length, *leading):
    query, key, value = query_key_value(*leading, lq=length, lk=length)
    key = torch.nn.functional.normalize(key, dim=-1)
    beta, decay = drawn(*leading, length).sigmoid(), drawn(*leading, length).sigmoid() ** 0.1
    return query, key, value, beta, decay


def steps(query, key, value, beta, decay):
    """The definition, one position at a time."""
    state = torch.zeros(*key.shape[:-2], key.size(-1), value.size(-1)).to(key)
    outputs = []
    for t in range(key.size(-2)):
        k, v, q = key[..., t, :, None], value[..., t, None, :], query[..., t, None, :]
        state = decay[..., t, None, None] * state
        state = state + k @ (beta[..., t, None, None] * (v - k.mT @ state))
        outputs.append(q @ state)
    return torch.cat(outputs, -2), state


@pytest.mark.parametrize("leading", [(), (B,), (B, H), (2, 1, 4, 3)])
@pytest.mark.parametrize("length", [1, 63, 64, 65, 150])
def test_the_system_equals_the_steps_with_gradients(leading, length):
    inputs = [x.requires_grad_() for x in drawn_input(length, *leading)]
    results = [form(*inputs) for form in (delta_rule, steps)]
    assert_close(*results, **NEARLY)
    upstream = [drawn(*x.shape) for x in results[0]]
    assert_close(*(torch.autograd.grad(x, inputs, upstream) for x in results), **NEARLY)


def test_a_text_can_be_read_in_parts():
    inputs = drawn_input(100, B, H)
    whole, last = delta_rule(*inputs)
    state, outputs = None, []
    for parts in zip(*(x.split(30, 2) for x in inputs), strict=True):
        output, state = delta_rule(*parts, state)
        outputs.append(output)
    assert_close(torch.cat(outputs, 2), whole, **NEARLY)
    assert_close(state, last, **NEARLY)


def test_without_a_decay_nothing_fades_and_nothing_is_read_from_no_text():
    query, key, value, beta, _ = drawn_input(70, B)
    assert_close(
        delta_rule(query, key, value, beta),
        delta_rule(query, key, value, beta, torch.ones_like(beta)),
    )
    state = drawn(B, key.size(-1), value.size(-1))
    empty = (x[:, :0] for x in (query, key, value, beta))
    output, same = delta_rule(*empty, None, state)
    assert output.shape == (B, 0, value.size(-1))
    assert_close(same, state)


def test_a_new_value_replaces_the_old_one_of_its_key_and_leaves_those_at_right_angles():
    key = torch.eye(4, dtype=torch.float64)[[0, 1, 0]]
    value = drawn(3, DV)
    _, state = delta_rule(key, key, value, torch.ones(3).to(key))
    assert_close(key @ state, value[[2, 1, 2]])


def test_strong_fading_stays_finite_and_half_precision_is_computed_in_float32():
    query, key, value, beta, _ = drawn_input(200, B)
    inputs = [x.requires_grad_() for x in (query, key, value, beta, torch.full_like(beta, 1e-30))]
    output, _ = delta_rule(*inputs)
    output.sum().backward()
    assert all(x.grad.isfinite().all() for x in inputs)
    assert_close(output, (query * key).sum(-1, keepdim=True) * beta[..., None] * value)
    halves = [x.detach().half() for x in inputs[:4]]
    found, expected = delta_rule(*halves)[0], delta_rule(*(x.double() for x in halves))[0]
    assert found.dtype == torch.float16
    assert_close(found.double(), expected, rtol=0, atol=2e-2)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"beta": torch.ones(2, 6)}, r"beta has shape \(2, 6\): here it must be \(2, 5\)"),
        ({"decay": torch.ones(5)}, r"decay has shape \(5,\): here it must be \(2, 5\)"),
        (
            {"state": torch.ones(2, 4, 3)},
            r"state has shape \(2, 4, 3\): here it must be \(2, 3, 4\)",
        ),
        ({"key": torch.ones(2, 6, 3), "value": torch.ones(2, 6, 4)}, "the delta rule compares"),
        ({"beta": torch.ones(2, 5, dtype=torch.int64)}, "must be floating point"),
        ({"beta": torch.ones(2, 5).double()}, "must share one dtype"),
    ],
)
def test_bad_input_is_refused(wrong, message):
    right = {"query": torch.ones(2, 5, 3), "key": torch.ones(2, 5, 3)}
    right |= {"value": torch.ones(2, 5, 4), "beta": torch.ones(2, 5)}
    with pytest.raises(ValueError, match=message):
        delta_rule(**(right | wrong))
