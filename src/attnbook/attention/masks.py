"""Masks: which query may look at which key. A mask is boolean, and True means "may look".

`torch.nn.functional.scaled_dot_product_attention` reads boolean masks the same way;
in `torch.nn.MultiheadAttention`, True means the opposite, so pass `~mask` to it.
"""

import functools
from collections.abc import Sequence

import torch
from torch import Tensor

from attnbook.checks.masks import check_mask
from attnbook.checks.sizes import check_size


def causal_mask(length: int) -> Tensor:
    """Let position i look at positions 0 … i, but not at later ones.

    Returns: (length, length) boolean, True on and below the diagonal
    Raises:  TypeError, ValueError if length is not an int or is negative
    Source:  Vaswani et al. 2017, §3.2.3; S3 §3.2, S4 (whose columns are our rows)
    """
    check_size("length", length, at_least=0)
    return torch.ones(length, length, dtype=torch.bool).tril()


def padding_mask(lengths: Tensor | Sequence[int], max_length: int) -> Tensor:
    """Let every query of sequence b look at its first lengths[b] keys, but not at the padding.

    Shapes:  lengths (B,), whole numbers between 0 and max_length
    Returns: (B, 1, max_length) boolean; the 1 stands for "every query"
    Raises:  TypeError if max_length is not an int; ValueError if lengths is not (B,), not whole
             numbers, or out of range
    """
    check_size("max_length", max_length, at_least=0)
    counts = torch.as_tensor(lengths)
    if counts.dim() != 1:
        raise ValueError(f"lengths has shape {tuple(counts.shape)}: it must be (B,)")
    floating = counts.is_floating_point() or counts.is_complex()
    if counts.numel() and (floating or counts.dtype == torch.bool):
        raise ValueError(f"lengths has dtype {counts.dtype}: it must hold whole numbers")
    if counts.numel() and not 0 <= counts.min() <= counts.max() <= max_length:
        raise ValueError(
            f"lengths run from {counts.min()} to {counts.max()}: "
            f"each must lie between 0 and max_length={max_length}"
        )
    return (torch.arange(max_length, device=counts.device) < counts[:, None])[:, None, :]


def combine_masks(*masks: Tensor | None) -> Tensor | None:
    """Let a query look only where every mask allows it; None allows everything.

    Shapes:  masks broadcastable to one another, boolean
    Returns: the logical AND of the masks, or None if no mask is given
    Raises:  TypeError if one is not a tensor; ValueError if one is not boolean, they do not
             broadcast or are on different devices, or one is (B, Lq, Lk) and one (B, H, Lq, Lk):
             broadcasting would confuse the sentences of the first with the heads of the second
    """
    given = [mask for mask in masks if mask is not None]
    for mask in given:
        check_mask(mask)
    shapes = [tuple(mask.shape) for mask in given]
    listed = " and ".join(map(str, shapes))
    if {3, 4} <= {mask.dim() for mask in given}:
        raise ValueError(f"masks of shapes {listed}: one has no head axis. Add it: mask[:, None]")
    if len({mask.device for mask in given}) > 1:
        devices = ", ".join(str(mask.device) for mask in given)
        raise ValueError(f"the masks must share one device, got {devices}")
    try:
        torch.broadcast_shapes(*shapes)
    except RuntimeError:
        raise ValueError(f"masks of shapes {listed} do not broadcast") from None
    return functools.reduce(torch.logical_and, given) if given else None
