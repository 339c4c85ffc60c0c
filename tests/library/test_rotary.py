"""Rotary positions: rotation matrices, complex numbers, and Llama 3.1's rescaling."""

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close
from torch.utils._python_dispatch import TorchDispatchMode
from transformers import LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

from attnbook import (
    GroupedQueryAttention,
    KVCache,
    Rotary,
    RotaryScaling,
    apply_rotary,
    rotation_matrix,
)
from attnbook.positions.absolute import frequencies
from tests.support.draws import drawn, float64

B, H, L, DK = 2, 3, 5, 10


@pytest.mark.parametrize("leading", [(), (B,), (B, H)])
def test_each_row_is_turned_by_the_rotation_of_chapter_7(leading):
    x, positions = drawn(*leading, L, DK), torch.tensor([0, 1, 7, -3, 2])
    with float64():
        turns = torch.stack([rotation_matrix(int(t), DK) for t in positions])
    by_matrix = torch.einsum("...ld,lde->...le", x, turns)
    assert_close(apply_rotary(x, positions), by_matrix, rtol=0, atol=1e-12)


def as_complex_numbers(x: Tensor, positions: Tensor, frequency: Tensor) -> Tensor:
    """Meta's form: columns 2k and 2k + 1 form a complex number z, which becomes z · e^(i t ω)."""
    angle = positions.double()[:, None] * frequency
    z = torch.complex(x[..., 0::2], x[..., 1::2]) * torch.exp(1j * angle)
    return torch.stack((z.real, z.imag), dim=-1).flatten(-2)


@pytest.mark.parametrize("base", [10_000.0, 500_000.0])
@pytest.mark.parametrize("scaling", [None, RotaryScaling(6.0, 1.5, 3.5, 128)])
def test_neighboring_columns_are_rotated_as_one_complex_number(base, scaling):
    x, positions = drawn(B, H, L, DK), torch.tensor([0, 1, 40, 4_000, 130_000])
    frequency = torch.tensor([base ** (-2 * k / DK) for k in range(DK // 2)], dtype=torch.float64)
    if scaling is not None:
        frequency = scaling.rescale(frequency)
    expected = as_complex_numbers(x, positions, frequency)
    assert_close(apply_rotary(x, positions, base, scaling), expected, rtol=0, atol=1e-9)


def test_a_score_depends_only_on_the_distance():
    scaling = RotaryScaling(original_length=64)
    near, far = (
        apply_rotary(drawn(2, DK), torch.tensor([t, t + 3]), 500_000.0, scaling) for t in (0, 71)
    )
    assert_close(near[0] @ near[1], far[0] @ far[1], rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("d_k", "base", "scaling"),
    [
        (128, 500_000.0, RotaryScaling()),  # Llama 3.1 itself
        (64, 10_000.0, RotaryScaling(6.0, 1.5, 3.5, 512)),
    ],
)
def test_frequencies_are_rescaled_as_in_llama_3_1(d_k, base, scaling):
    config = LlamaConfig(
        head_dim=d_k,
        rope_parameters={
            "rope_type": "llama3",
            "rope_theta": base,
            "factor": scaling.factor,
            "low_freq_factor": scaling.low_frequency_factor,
            "high_freq_factor": scaling.high_frequency_factor,
            "original_max_position_embeddings": scaling.original_length,
        },
    )
    expected, _ = ROPE_INIT_FUNCTIONS["llama3"](config)
    before = frequencies(d_k, base)
    found = scaling.rescale(before)
    assert_close(found, expected.double(), rtol=2e-6, atol=0)
    slowed = before / found
    bands = (slowed == 1, (slowed > 1.01) & (slowed < scaling.factor - 0.01))
    assert all(band.any() for band in bands)
    assert slowed[-1].item() == pytest.approx(scaling.factor)


def test_each_sequence_may_have_positions_of_its_own():
    x, positions = drawn(B, H, L, 6), torch.stack((torch.arange(L), torch.arange(L) + 9))
    turned = apply_rotary(x, positions[:, None])
    for sequence, own, each in zip(x, positions, turned, strict=True):
        assert_close(apply_rotary(sequence, own), each, rtol=0, atol=0)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_rotated_rows_keep_their_dtype_and_their_digits_at_far_positions(dtype):
    t, x = 123_457_891, drawn(1, 8)
    turned = apply_rotary(x.to(dtype), torch.tensor([t]))
    assert turned.dtype == dtype
    exact = apply_rotary(x, torch.tensor([t], dtype=torch.float64))
    assert_close(turned.double(), exact, rtol=0, atol=4 * torch.finfo(dtype).eps)


class NoFloat64(TorchDispatchMode):
    """Forbid float64 on the meta device, which stands in for Apple's GPU."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        if isinstance(out, torch.Tensor) and out.is_meta:
            assert out.dtype != torch.float64, func
        return out


@pytest.mark.on_cpu
def test_a_layer_computes_its_angles_where_there_is_float64():
    layer, cache = GroupedQueryAttention(24, 6, 2, rotary=Rotary()).to("meta"), KVCache()
    x = torch.ones(B, L, 24, device="meta")
    with NoFloat64():
        assert layer(x, cache=cache)[0].is_meta
        assert layer(x[:, :1], cache=cache)[0].is_meta
        with pytest.raises(AssertionError):
            layer(x, positions=torch.arange(L, device="meta"))


def test_a_factor_of_one_leaves_the_frequencies_as_they_are():
    x, at = drawn(L, 6), torch.arange(L)
    scaled = apply_rotary(x, at, scaling=RotaryScaling(1.0, original_length=8))
    assert_close(scaled, apply_rotary(x, at), rtol=0, atol=1e-12)


ROWS, HERE = torch.ones(L, 6), torch.arange(L)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((torch.ones(L, 5), HERE), ValueError, "the width of x=5 is odd: its columns are taken in"),
        ((torch.ones(6), torch.arange(6)), ValueError, r"x has shape \(6,\): it needs at least"),
        ((ROWS, range(L)), TypeError, "positions must be a torch.Tensor, got range"),
        ((torch.ones(B, L, 6), HERE[:4]), ValueError, r"\(4,\) do not .* rows of x, \(2, 5\)"),
        ((ROWS, torch.ones(B, L)), ValueError, r"\(2, 5\) do not broadcast to the rows"),
        (
            (ROWS, HERE, 1.0),
            ValueError,
            "base=1.0: it must be above 1, so that the frequencies decrease",
        ),
    ],
)
def test_rows_that_cannot_be_rotated_are_named(arguments, error, message):
    with pytest.raises(error, match=message):
        apply_rotary(*arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0.5,), "factor=0.5: it must be at least 1"),
        ((8.0, 4.0, 4.0), "low_frequency_factor=4.0 is not below high_frequency_factor=4.0"),
        ((8.0, 1.0, 4.0, 0), "original_length=0: it must be at least 1"),
    ],
)
def test_an_invalid_rescaling_is_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        RotaryScaling(*arguments)
