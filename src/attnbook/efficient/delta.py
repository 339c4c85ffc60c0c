"""The gated delta rule: a state that replaces what it holds for a key, and fades."""

import torch
from torch import Tensor

from attnbook.checks.attention import check_delta_rule
from attnbook.checks.tensors import leading

STEP = 64  # positions that are computed at once


def delta_rule(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    beta: Tensor,
    decay: Tensor | None = None,
    state: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Read from a state in which each key's new value replaces the old one.

    At each position, S = αS' + kᵀ β(v − k αS'), and the output is qS: the state first fades by the
    decay α, then moves by β toward holding v for the key k. With a key of norm 1 and β = 1 it holds
    exactly v. All positions of a step are computed at once, by a triangular system of equations for
    the differences that they write. To read one position at a time, hand the state on.

    Shapes:  query (..., L, Dk)   key (..., L, Dk)   value (..., L, Dv)
             beta (..., L), from 0 to 1
             decay (..., L), above 0, at most 1; without it, nothing fades
             state (..., Dk, Dv); without it, all zeros
    Returns: output (..., L, Dv), state (..., Dk, Dv) after the last position
    Raises:  TypeError, ValueError if the shapes, dtypes or devices do not fit
    Source:  Schlag et al. 2021; Yang et al. 2025, §3
    """
    check_delta_rule(query, key, value, beta, decay, state)
    dtype = query.dtype
    wide = torch.promote_types(dtype, torch.float32)
    decay = torch.ones_like(beta) if decay is None else decay
    query, key, value = query.to(wide), key.to(wide), value.to(wide)
    beta, level = beta.to(wide).unsqueeze(-1), decay.to(wide).log().unsqueeze(-1)  # (..., L, 1)
    lead = leading(query=query, key=key, value=value)
    if state is None:
        state = query.new_zeros(*lead, key.size(-1), value.size(-1))
    state = state.to(wide)
    outputs = []
    parts = (x.split(STEP, -2) for x in (query, key, value, beta, level))
    for q, k, v, b, fading in zip(*parts, strict=True):
        output, state = _at_once(q, k, v, b, fading, state)
        outputs.append(output)
    return torch.cat(outputs, -2).to(dtype), state.to(dtype)


def _at_once(
    query: Tensor, key: Tensor, value: Tensor, beta: Tensor, level: Tensor, state: Tensor
) -> tuple[Tensor, Tensor]:
    """Compute a few positions from the state before them; level is the logarithm of the decay."""
    later = torch.ones(*[key.size(-2)] * 2, dtype=torch.bool, device=key.device).triu(1)
    end = level.sum(-2, keepdim=True)
    # What is left of the old state at each position. On a GPU, `cumsum` has no fixed order.
    level = level.mT.masked_fill(later, 0).sum(-1, keepdim=True)  # (..., L, 1)
    left = (level - level.mT).masked_fill(later, -torch.inf).exp()  # (..., L, L)
    system = beta * left * (key @ key.mT)  # its diagonal is not used: it counts as 1
    wanted = beta * (value - level.exp() * (key @ state))  # (..., L, Dv)
    written = torch.linalg.solve_triangular(system, wanted, upper=False, unitriangular=True)
    output = level.exp() * (query @ state) + (left * (query @ key.mT)) @ written
    return output, end.exp() * state + ((end - level).exp() * key).mT @ written
