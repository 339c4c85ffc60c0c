"""An answer beside the right one: whether it matches, and what is said of its kind and shape."""

import math
from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np
import torch
from torch import Tensor


def plain(x: Any) -> Any:
    """Numbers that came as a tensor or as NumPy, as Python's own; all else as it is."""
    if isinstance(x, (Tensor, np.ndarray, np.generic)):
        try:
            return x.tolist()
        except (RuntimeError, TypeError, NotImplementedError):  # a tensor of an odd kind
            return x
    return x


def matches(got: Any, wanted: Any) -> bool:
    """Whether the content is right: equal words and counts, close numbers, the same shapes."""
    if isinstance(wanted, Tensor):
        return is_ordinary(got) and is_ordinary(wanted) and same_numbers(got, wanted)
    got = plain(got)
    if isinstance(wanted, (tuple, list)):
        if not isinstance(got, (tuple, list)) or len(got) != len(wanted):
            return False
        return all(map(matches, got, wanted))
    if isinstance(wanted, dict):
        if not isinstance(got, dict) or got.keys() != wanted.keys():
            return False
        return all(matches(got[name], wanted[name]) for name in wanted)
    if isinstance(wanted, str):
        return as_word(got) == as_word(wanted)
    if isinstance(wanted, Real) and not isinstance(wanted, bool):
        if isinstance(got, bool) or not isinstance(got, Real):
            return False
        both_nan = math.isnan(got) and math.isnan(wanted)
        return both_nan or got == wanted or math.isclose(got, wanted, rel_tol=1e-6)
    return type(got) is type(wanted) and bool(got == wanted)


def as_word(x: Any) -> str:
    """A word as it is compared: 1 counts for "1", and capitals, blanks and full stops do not."""
    if isinstance(x, bool) or not isinstance(x, (str, Integral)):
        return f"no word: {type(x)}"
    return str(x).strip().strip(".,;:!?\"'`").strip().casefold()


def is_ordinary(x: Any) -> bool:
    """Whether it is a tensor that one can compute with: dense, not quantized, not nested."""
    return isinstance(x, Tensor) and not (
        x.is_nested or x.is_quantized or x.layout != torch.strided
    )


def same_numbers(got: Tensor, wanted: Tensor) -> bool:
    """Whether two tensors hold the same truths, whole numbers, or nearly the same real ones."""
    if got.shape != wanted.shape or got.device != wanted.device or sort(got) != sort(wanted):
        return False
    if sort(got) != "numbers":
        return torch.equal(got.to(wanted.dtype), wanted)
    here, there = got.detach().double(), wanted.detach().double()
    return torch.allclose(here, there, rtol=1e-5, atol=1e-7, equal_nan=True)


def sort(x: Tensor) -> str:
    if x.is_complex():
        return "complex numbers"
    if x.is_floating_point():
        return "numbers"
    return "True and False" if x.dtype == torch.bool else "whole numbers"


def kind_error(got: Any, wanted: Any) -> str:
    """What is said of the wrong kind of thing: None, NumPy, text, a float for a count; else ""."""
    if got is None and wanted is not None:
        return "Your function returned None: is there a `return`?"
    if isinstance(wanted, Tensor):
        return tensor_error(got, wanted)
    name = type(got).__name__
    if isinstance(wanted, Integral) and not isinstance(wanted, bool):
        got = plain(got)
        if isinstance(got, float) and got == wanted:
            return f"{got} is right, but it is a float. What is counted is a whole number: `//`."
        if not isinstance(got, Real) or isinstance(got, bool):
            return f"Your function returned a {name}. A whole number is asked for."
    if isinstance(wanted, (tuple, list)) and not isinstance(got, (tuple, list)):
        return f"Your function returned a {name}. A {type(wanted).__name__} is asked for."
    return ""


def tensor_error(got: Any, wanted: Tensor) -> str:
    """What is said of what is no tensor of the kind that is asked for; of its numbers nothing."""
    if isinstance(got, (np.ndarray, np.generic)):
        return "Your function returned NumPy. A torch.Tensor is asked for: NumPy has no gradients."
    if not isinstance(got, Tensor):
        return f"Your function returned a {type(got).__name__}. A torch.Tensor is asked for."
    if not is_ordinary(got):
        return "Your tensor is of an unusual kind (sparse, nested, quantized). Return a plain one."
    if got.device != wanted.device:
        return (
            f"Your answer is on {got.device}, the arguments are on {wanted.device}: a tensor made "
            "inside needs `device=` of an argument."
        )
    if sort(got) != sort(wanted):
        return f"Your answer holds {sort(got)} ({got.dtype}); {sort(wanted)} are asked for."
    if got.dtype == wanted.dtype or sort(got) == "whole numbers" or not same_numbers(got, wanted):
        return ""  # the numbers come first
    return (
        f"The numbers are right, but they are {got.dtype} where {wanted.dtype} is asked for: a "
        "tensor made inside takes the default type. Give it `dtype=` of an argument."
    )


def shape_error(got: Any, wanted: Any, axes: str, sizes: Mapping[str, int]) -> str:
    """What is said of a wrong shape: which axis, and whose length it has; else ""."""
    if not isinstance(wanted, Tensor) or got.shape == wanted.shape:
        return ""
    text = f"Your answer has shape {tuple(got.shape)}; {tuple(wanted.shape)} is asked for"
    named = list(zip(reversed(axes.split()), reversed(wanted.shape), strict=False))[::-1]
    if not named:
        return f"{text}."
    text += f" ({', '.join(f'{name}={size}' for name, size in named)})."
    if got.dim() >= 2 and got.mT.shape == wanted.shape and same_numbers(got.mT, wanted):
        return f"{text} Its numbers are right, but rows and columns are exchanged."
    if got.dim() != wanted.dim():
        return text
    name, size = next((n, g) for (n, w), g in zip(named, got.shape, strict=True) if g != w)
    owner = next((f", the size of {o}" for o, s in sizes.items() if s == size), "")
    return f"{text} Axis {name} is {size}{owner}."
