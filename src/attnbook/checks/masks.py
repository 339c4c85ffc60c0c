"""Errors about a mask or a bias: its dtype and the scores to which it has to broadcast."""

import torch
from torch import Tensor

from attnbook.checks.tensors import check_float_tensor, check_tensor, fits, leading, shape


def check_mask(mask: Tensor, name: str = "mask") -> None:
    """Require a boolean tensor."""
    check_tensor(name, mask)
    if mask.dtype != torch.bool:
        raise ValueError(
            f"{name} has dtype {mask.dtype}: it must be boolean, True where a query may look. "
            "For numbers to be added to the scores use bias="
        )


def check_bias(
    bias: Tensor | None, query: Tensor, key: Tensor, n_heads: int, n_cached: int
) -> None:
    """Require a bias that broadcasts to (..., H, Lq, Lk), where Lk counts cached keys too."""
    if bias is not None:
        check_float_tensor("bias", bias)
        batch, n_keys = leading(query=query, key=key), n_cached + key.size(-2)
        check_fits("bias", bias, (*batch, n_heads, query.size(-2), n_keys), query)


def check_fits(name: str, x: Tensor, scores: tuple[int, ...], query: Tensor) -> None:
    """Require x to broadcast to the scores without enlarging them, on the same device."""
    if x.device != query.device:
        raise ValueError(f"{name} is on {x.device} but query is on {query.device}")
    if not fits(shape(x), scores):
        raise ValueError(
            f"{name} of shape {shape(x)} does not broadcast to the scores (..., Lq, Lk) = {scores}"
        )
