"""Relative positions: Shaw's and Transformer-XL's attention compared with the papers' formulas."""

import itertools
import math
import re
from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from attnbook import ShawAttention, TransformerXLAttention, causal_mask, padding_mask
from attnbook.positions.absolute import sinusoids
from tests.support.claims import claim
from tests.support.draws import drawn, redraw

B, H, L, M, DK = 2, 3, 7, 4, 6  # all different; M is the length of the memory
D = H * DK
NEAR = 2  # larger distances are clipped, and L - 1 = 6 is much larger


def shaw(max_distance: int = NEAR) -> ShawAttention:
    return redraw(ShawAttention(D, H, max_distance))


def transformer_xl() -> TransformerXLAttention:
    return redraw(TransformerXLAttention(D, H))


# --- the papers' formulas, as loops ----------------------------------------------------------


def looped(
    layer: ShawAttention | TransformerXLAttention,
    x: Tensor,
    context: Tensor,
    allowed: Tensor,
    score: Callable[[int, int, int, Tensor, Tensor], Tensor],
    value: Callable[[int, int, Tensor], Tensor],
) -> tuple[Tensor, Tensor]:
    """Attention, one query and one key at a time, with the paper's own score and value."""
    mixed, weights = torch.zeros_like(x), torch.zeros(allowed.shape, dtype=torch.float64)
    for b, h, i in itertools.product(range(x.size(0)), range(H), range(x.size(1))):
        part, places = slice(h * DK, (h + 1) * DK), range(context.size(1))
        query = (layer.w_q.weight @ x[b, i])[part]
        keys, values = ((context[b] @ w.weight.T)[:, part] for w in (layer.w_k, layer.w_v))
        scores = torch.stack([score(h, i, j, query, keys[j]) for j in places]) / math.sqrt(DK)
        row = scores.masked_fill(~allowed[b, h, i], -math.inf).softmax(-1).nan_to_num(0.0)
        mixed[b, i, part] = sum(row[j] * value(i, j, values[j]) for j in places)
        weights[b, h, i] = row
    return mixed @ layer.w_o.weight.T, weights


def looped_shaw(layer: ShawAttention, x: Tensor, allowed: Tensor) -> tuple[Tensor, Tensor]:
    """Shaw et al., equations 2 to 4: one vector per clipped j - i, for keys and for values."""

    def row(i: int, j: int) -> int:
        return max(-layer.max_distance, min(layer.max_distance, j - i)) + layer.max_distance

    def score(h: int, i: int, j: int, q: Tensor, key: Tensor) -> Tensor:
        return q @ (key + layer.key_table.weight[row(i, j)])

    def value(i: int, j: int, v: Tensor) -> Tensor:
        return v + layer.value_table.weight[row(i, j)]

    return looped(layer, x, x, allowed, score, value)


def looped_transformer_xl(
    layer: TransformerXLAttention, x: Tensor, memory: Tensor, allowed: Tensor
) -> tuple[Tensor, Tensor]:
    """Dai et al., §3.3: the terms a, b, c and d; row i of x is at position memory length + i."""

    def score(h: int, i: int, j: int, q: Tensor, key: Tensor) -> Tensor:
        r = sinusoids(torch.tensor(memory.size(1) + i - j), D)
        position = (layer.w_r.weight @ r)[h * DK : (h + 1) * DK]
        u, v = layer.u[h, 0], layer.v[h, 0]
        return q @ key + q @ position + u @ key + v @ position

    return looped(layer, x, torch.cat((memory, x), 1), allowed, score, lambda i, j, v: v)


def random_mask(*size: int) -> Tensor:
    """A random mask in which every query may attend to at least one key."""
    mask = torch.rand(*size, generator=torch.Generator().manual_seed(1)) > 0.5
    mask[..., 2] = True
    return mask


def empty_row(lq: int, lk: int) -> Tensor:
    mask = random_mask(B, lq, lk)
    mask[1, 3] = False
    return mask


MASKS: dict[str, Callable[[int, int], Tensor | None]] = {
    "none": lambda lq, lk: None,
    "(Lq, Lk)": random_mask,
    "padding (B, 1, Lk)": lambda lq, lk: padding_mask([lk - 3, lk], lk),
    "(B, Lq, Lk)": lambda lq, lk: random_mask(B, lq, lk),
    "(B, H, Lq, Lk)": lambda lq, lk: random_mask(B, H, lq, lk),
    "an empty row": empty_row,
}


def allowed_by(mask: Tensor | None, lq: int, lk: int) -> Tensor:
    """The mask, expanded to every sequence, head, query and key."""
    mask = torch.ones(lq, lk, dtype=torch.bool) if mask is None else mask
    return (mask[:, None] if mask.dim() == 3 else mask).expand(B, H, lq, lk)


@torch.no_grad()
@claim(
    "For each clipped distance, Shaw's method adds one learned vector to the key and another to the"
    " value;"
)
@pytest.mark.parametrize("name", MASKS)
@pytest.mark.parametrize("max_distance", [0, 1, NEAR, 20])
def test_shaw_equals_the_loop_of_the_paper(name, max_distance):
    layer, x, mask = shaw(max_distance), drawn(B, L, D, seed=9), MASKS[name](L, L)
    expected = looped_shaw(layer, x, allowed_by(mask, L, L))
    assert_close(layer(x, mask), expected, rtol=0, atol=1e-12)


@torch.no_grad()
@pytest.mark.parametrize("name", MASKS)
@pytest.mark.parametrize("remembered", [0, 1, M, L + M])
def test_transformer_xl_equals_the_loop_of_the_paper(name, remembered):
    layer, x = transformer_xl(), drawn(B, L, D, seed=9)
    memory, mask = drawn(B, remembered, D, seed=8), MASKS[name](L, remembered + L)
    expected = looped_transformer_xl(layer, x, memory, allowed_by(mask, L, remembered + L))
    assert_close(layer(x, memory, mask), expected, rtol=0, atol=1e-12)
    if not remembered:
        assert_close(layer(x, None, mask), expected, rtol=0, atol=1e-12)


RELATIVE = {"shaw": shaw, "transformer-xl": transformer_xl}


def test_no_gradient_flows_into_the_memory():
    layer = transformer_xl()
    x, memory = drawn(B, L, D).requires_grad_(), drawn(B, M, D, seed=1).requires_grad_()
    layer(x, memory)[0].square().sum().backward()
    assert memory.grad is None
    assert x.grad is not None
    assert x.grad.abs().max() > 0


@pytest.mark.parametrize("name", RELATIVE)
def test_every_parameter_learns(name):
    layer = RELATIVE[name]()
    layer(drawn(B, L, D, seed=9))[0].square().sum().backward()
    for parameter_name, parameter in layer.named_parameters():
        assert parameter.grad is not None, parameter_name
        assert parameter.grad.flatten(1).abs().amax(1).min() > 0, parameter_name


@torch.no_grad()
@pytest.mark.parametrize("name", RELATIVE)
@pytest.mark.parametrize("size", [(0, L, D), (B, 0, D), (B, 1, D), (L, D), (1, D), (0, D)])
def test_empty_inputs_single_rows_and_no_batch_axis(name, size):
    layer, x = RELATIVE[name](), drawn(*size, seed=9)
    output, weights = layer(x)
    assert output.shape == size
    assert weights.shape == (*size[:-2], H, size[-2], size[-2])
    assert_close(weights.sum(-1), torch.ones(weights.shape[:-1], dtype=torch.float64))
    if x.dim() == 2:
        assert_close(output, layer(x[None])[0][0], rtol=0, atol=1e-12)


# --- bad input -------------------------------------------------------------------------------

X = torch.zeros(B, L, D)
BAD = [
    (lambda: ShawAttention(8, 3, 1), "d_model=8 is not divisible by n_heads=3"),
    (lambda: ShawAttention(8, 2, -1), "max_distance=-1: it must be at least 0"),
    (lambda: ShawAttention(8, 2, 1)(X), "width 18: d_model=8 is expected"),
    (lambda: ShawAttention(D, H, 1)(X[None]), "x has shape (1, 2, 7, 18): it must"),
    (lambda: ShawAttention(D, H, 1)(X, torch.zeros(L, L)), "it must be boolean"),
    (lambda: TransformerXLAttention(9, 3), "d_model=9 is odd"),
    (lambda: TransformerXLAttention(8, 3), "d_model=8 is not divisible by n_heads=3"),
    (lambda: TransformerXLAttention(8, 2)(X), "width 18: d_model=8 is expected"),
    (lambda: TransformerXLAttention(D, H)(X[None]), "x has shape (1, 2, 7, 18): it must"),
    (
        lambda: TransformerXLAttention(D, H)(X, X[:, :M], causal_mask(L)),
        "mask of shape (7, 7) does not broadcast to the scores (..., Lq, Lk) = (2, 3, 7, 11)",
    ),
    (lambda: TransformerXLAttention(D, H)(X, X[:1]), "memory has shape (1, 7, 18) but x has (2, 7"),
    (lambda: TransformerXLAttention(D, H)(X, X[0]), "memory has shape (7, 18) but x has (2, 7, 18"),
    (
        lambda: TransformerXLAttention(D, H)(X, X[..., :8]),
        "memory has shape (2, 7, 8), so its rows",
    ),
    (
        lambda: TransformerXLAttention(D, H)(X, X.double()),
        "dtype, got memory: torch.float64, x: to",
    ),
]


@pytest.mark.parametrize(("call", "message"), BAD, ids=range(len(BAD)))
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        call()
