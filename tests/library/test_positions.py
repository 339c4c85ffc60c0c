"""Positions: the formulas by hand, the rotation, and both relative forms against a slow loop."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.testing import assert_close

from attnbook import (
    LearnedPositions,
    MultiHeadAttention,
    ShawAttention,
    SinusoidalPositions,
    TransformerXLAttention,
    causal_mask,
    padding_mask,
    rotation_matrix,
    sinusoidal_encoding,
)
from attnbook.positions import sinusoids

B, H, L, M, DK = 2, 3, 7, 4, 6  # all different; M rows of memory
D = H * DK
NEAR = 2  # distances beyond are clipped, and L - 1 = 6 is far beyond


def drawn(*size: int, seed: int = 0) -> Tensor:
    return torch.randn(*size, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def redraw(module: nn.Module, seed: int = 0) -> nn.Module:
    """Give every parameter a random number of float64: u and v start at zero otherwise."""
    module.double()
    with torch.no_grad():
        for i, parameter in enumerate(module.parameters()):
            parameter.copy_(drawn(*parameter.shape, seed=seed + i) / 2)
    return module


def shaw(max_distance: int = NEAR) -> ShawAttention:
    return redraw(ShawAttention(D, H, max_distance))


def transformer_xl() -> TransformerXLAttention:
    return redraw(TransformerXLAttention(D, H))


@contextmanager
def float64() -> Iterator[None]:
    """Let functions that return the default dtype return float64."""
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(torch.float32)


# --- sinusoids -------------------------------------------------------------------------------


def clock_hands(t: float, d_model: int) -> list[float]:
    """One encoding as S4 writes it, column by column, with Python's own floats."""
    row = []
    for i in range(d_model):
        omega = 1 / 10000 ** (2 * (i // 2) / d_model)
        row.append(math.sin(omega * t) if i % 2 == 0 else math.cos(omega * t))
    return row


@pytest.mark.parametrize(("length", "d_model"), [(9, 4), (5, 2), (3, 18), (1, 6), (130, 64)])
def test_the_encoding_is_the_formula_of_s4(length, d_model):
    by_hand = torch.tensor([clock_hands(t, d_model) for t in range(length)], dtype=torch.float64)
    assert_close(sinusoidal_encoding(length, d_model), by_hand.float(), rtol=0, atol=1e-6)
    with float64():
        assert_close(sinusoidal_encoding(length, d_model), by_hand, rtol=0, atol=1e-13)


def test_the_encoding_has_the_numbers_of_s4():
    expected = torch.tensor(
        [
            [0.0000, 1.0000, 0.0000, 1.0000],
            [0.8415, 0.5403, 0.0100, 1.0000],
            [0.9093, -0.4161, 0.0200, 0.9998],
            [0.1411, -0.9900, 0.0300, 0.9996],
        ]
    )
    assert_close(sinusoidal_encoding(4, 4), expected, rtol=0, atol=5.1e-5)


def test_far_positions_keep_their_digits():
    t = 123_457_891
    far = sinusoids(torch.tensor([t]), 8)[0]
    assert far.dtype == torch.float64
    assert_close(far, torch.tensor(clock_hands(t, 8), dtype=torch.float64), rtol=0, atol=1e-7)


def test_positions_may_have_any_shape():
    positions = torch.tensor([[0.5, -3.0, 2.0], [7.0, 0.0, 1.25]])
    encodings = sinusoids(positions, 10)
    assert encodings.shape == (2, 3, 10)
    by_hand = torch.tensor(clock_hands(1.25, 10), dtype=torch.float64)
    assert_close(encodings[1, 2], by_hand, rtol=0, atol=1e-14)


@given(st.integers(0, 500), st.integers(0, 500), st.integers(1, 20))
def test_the_dot_product_depends_on_the_distance_alone(s, t, pairs):
    p_s, p_t = sinusoids(torch.tensor([s, t]), 2 * pairs)
    omegas = [10000 ** (-k / pairs) for k in range(pairs)]
    assert math.isclose(p_s @ p_t, sum(math.cos(w * (s - t)) for w in omegas), abs_tol=1e-9)
    assert math.isclose(p_s @ p_s, pairs, rel_tol=1e-12)


# --- rotation --------------------------------------------------------------------------------

finite = st.floats(-300, 300)
widths = st.integers(1, 12).map(lambda pairs: 2 * pairs)


@given(finite, finite, widths)
def test_one_matrix_moves_every_encoding(t, offset, d_model):
    with float64():
        moved = rotation_matrix(offset, d_model) @ sinusoids(torch.tensor(t), d_model)
        assert_close(moved, sinusoids(torch.tensor(t + offset), d_model), rtol=0, atol=1e-11)


@given(st.integers(-50, 50), widths)
def test_a_whole_encoding_moves_at_once(offset, d_model):
    rows = sinusoidal_encoding(120, d_model)
    moved = rows[50:70] @ rotation_matrix(offset, d_model).T
    assert_close(moved, rows[50 + offset : 70 + offset], rtol=0, atol=1e-5)


@given(finite, finite, widths)
def test_two_moves_make_one_and_a_move_can_be_undone(a, b, d_model):
    with float64():
        m = rotation_matrix(a, d_model)
        assert_close(m @ rotation_matrix(b, d_model), rotation_matrix(a + b, d_model))
        assert_close(rotation_matrix(-a, d_model), m.T, rtol=0, atol=0)
        assert_close(m @ m.T, torch.eye(d_model), rtol=0, atol=1e-12)


def test_the_matrix_is_that_of_s4():
    phi, expected = 3.0, torch.zeros(4, 4)
    for k, omega in enumerate((1.0, 0.01)):
        c, s = math.cos(omega * phi), math.sin(omega * phi)
        expected[2 * k : 2 * k + 2, 2 * k : 2 * k + 2] = torch.tensor([[c, s], [-s, c]])
    assert_close(rotation_matrix(phi, 4), expected)


# --- added to the rows -----------------------------------------------------------------------


@pytest.mark.parametrize("leading", [(), (B,), (B, H)])
def test_sinusoidal_positions_add_the_encoding_to_each_row(leading):
    x = drawn(*leading, L, D)
    by_hand = torch.tensor([clock_hands(t, D) for t in range(L)], dtype=torch.float64)
    assert_close(SinusoidalPositions(D)(x), x + by_hand, rtol=0, atol=1e-14)


def test_sinusoidal_positions_learn_nothing_and_keep_the_dtype():
    positions = SinusoidalPositions(D)
    assert not list(positions.parameters())
    assert not positions.state_dict()
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        assert positions(torch.zeros(L, D, dtype=dtype)).dtype == dtype


@pytest.mark.parametrize("leading", [(), (B,), (B, H)])
@pytest.mark.parametrize("length", [1, 5, 9])
def test_learned_positions_add_a_row_of_the_table_to_each_row(leading, length):
    positions = redraw(LearnedPositions(9, D))
    x = drawn(*leading, length, D)
    assert_close(positions(x), x + positions.table.weight[:length], rtol=0, atol=0)


def test_only_positions_that_occur_are_learned():
    positions = LearnedPositions(9, D)
    positions(torch.zeros(B, L, D)).sum().backward()
    gradient = positions.table.weight.grad
    assert gradient is not None
    assert gradient[:L].eq(B).all()
    assert gradient[L:].eq(0).all()


@pytest.mark.parametrize("make", [SinusoidalPositions, partial(LearnedPositions, 9)])
@pytest.mark.parametrize("size", [(0, L, D), (B, 0, D), (B, 1, D), (1, D), (0, D)])
def test_nothing_and_single_rows_pass(make, size):
    assert make(D)(torch.zeros(*size)).shape == size


# --- relative attention, the loops the papers describe -----------------------------------------


def dot(a: Tensor, b: Tensor) -> float:
    return sum(x * y for x, y in zip(a.tolist(), b.tolist(), strict=True))


def soft(scores: list[float]) -> list[float]:
    """The softmax of a list in which -inf marks what may not be looked at."""
    exponentials = [math.exp(s) for s in scores]
    return [e / (sum(exponentials) or 1.0) for e in exponentials]


def looped(
    layer: ShawAttention | TransformerXLAttention,
    x: Tensor,
    context: Tensor,
    allowed: Tensor,
    score: Callable[[int, int, int, Tensor, Tensor], float],
    value: Callable[[int, int, Tensor], Tensor],
) -> tuple[Tensor, Tensor]:
    """Attention, one query and one key at a time, with the paper's own score and value."""
    outputs = torch.zeros_like(x)
    weights = torch.zeros(x.size(0), H, x.size(1), context.size(1), dtype=torch.float64)
    for b in range(x.size(0)):
        for i in range(x.size(1)):
            mixed = []
            for h in range(H):
                part = slice(h * DK, (h + 1) * DK)
                q = (layer.w_q.weight @ x[b, i])[part]
                keys = [(layer.w_k.weight @ c)[part] for c in context[b]]
                values = [(layer.w_v.weight @ c)[part] for c in context[b]]
                scores = [
                    score(h, i, j, q, key) / math.sqrt(DK) if allowed[b, h, i, j] else -math.inf
                    for j, key in enumerate(keys)
                ]
                row = soft(scores)
                weights[b, h, i] = torch.tensor(row, dtype=torch.float64)
                start = torch.zeros(DK, dtype=torch.float64)
                mixed.append(sum((a * value(i, j, values[j]) for j, a in enumerate(row)), start))
            outputs[b, i] = layer.w_o.weight @ torch.cat(mixed)
    return outputs, weights


def looped_shaw(layer: ShawAttention, x: Tensor, allowed: Tensor) -> tuple[Tensor, Tensor]:
    """Shaw et al., equations 2 to 4: a vector for each clipped j - i, in the key and the value."""

    def row(i: int, j: int) -> int:
        return max(-layer.max_distance, min(layer.max_distance, j - i)) + layer.max_distance

    def score(h: int, i: int, j: int, q: Tensor, key: Tensor) -> float:
        return dot(q, key + layer.key_table.weight[row(i, j)])

    def value(i: int, j: int, v: Tensor) -> Tensor:
        return v + layer.value_table.weight[row(i, j)]

    return looped(layer, x, x, allowed, score, value)


def looped_transformer_xl(
    layer: TransformerXLAttention, x: Tensor, memory: Tensor, allowed: Tensor
) -> tuple[Tensor, Tensor]:
    """Dai et al., §3.3: the terms a, b, c and d; row i of x stands at memory length + i."""

    def score(h: int, i: int, j: int, q: Tensor, key: Tensor) -> float:
        r = torch.tensor(clock_hands(memory.size(1) + i - j, D), dtype=torch.float64)
        position = (layer.w_r.weight @ r)[h * DK : (h + 1) * DK]
        u, v = layer.u[h, 0], layer.v[h, 0]
        return dot(q, key) + dot(q, position) + dot(u, key) + dot(v, position)

    return looped(layer, x, torch.cat((memory, x), 1), allowed, score, lambda i, j, v: v)


def random_mask(*size: int) -> Tensor:
    """A random mask in which every query may look at something."""
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


def allowed_by(mask: Tensor | None, batch: int, lq: int, lk: int) -> Tensor:
    """The mask spelled out for each sequence, head, query and key."""
    if mask is None:
        return torch.ones(batch, H, lq, lk, dtype=torch.bool)
    return (mask[:, None] if mask.dim() == 3 else mask).expand(batch, H, lq, lk)


@torch.no_grad()
@pytest.mark.parametrize("name", MASKS)
@pytest.mark.parametrize("max_distance", [0, 1, NEAR, 20])
def test_shaw_is_the_loop_of_the_paper(name, max_distance):
    layer, x, mask = shaw(max_distance), drawn(B, L, D, seed=9), MASKS[name](L, L)
    expected = looped_shaw(layer, x, allowed_by(mask, B, L, L))
    assert_close(layer(x, mask), expected, rtol=0, atol=1e-12)


@torch.no_grad()
@pytest.mark.parametrize("name", MASKS)
@pytest.mark.parametrize("remembered", [0, 1, M, L + M])
def test_transformer_xl_is_the_loop_of_the_paper(name, remembered):
    layer, x = transformer_xl(), drawn(B, L, D, seed=9)
    memory, mask = drawn(B, remembered, D, seed=8), MASKS[name](L, remembered + L)
    expected = looped_transformer_xl(layer, x, memory, allowed_by(mask, B, L, remembered + L))
    assert_close(layer(x, memory, mask), expected, rtol=0, atol=1e-12)
    if not remembered:
        assert_close(layer(x, None, mask), expected, rtol=0, atol=1e-12)


@torch.no_grad()
def test_a_mask_meets_its_axis_where_sizes_cannot_tell():
    """B = H = Lq = Lk: a batch axis taken for the axis of heads would raise nothing."""
    x = drawn(H, H, D, seed=9)
    for mask in (random_mask(H, H, H), random_mask(H, H, H, H), random_mask(H, H)):
        allowed = allowed_by(mask, H, H, H)
        assert_close(shaw()(x, mask), looped_shaw(shaw(), x, allowed), rtol=0, atol=1e-12)
        layer, memory = transformer_xl(), x[:, :0]
        expected = looped_transformer_xl(layer, x, memory, allowed)
        assert_close(layer(x, mask=mask), expected, rtol=0, atol=1e-12)


RELATIVE = {"shaw": shaw, "transformer-xl": transformer_xl}


@torch.no_grad()
@pytest.mark.parametrize("name", RELATIVE)
def test_rows_far_along_look_as_rows_at_the_start_do(name):
    """Relative attention does not notice where a sentence begins; absolute positions do."""
    layer, x = RELATIVE[name](), drawn(B, L, D, seed=9)
    later = torch.cat((drawn(B, 5, D, seed=7), x), dim=1)
    only_x = padding_mask([5, 5], L + 5).logical_not()
    assert_close(layer(later, mask=only_x)[0][:, 5:], layer(x)[0], rtol=0, atol=1e-12)
    absolute, place = redraw(MultiHeadAttention(D, H)), SinusoidalPositions(D)
    moved = absolute(place(later), mask=only_x)[0][:, 5:]
    assert (moved - absolute(place(x))[0]).abs().max() > 0.1


@torch.no_grad()
@pytest.mark.parametrize("name", RELATIVE)
def test_relative_attention_knows_the_order(name):
    layer, x = RELATIVE[name](), drawn(B, L, D, seed=9)
    order = torch.tensor([2, 0, 1, 6, 5, 3, 4])
    assert (layer(x[:, order])[0] - layer(x)[0][:, order]).abs().max() > 0.1
    for table in ("key_table", "value_table", "w_r"):
        if hasattr(layer, table):
            getattr(layer, table).weight.zero_()
    assert_close(layer(x[:, order])[0], layer(x)[0][:, order], rtol=0, atol=1e-12)


@torch.no_grad()
def test_left_and_right_are_told_apart():
    layer, x = transformer_xl(), drawn(1, 1, D).expand(1, L, D)  # the same row, L times over
    _, weights = layer(x)
    assert (weights[0, :, 3, 2] - weights[0, :, 3, 4]).abs().min() > 1e-3
    _, weights = shaw()(x)
    assert (weights[0, :, 3, 2] - weights[0, :, 3, 4]).abs().min() > 1e-3


@torch.no_grad()
def test_a_segment_with_its_memory_is_the_end_of_the_whole():
    layer, x = transformer_xl(), drawn(B, M + L, D)
    mask = causal_mask(M + L)
    whole, weights = layer(x, mask=mask)
    output, tail = layer(x[:, M:], x[:, :M], mask[M:])
    assert_close(output, whole[:, M:], rtol=0, atol=1e-12)
    assert_close(tail, weights[:, :, M:], rtol=0, atol=1e-12)


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
def test_nothing_single_rows_and_no_batch(name, size):
    layer, x = RELATIVE[name](), drawn(*size, seed=9)
    output, weights = layer(x)
    assert output.shape == size
    assert weights.shape == (*size[:-2], H, size[-2], size[-2])
    assert_close(weights.sum(-1), torch.ones(weights.shape[:-1], dtype=torch.float64))
    if x.dim() == 2:
        assert_close(output, layer(x[None])[0][0], rtol=0, atol=1e-12)


@torch.no_grad()
@pytest.mark.parametrize("name", RELATIVE)
def test_a_query_that_may_look_at_nothing_gets_zeros(name):
    output, weights = RELATIVE[name]()(drawn(B, L, D), mask=empty_row(L, L))
    assert output[1, 3].eq(0).all()
    assert weights[1, :, 3].eq(0).all()
    assert output.isfinite().all()


@torch.no_grad()
@pytest.mark.parametrize("name", RELATIVE)
def test_rows_in_any_memory_order(name):
    layer, x = RELATIVE[name](), drawn(L, B, D, seed=9)
    assert not x.transpose(0, 1).is_contiguous()
    assert_close(layer(x.transpose(0, 1)), layer(x.transpose(0, 1).contiguous()))


# --- bad input -------------------------------------------------------------------------------

x = torch.zeros(B, L, D)
BAD = {
    "odd width": (lambda: sinusoidal_encoding(4, 5), "d_model=5 is odd"),
    "odd width, module": (lambda: SinusoidalPositions(7), "d_model=7 is odd"),
    "odd width, rotation": (lambda: rotation_matrix(1, 3), "d_model=3 is odd"),
    "odd width, Transformer-XL": (lambda: TransformerXLAttention(9, 3), "d_model=9 is odd"),
    "no width": (lambda: sinusoidal_encoding(4, 0), "d_model=0: it must be at least 1"),
    "length below 0": (lambda: sinusoidal_encoding(-1, 4), "length=-1: it must be at least 0"),
    "endless offset": (lambda: rotation_matrix(math.inf, 4), "offset=inf: it must be a finite"),
    "no offset": (lambda: rotation_matrix(math.nan, 4), "offset=nan: it must be a finite"),
    "no positions": (lambda: LearnedPositions(0, D), "max_length=0: it must be at least 1"),
    "too long": (
        lambda: LearnedPositions(6, D)(x),
        "x has 7 rows but max_length=6: no position was learned beyond it",
    ),
    "width, sinusoidal": (lambda: SinusoidalPositions(8)(x), "width 18: d_model=8 is expected"),
    "width, learned": (lambda: LearnedPositions(9, 8)(x), "width 18: d_model=8 is expected"),
    "width, Shaw": (lambda: ShawAttention(8, 2, 1)(x), "width 18: d_model=8 is expected"),
    "width, XL": (lambda: TransformerXLAttention(8, 2)(x), "width 18: d_model=8 is expected"),
    "one row, no matrix": (lambda: SinusoidalPositions(D)(x[0, 0]), "at least (length, width)"),
    "whole numbers": (lambda: LearnedPositions(9, D)(x.long()), "must be floating point"),
    "heads, Shaw": (lambda: ShawAttention(8, 3, 1), "d_model=8 is not divisible by n_heads=3"),
    "heads, XL": (lambda: TransformerXLAttention(8, 3), "d_model=8 is not divisible by n_heads=3"),
    "no heads": (lambda: ShawAttention(8, 0, 1), "n_heads=0: it must be at least 1"),
    "distance": (lambda: ShawAttention(8, 2, -1), "max_distance=-1: it must be at least 0"),
    "four dimensions": (
        lambda: ShawAttention(D, H, 1)(x[None]),
        "x has shape (1, 2, 7, 18): it must",
    ),
    "float mask": (lambda: ShawAttention(D, H, 1)(x, torch.zeros(L, L)), "it must be boolean"),
    "mask of another length": (
        lambda: TransformerXLAttention(D, H)(x, x[:, :M], causal_mask(L)),
        "mask of shape (7, 7) does not broadcast to the scores (..., Lq, Lk) = (2, 3, 7, 11)",
    ),
    "memory of another batch": (
        lambda: TransformerXLAttention(D, H)(x, x[:1]),
        "memory has shape (1, 7, 18) but x has (2, 7, 18)",
    ),
    "memory without batch": (
        lambda: TransformerXLAttention(D, H)(x, x[0]),
        "memory has shape (7, 18) but x has (2, 7, 18)",
    ),
    "memory of another width": (
        lambda: TransformerXLAttention(D, H)(x, torch.zeros(B, M, 8)),
        "memory has shape (2, 4, 8), so its rows have width 8: d_model=18 is expected",
    ),
    "memory of another dtype": (
        lambda: TransformerXLAttention(D, H)(x, x.double()),
        "must share one dtype, got memory: torch.float64, x: torch.float32",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_value_that_does_not_fit_is_named(name):
    call, message = BAD[name]
    with pytest.raises(ValueError) as caught:
        call()
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: sinusoidal_encoding(4.0, 4), "length must be an int, got float"),
        (lambda: sinusoidal_encoding(4, True), "d_model must be an int, got bool"),
        (lambda: rotation_matrix("1", 4), "must be real number, not str"),
        (lambda: LearnedPositions(9, "8"), "d_model must be an int, got str"),
        (lambda: LearnedPositions(9, 8)([[1.0]]), "x must be a torch.Tensor, got list"),
        (lambda: ShawAttention(8, 2, 1.5), "max_distance must be an int, got float"),
        (lambda: TransformerXLAttention(D, H)(x, "memory"), "memory must be a torch.Tensor"),
    ],
)
def test_a_wrong_type_is_named(call, name):
    with pytest.raises(TypeError) as caught:
        call()
    assert name in str(caught.value)
