"""Who may look at whom. A mask is boolean, and True means "may look".

`torch.nn.functional.scaled_dot_product_attention` reads boolean masks the same way;
`torch.nn.MultiheadAttention` means the opposite, so a mask for it is `~mask`.
"""

import functools
from collections.abc import Sequence

import torch
from torch import Tensor

from attnbook.checks import check_mask, check_size


def causal_mask(length: int) -> Tensor:
    """Let position i look at positions 0 … i, and at nothing that comes later.

    Returns: (length, length) boolean, True on and below the diagonal
    Raises:  TypeError, ValueError if length is no int of at least 0
    Source:  Vaswani et al. 2017, §3.2.3; S3 §3.2, S4 (whose columns are our rows)
    """
    check_size("length", length, at_least=0)
    return torch.ones(length, length, dtype=torch.bool).tril()


def padding_mask(lengths: Tensor | Sequence[int], max_length: int) -> Tensor:
    """Let every query of sequence b look at its first lengths[b] keys, and not at the padding.

    Shapes:  lengths (B,), whole numbers between 0 and max_length
    Returns: (B, 1, max_length) boolean; the 1 stands for "every query"
    Raises:  TypeError if max_length is no int; ValueError if lengths is not (B,), not whole
             numbers, or out of range
    """
    check_size("max_length", max_length, at_least=0)
    counts = torch.as_tensor(lengths)
    if counts.dim() != 1:
        raise ValueError(
            f"lengths has shape {tuple(counts.shape)}: it must be (B,), one a sequence"
        )
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
    """Allow a look only where every mask allows it; None allows everything.

    Shapes:  masks broadcastable to one another, boolean
    Returns: their logical and, or None if there is none
    Raises:  TypeError if one is no tensor; ValueError if one is not boolean, they do not broadcast
             or lie on different devices, or one is (B, Lq, Lk) and another (B, H, Lq, Lk):
             broadcasting would take the sentences of the first for the heads of the second
    """
    given = [mask for mask in masks if mask is not None]
    for mask in given:
        check_mask(mask)
    shapes = [tuple(mask.shape) for mask in given]
    listed = " and ".join(map(str, shapes))
    if {3, 4} <= {mask.dim() for mask in given}:
        raise ValueError(
            f"masks of shapes {listed}: one has no axis for the heads. "
            "Give it one with mask[:, None]"
        )
    if len({mask.device for mask in given}) > 1:
        devices = ", ".join(str(mask.device) for mask in given)
        raise ValueError(f"the masks must share one device, got {devices}")
    try:
        torch.broadcast_shapes(*shapes)
    except RuntimeError:
        raise ValueError(f"masks of shapes {listed} do not broadcast") from None
    return functools.reduce(torch.logical_and, given) if given else None
