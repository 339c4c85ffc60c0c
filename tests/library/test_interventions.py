"""Reading and replacing heads' outputs: equal to a computation by hand, and undone afterward."""

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from attnbook import (
    GroupedQueryAttention,
    MultiHeadAttention,
    causal_mask,
    head_outputs,
    scaled_dot_product_attention,
    split_heads,
)
from tests.support.draws import drawn

B, H, LQ, LK, DK = 2, 3, 5, 6, 4
D, D_CONTEXT = H * DK, 7


@pytest.fixture
def layer() -> MultiHeadAttention:
    torch.manual_seed(0)
    return MultiHeadAttention(D, H, d_context=D_CONTEXT).double()


def by_hand(layer: MultiHeadAttention, query: Tensor, key: Tensor) -> list[Tensor]:
    """Each head's output, (..., Lq, Dk), computed with slices of the layer's matrices."""
    outputs = []
    for h in range(H):
        columns = slice(h * DK, (h + 1) * DK)
        q, k, v = (
            x @ projection.weight[columns].mT + projection.bias[columns]
            for x, projection in ((query, layer.w_q), (key, layer.w_k), (key, layer.w_v))
        )
        outputs.append(scaled_dot_product_attention(q, k, v)[0])
    return outputs


def combined(layer: MultiHeadAttention, outputs: list[Tensor]) -> Tensor:
    """Compute the layer's output: each head's output times its columns of w_o, added up."""
    through = [
        outputs[h] @ layer.w_o.weight[:, h * DK : (h + 1) * DK].mT for h in range(len(outputs))
    ]
    return sum(through) + layer.w_o.bias


# --- reading -----------------------------------------------------------------------------------


@pytest.mark.parametrize("leading", [(), (B,)])
def test_it_reads_what_each_head_outputs(layer, leading):
    query, key = drawn(*leading, LQ, D), drawn(*leading, LK, D_CONTEXT, seed=1)
    plain = layer(query, key)[0]
    with head_outputs(layer) as calls:
        assert layer(query, key)[0].equal(plain)
    assert len(calls) == 1
    assert calls[0].shape == (*leading, H, LQ, DK)
    assert_close(calls[0], torch.stack(by_hand(layer, query, key), dim=-3))


def test_it_reads_each_call_in_order_and_none_after_the_block(layer):
    first, second = drawn(LQ, D), drawn(LQ + 1, D, seed=1)
    context = drawn(LK, D_CONTEXT, seed=2)
    with head_outputs(layer) as calls:
        layer(first, context)
        layer(second, context)
    layer(first, context)
    assert [tuple(x.shape) for x in calls] == [(H, LQ, DK), (H, LQ + 1, DK)]


def test_it_reads_grouped_queries_with_a_width_of_their_own():
    torch.manual_seed(0)
    layer = GroupedQueryAttention(D, 6, 2, d_k=5).double()
    x = drawn(B, LQ, D)
    with head_outputs(layer) as calls:
        _, weights = layer(x, mask=causal_mask(LQ))
    values = split_heads(layer.w_v(x), 2).repeat_interleave(3, dim=1)
    assert_close(calls[0], weights @ values)


# --- replacing ---------------------------------------------------------------------------------


def test_w_o_gets_the_replaced_outputs(layer):
    query, key, other = drawn(B, LQ, D), drawn(B, LK, D_CONTEXT, seed=1), drawn(B, LQ, DK, seed=2)

    def second_head_replaced(outputs: Tensor) -> Tensor:
        return torch.stack((outputs[:, 0], other, outputs[:, 2]), dim=1)

    with head_outputs(layer, second_head_replaced) as calls:
        output, weights = layer(query, key)
    heads = by_hand(layer, query, key)
    assert_close(output, combined(layer, [heads[0], other, heads[2]]))
    assert_close(calls[0][:, 1], heads[1])  # read before it was replaced
    assert weights.equal(layer(query, key)[1])


def test_gradients_flow_through_what_is_read_and_what_replaces_it(layer):
    query, key = drawn(B, LQ, D), drawn(B, LK, D_CONTEXT, seed=1)
    factor = torch.ones(H, dtype=torch.float64, requires_grad=True)
    with head_outputs(layer, lambda x: factor[:, None, None] * x) as calls:
        output = layer(query, key)[0]
    wanted = drawn(*output.shape, seed=2)
    inputs = factor, layer.w_v.weight
    by_hooks = torch.autograd.grad((output * wanted).sum(), inputs, retain_graph=True)
    heads = [factor[h] * x for h, x in enumerate(by_hand(layer, query, key))]
    total = (combined(layer, heads) * wanted).sum()
    assert_close(by_hooks, torch.autograd.grad(total, inputs))
    assert torch.autograd.grad(calls[0].sum(), layer.w_v.weight)[0].abs().sum() > 0


def test_two_layers_at_once_and_one_inside_the_other(layer):
    query, key = drawn(LQ, D), drawn(LK, D_CONTEXT, seed=1)
    torch.manual_seed(1)
    second = MultiHeadAttention(D, H).double()
    with head_outputs(layer) as calls, head_outputs(second, torch.zeros_like):
        output = second(layer(query, key)[0])[0]
    assert_close(output, second.w_o.bias.expand(LQ, D))
    assert len(calls) == 1
    with head_outputs(layer, lambda x: 2 * x), head_outputs(layer) as doubled:
        layer(query, key)
    assert_close(doubled[0], 2 * calls[0])


# --- undone, and refused -----------------------------------------------------------------------


def test_it_is_undone_after_the_block_and_after_an_exception(layer):
    query, key = drawn(LQ, D), drawn(LK, D_CONTEXT, seed=1)
    plain = layer(query, key)[0]
    with head_outputs(layer, torch.zeros_like):
        assert not layer(query, key)[0].equal(plain)
    assert layer(query, key)[0].equal(plain)
    with pytest.raises(ZeroDivisionError), head_outputs(layer, torch.zeros_like):
        raise ZeroDivisionError
    assert layer(query, key)[0].equal(plain)
    with pytest.raises(ZeroDivisionError), head_outputs(layer, lambda x: x / (1 // 0)):
        layer(query, key)
    assert layer(query, key)[0].equal(plain)


@pytest.mark.parametrize("wrong", [nn.Linear(D, D), nn.MultiheadAttention(D, H), None])
def test_it_refuses_what_has_no_heads(wrong):
    message = f"{type(wrong).__name__} has no heads to read: it needs n_heads and w_o"
    with pytest.raises(TypeError, match=message), head_outputs(wrong):
        pass


def test_it_refuses_a_replacement_that_does_not_fit(layer):
    query, key = drawn(LQ, D), drawn(LK, D_CONTEXT, seed=1)
    message = r"returned shape \(3, 5\): the heads' outputs have \(3, 5, 4\)"
    with pytest.raises(ValueError, match=message), head_outputs(layer, lambda x: x[..., 0]):
        layer(query, key)
    message = "what replace returns must be a torch"
    with pytest.raises(TypeError, match=message), head_outputs(layer, lambda x: None):
        layer(query, key)
