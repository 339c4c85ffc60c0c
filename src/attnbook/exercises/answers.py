"""An answer beside the right one: whether it matches, what is wrong with its form, both as text."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor


def matches(got: Any, wanted: Any) -> bool:
    """Whether an answer is right: equal words and whole numbers, close real ones, same shapes."""
    if isinstance(wanted, Tensor):
        if not isinstance(got, Tensor) or got.shape != wanted.shape or got.device != wanted.device:
            return False
        if not got.is_floating_point() or not wanted.is_floating_point():
            return got.dtype == wanted.dtype and torch.equal(got, wanted)
        here, there = got.detach().double(), wanted.detach().double()
        return torch.allclose(here, there, rtol=1e-5, atol=1e-7, equal_nan=True)
    if isinstance(wanted, (tuple, list)):
        if not isinstance(got, (tuple, list)) or len(got) != len(wanted):
            return False
        return all(map(matches, got, wanted))
    if isinstance(wanted, (bool, int, float)):
        number = got.item() if isinstance(got, Tensor) and got.numel() == 1 else got
        if isinstance(number, bool) or isinstance(wanted, bool):
            return number is wanted
        return isinstance(number, (int, float)) and math.isclose(
            number, wanted, rel_tol=1e-6, abs_tol=1e-9
        )
    if isinstance(wanted, str):
        return isinstance(got, str) and got.strip().lower() == wanted.strip().lower()
    return type(got) is type(wanted) and bool(np.all(got == wanted))


def kind_error(got: Any, wanted: Any) -> str:
    """What is said of the wrong kind of thing: None, NumPy, dtype, device; else ""."""
    if got is None and wanted is not None:
        return "Your function returned None: is there a `return`?"
    if not isinstance(wanted, Tensor):
        return ""
    if isinstance(got, (np.ndarray, np.generic)):
        return "Your function returned NumPy. A torch.Tensor is asked for: NumPy has no gradients."
    if not isinstance(got, Tensor):
        return f"Your function returned a {type(got).__name__}. A torch.Tensor is asked for."
    if got.device != wanted.device:
        return (
            f"Your answer is on {got.device}, the arguments are on {wanted.device}: a tensor made "
            "inside needs `device=` of an argument."
        )
    if got.dtype != wanted.dtype and got.shape == wanted.shape:
        return f"Your answer is {got.dtype}, and {wanted.dtype} is asked for."
    return ""


def shape_error(got: Any, wanted: Any, axes: str, sizes: Mapping[str, int]) -> str:
    """What is said of a wrong shape: which axis, and whose length it has; else ""."""
    if not isinstance(wanted, Tensor) or got.shape == wanted.shape:
        return ""
    text = f"Your answer has shape {tuple(got.shape)}; {tuple(wanted.shape)} is asked for"
    named = list(zip(reversed(axes.split()), reversed(wanted.shape), strict=False))[::-1]
    if not named:
        return f"{text}."
    text += f" ({', '.join(f'{name}={size}' for name, size in named)})."
    if got.dim() != wanted.dim():
        return text
    name, size = next((n, g) for (n, w), g in zip(named, got.shape, strict=True) if g != w)
    owner = next((f", the size of {o}" for o, s in sizes.items() if s == size), "")
    return f"{text} Axis {name} is {size}{owner}."


def first_difference(got: Any, wanted: Any) -> int:
    """Which matrix of a batch is the first that differs, counting all leading axes as one."""
    if not isinstance(wanted, Tensor) or wanted.dim() < 3:
        return 0
    pairs = zip(got.flatten(0, -3), wanted.flatten(0, -3), strict=True)
    return next((i for i, pair in enumerate(pairs) if not matches(*pair)), 0)


def as_text(x: Any, matrix: int = 0) -> str:
    """A value in little space: of a tensor at most four rows and six columns of one matrix."""
    if not isinstance(x, Tensor):
        return repr(x)
    shown = x.detach().cpu()
    if shown.dim() > 2:
        shown = shown.flatten(0, -3)[matrix] if shown.numel() else shown.flatten(0, -2)
    rows = shown.reshape(-1, shown.size(-1) if shown.dim() else 1)[:4, :6].tolist()
    form = "{:.4f}" if x.is_floating_point() else "{}"
    text = "\n         ".join(" ".join(map(form.format, row)) for row in rows)
    return text if x.dim() <= 2 else f"shape {tuple(x.shape)}, its matrix {matrix}\n         {text}"
