"""Positional encodings, which are added to rows because attention ignores the rows' order."""

import math

import torch
from torch import Tensor, nn

from attnbook.checks.sizes import check_even, check_size
from attnbook.checks.tensors import check_width, rows


def frequencies(d_model: int, base: float = 10000.0) -> Tensor:
    """How far each of d_model / 2 clock hands turns per position: ω_k = base^(−2k / d_model).

    The first hand turns once in 2π positions, and the last in almost base · 2π for large d_model.

    Returns: (d_model / 2,) in float64, from fast to slow, in radians per position
    Raises:  ValueError if d_model is odd or base is not above 1
    """
    check_even("d_model", d_model)
    if not base > 1:
        raise ValueError(f"base={base}: it must be above 1, so that the frequencies decrease")
    return base ** (-torch.arange(0, d_model, 2).double() / d_model)


def sinusoids(positions: Tensor, d_model: int) -> Tensor:
    """Give each position d_model / 2 clock hands, from fast to slow: (sin, cos) of t · ω_k.

    The angles are in float64, because t · ω_k has more digits than float32 can represent.

    Shapes:  positions any shape, real numbers -> (..., d_model), sin and cos alternating
    Raises:  ValueError if d_model is odd
    Source:  Vaswani et al. 2017, §3.5; S4
    """
    angles = positions.double()[..., None] * frequencies(d_model).to(positions.device)
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2)  # (..., d_model)


def sinusoidal_encoding(length: int, d_model: int) -> Tensor:
    """The encodings p_0 … p_{length−1} of S4 and of the paper.

    Returns: (length, d_model), row t is p_t
    Raises:  TypeError, ValueError if a size does not fit
    """
    check_size("length", length, at_least=0)
    return sinusoids(torch.arange(length), d_model).to(torch.get_default_dtype())


def rotation_matrix(offset: float, d_model: int) -> Tensor:
    """The matrix M that moves every encoding by `offset`: M @ p_t = p_{t + offset} for every t.

    Returns: (d_model, d_model), 2 × 2 rotations on the diagonal; -offset gives its transpose
    Raises:  ValueError if d_model is odd or offset is not finite
    Source:  S4
    """
    if not math.isfinite(offset):
        raise ValueError(f"offset={offset}: it must be a finite number of positions")
    hands = sinusoids(torch.tensor(float(offset), dtype=torch.float64), d_model).view(-1, 2)
    turns = (torch.stack((cos, sin, -sin, cos)).view(2, 2) for sin, cos in hands)
    return torch.block_diag(*turns).to(torch.get_default_dtype())


class SinusoidalPositions(nn.Module):
    """Add p_t, or p_{start + t}, to row t. There is nothing to learn, and no maximum length.

    Shapes:  x (..., L, d_model) -> the same
    """

    def __init__(self, d_model: int) -> None:
        super().__init__()
        check_even("d_model", d_model)
        self.d_model = d_model

    def forward(self, x: Tensor, start: int = 0) -> Tensor:
        check_width("x", x, self.d_model, "d_model")
        return x + sinusoids(torch.arange(start, start + x.size(-2)), self.d_model).to(x)


class LearnedPositions(nn.Module):
    """Add the learned vector of position t, or start + t, to row t; there are max_length of them.

    Shapes:  x (..., L, d_model), start + L <= max_length -> the same
    Raises:  ValueError if x extends beyond max_length, or start is negative
    """

    def __init__(self, max_length: int, d_model: int) -> None:
        super().__init__()
        check_size("max_length", max_length)
        check_size("d_model", d_model)
        self.table = nn.Embedding(max_length, d_model)

    def forward(self, x: Tensor, start: int = 0) -> Tensor:
        check_width("x", x, self.table.embedding_dim, "d_model")
        check_size("start", start, at_least=0)
        if start + x.size(-2) > self.table.num_embeddings:
            after = f" after start={start}" if start else ""
            raise ValueError(
                f"x has {rows(x.size(-2))}{after} but max_length={self.table.num_embeddings}: "
                "no position was learned beyond it"
            )
        return x + self.table.weight[start : start + x.size(-2)]
