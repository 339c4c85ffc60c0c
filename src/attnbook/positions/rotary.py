"""Rotary positions: queries and keys are rotated, so that scores depend only on the distance."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from attnbook.checks.sizes import check_even, check_size
from attnbook.checks.tensors import check_rows, check_tensor, fits
from attnbook.positions.absolute import frequencies


@dataclass(frozen=True)
class RotaryScaling:
    """Llama 3.1's rescaling of the frequencies, for texts longer than those in pre-training.

    A clock hand that turns at least `high_frequency_factor` times in `original_length` positions
    keeps its frequency. One that turns at most `low_frequency_factor` times is slowed by `factor`.
    In between, the frequency is interpolated. The defaults are those of Llama 3.1.

    Raises:  TypeError, ValueError if the factor or the length is below 1, or the low
             frequency factor is not below the high one
    Source:  `rope_scaling` in the configuration of Llama 3.1, and the code published with it
    """

    factor: float = 8.0
    low_frequency_factor: float = 1.0
    high_frequency_factor: float = 4.0
    original_length: int = 8192

    def __post_init__(self) -> None:
        low, high = self.low_frequency_factor, self.high_frequency_factor
        if not self.factor >= 1:
            raise ValueError(
                f"factor={self.factor}: it must be at least 1, or frequencies would rise"
            )
        if not low < high:
            raise ValueError(
                f"low_frequency_factor={low} is not below high_frequency_factor={high}"
            )
        check_size("original_length", self.original_length)

    def rescale(self, frequency: Tensor) -> Tensor:
        """Shapes: frequency (Dk / 2,), in radians per position -> the same."""
        turns = self.original_length * frequency / (2 * math.pi)
        low, high = self.low_frequency_factor, self.high_frequency_factor
        kept = ((turns - low) / (high - low)).clamp(0.0, 1.0)  # 1: unchanged, 0: slowed
        return frequency * (kept + (1.0 - kept) / self.factor)


@dataclass(frozen=True)
class Rotary:
    """The rotary settings of a layer: the base of the frequencies, and an optional rescaling.

    The base is 10,000 in Llama 1 and 2, and 500,000 in Llama 3. A larger base slows all hands
    but the first.
    """

    base: float = 10000.0
    scaling: RotaryScaling | None = None


def apply_rotary(
    x: Tensor, positions: Tensor, base: float = 10000.0, scaling: RotaryScaling | None = None
) -> Tensor:
    """Rotate each row of queries or keys by an angle that grows with its position.

    Columns 2k and 2k + 1 form one arrow that turns by position · ω_k, like hand k of the sinusoids:
    row t becomes x_t @ rotation_matrix(t, Dk), with two products per number instead of Dk. A
    rotation keeps every length, and the dot product of two rotated rows depends only on the
    difference of their positions. (Meta's Llama also pairs neighboring columns. Hugging Face's
    version pairs column k with column k + Dk / 2, which only changes the order of the columns.)

    Shapes:  x (..., L, Dk)   positions (L,), or broadcastable to (..., L); any real numbers
             base  of the frequencies ω_k = base^(−2k / Dk)   scaling  lowers some of them
    Returns: (..., L, Dk), in the dtype of x; the angles are computed in float64 on the device of
             positions, so keep positions on the CPU if x is on Apple's GPU, which has no float64
    Raises:  TypeError, ValueError if Dk is odd, positions do not fit or base is not above 1
    Source:  Su et al. 2021, eqs. 14-16 and 34
    """
    check_rows("x", x)
    check_even("the width of x", x.size(-1))
    check_tensor("positions", positions)
    rows = tuple(x.shape[:-1])
    if not fits(tuple(positions.shape), rows):
        raise ValueError(
            f"positions of shape {tuple(positions.shape)} do not broadcast to the rows of x, {rows}"
        )
    frequency = frequencies(x.size(-1), base)  # (Dk / 2,)
    if scaling is not None:
        frequency = scaling.rescale(frequency)
    angle = positions.double()[..., None] * frequency.to(positions.device)  # (..., L, Dk / 2)
    sin, cos = angle.sin().to(x), angle.cos().to(x)
    a, b = x.unflatten(-1, (-1, 2)).unbind(-1)
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)
