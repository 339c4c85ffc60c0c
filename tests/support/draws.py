"""Random numbers in float64 for tests of the library."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn


def drawn(*size: int, seed: int = 0) -> Tensor:
    return torch.randn(*size, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def query_key_value(
    *leading: int,
    lq: int = 13,
    lk: int = 17,
    dk: int = 4,
    dv: int = 6,
    seed: int = 0,
    dtype: torch.dtype = torch.float64,
) -> tuple[Tensor, Tensor, Tensor]:
    """Draw the arguments of attention: (..., lq, dk), (..., lk, dk) and (..., lk, dv)."""
    generator = torch.Generator().manual_seed(seed)
    sizes = (lq, dk), (lk, dk), (lk, dv)
    query, key, value = (
        torch.randn(*leading, *size, generator=generator, dtype=dtype) for size in sizes
    )
    return query, key, value


def redraw(module: nn.Module, seed: int = 0) -> nn.Module:
    """Fill all parameters with random numbers, including biases that are initialized to zero."""
    generator = torch.Generator().manual_seed(seed)
    module.double()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator) / 2)
    return module


@contextmanager
def float64() -> Iterator[None]:
    """Set the default dtype to float64 inside a `with` block."""
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(torch.float32)
