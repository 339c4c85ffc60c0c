"""Positions added to the rows: formulas computed by hand, rotation, and the learned table."""

import math
import re
from functools import partial

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from attnbook import (
    LearnedPositions,
    SinusoidalPositions,
    rotation_matrix,
    sinusoidal_encoding,
)
from attnbook.positions.absolute import frequencies, sinusoids
from tests.support.draws import drawn, float64

B, H, L, D = 2, 3, 7, 18


# --- sinusoids -------------------------------------------------------------------------------


def clock_hands(t: float, d_model: int) -> list[float]:
    """One encoding as S4 defines it, column by column, in plain Python floats."""
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


@pytest.mark.parametrize("base", [10_000.0, 500_000.0])
def test_a_larger_base_makes_slower_hands(base):
    expected = torch.tensor([base ** (-2 * k / 10) for k in range(5)], dtype=torch.float64)
    assert_close(frequencies(10, base), expected, rtol=1e-14, atol=0)


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


# --- rotation --------------------------------------------------------------------------------

finite = st.floats(-300, 300)
widths = st.integers(1, 12).map(lambda pairs: 2 * pairs)


@given(finite, finite, widths)
def test_one_matrix_moves_every_encoding(t, offset, d_model):
    with float64():
        moved = rotation_matrix(offset, d_model) @ sinusoids(torch.tensor(t), d_model)
        assert_close(moved, sinusoids(torch.tensor(t + offset), d_model), rtol=0, atol=1e-11)


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


@pytest.mark.parametrize("make", [SinusoidalPositions, partial(LearnedPositions, L)])
def test_positions_continue_from_a_given_start(make):
    positions, x = make(D).double(), drawn(B, L, D)
    assert_close(positions(x[:, 4:], start=4), positions(x)[:, 4:], rtol=0, atol=0)


def test_sinusoidal_positions_learn_nothing_and_keep_the_dtype():
    positions = SinusoidalPositions(D)
    assert not list(positions.parameters())
    assert not positions.state_dict()
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        assert positions(torch.zeros(L, D, dtype=dtype)).dtype == dtype


@pytest.mark.parametrize("leading", [(), (B,), (B, H)])
@pytest.mark.parametrize("length", [1, 5, 9])
def test_learned_positions_add_a_row_of_the_table_to_each_row(leading, length):
    positions = LearnedPositions(9, D).double()
    x = drawn(*leading, length, D)
    assert_close(positions(x), x + positions.table.weight[:length], rtol=0, atol=0)


@pytest.mark.parametrize("make", [SinusoidalPositions, partial(LearnedPositions, 9)])
@pytest.mark.parametrize("size", [(0, L, D), (B, 0, D), (B, 1, D), (1, D), (0, D)])
def test_empty_inputs_and_single_rows_pass(make, size):
    assert make(D)(torch.zeros(*size)).shape == size


# --- bad input -------------------------------------------------------------------------------

X = torch.zeros(B, L, D)
BAD = [
    (lambda: sinusoidal_encoding(4, 5), "d_model=5 is odd"),
    (lambda: sinusoidal_encoding(4, 0), "d_model=0: it must be at least 1"),
    (lambda: sinusoidal_encoding(-1, 4), "length=-1: it must be at least 0"),
    (lambda: frequencies(5), "d_model=5 is odd"),
    (lambda: frequencies(6, 0.5), "base=0.5: it must be above 1, so that the frequencies decrease"),
    (lambda: rotation_matrix(1, 3), "d_model=3 is odd"),
    (lambda: rotation_matrix(math.inf, 4), "offset=inf: it must be a finite"),
    (lambda: rotation_matrix(math.nan, 4), "offset=nan: it must be a finite"),
    (lambda: SinusoidalPositions(7), "d_model=7 is odd"),
    (lambda: SinusoidalPositions(8)(X), "width 18: d_model=8 is expected"),
    (lambda: LearnedPositions(0, D), "max_length=0: it must be at least 1"),
    (lambda: LearnedPositions(9, 0), "d_model=0: it must be at least 1"),
    (lambda: LearnedPositions(6, D)(X), "x has 7 rows but max_length=6: no position was learned"),
    (lambda: LearnedPositions(9, D)(X, 3), "x has 7 rows after start=3 but max_length=9: no "),
    (lambda: LearnedPositions(9, D)(X, -1), "start=-1: it must be at least 0"),
    (lambda: LearnedPositions(9, 8)(X), "width 18: d_model=8 is expected"),
]


@pytest.mark.parametrize(("call", "message"), BAD, ids=range(len(BAD)))
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        call()
