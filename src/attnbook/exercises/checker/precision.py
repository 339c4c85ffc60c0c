"""Tell an answer that was computed with too few digits from one that is wrong."""

from typing import Any

import torch
from torch import Tensor

MORE = 30  # how many times the reference's own rounding errors an answer may be off


def tensors_in(x: Any) -> list[Tensor]:
    """Return the tensors in an answer, which is a tensor or a list."""
    items = x if isinstance(x, (tuple, list)) else [x]
    return [item for item in items if isinstance(item, Tensor)]


def with_dtype(x: Any, dtype: torch.dtype) -> Any:
    """Return arguments whose floating-point tensors have this dtype, also those in lists."""
    if isinstance(x, (tuple, list)):
        return type(x)(with_dtype(item, dtype) for item in x)
    return x.to(dtype) if isinstance(x, Tensor) and x.is_floating_point() else x


def has_lower_precision(got: Any, wanted: Any) -> bool:
    """Return whether all tensors of an answer have one dtype, with fewer digits than wanted."""
    mine, right = tensors_in(got), tensors_in(wanted)
    if not mine or [x.shape for x in mine] != [x.shape for x in right]:
        return False
    if len({x.dtype for x in mine}) > 1 or len({x.device for x in (*mine, *right)}) > 1:
        return False
    if not all(x.is_floating_point() for x in (*mine, *right)):
        return False
    return torch.finfo(mine[0].dtype).eps > max(torch.finfo(x.dtype).eps for x in right)


def loses_only_digits(got: Any, wanted: Any, rounded: Any) -> bool:
    """Return whether an answer is hardly farther off than the right one with as few digits.

    `rounded` is the reference's answer to arguments of the answer's dtype.
    """
    answers = [tensors_in(x) for x in (got, wanted, rounded)]
    if [x.shape for x in answers[2]] != [x.shape for x in answers[1]]:
        return False
    for mine, right, other in zip(*answers, strict=True):
        if not right.numel():
            continue
        least = torch.finfo(mine.dtype).eps * right.nan_to_num(0, 0, 0).abs().max().item()
        if not largest_error(mine, right) <= MORE * max(largest_error(other, right), least):
            return False
    return True


def largest_error(x: Tensor, right: Tensor) -> float:
    x, right = x.detach().double(), right.detach().double()
    same = (x == right) | (x.isnan() & right.isnan())
    return (x - right).abs().masked_fill(same, 0).max().item()
