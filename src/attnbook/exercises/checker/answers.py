"""Compare an answer with the right one in content, type and shape."""

import math
from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np
import torch
from torch import Tensor

from attnbook.language import _


def to_python(x: Any) -> Any:
    """Convert a tensor or a NumPy value to Python numbers; return anything else unchanged."""
    if isinstance(x, (Tensor, np.ndarray, np.generic)):
        try:
            return x.tolist()
        except (
            RuntimeError,
            TypeError,
            NotImplementedError,
        ):  # for example, a tensor without data
            return x
    return x


def matches(got: Any, wanted: Any) -> bool:
    """Return whether the content is right: equal words and counts, close numbers, equal shapes."""
    if isinstance(wanted, Tensor):
        return is_dense(got) and is_dense(wanted) and numbers_match(got, wanted)
    got = to_python(got)
    if isinstance(wanted, (tuple, list)):
        if not isinstance(got, (tuple, list)) or len(got) != len(wanted):
            return False
        return all(map(matches, got, wanted))
    if isinstance(wanted, dict):
        if not isinstance(got, dict) or got.keys() != wanted.keys():
            return False
        return all(matches(got[name], wanted[name]) for name in wanted)
    if isinstance(wanted, str):
        return normalize_word(got) == normalize_word(wanted)
    if is_number(wanted):
        if not is_number(got):
            return False
        both_nan = math.isnan(got) and math.isnan(wanted)
        return both_nan or got == wanted or math.isclose(got, wanted, rel_tol=1e-6)
    return type(got) is type(wanted) and bool(got == wanted)


def normalize_word(x: Any) -> str:
    """Normalize a word: lowercase, without spaces or punctuation at its ends; 1.0 becomes "1"."""
    if isinstance(x, float) and x.is_integer():
        x = int(x)
    if isinstance(x, bool) or not isinstance(x, (str, Integral)):
        return f"no word: {type(x)}"
    return str(x).strip().strip(".,;:!?\"'`").strip().casefold()


def is_dense(x: Any) -> bool:
    """Return whether x is a dense tensor, neither quantized nor nested."""
    return isinstance(x, Tensor) and not (
        x.is_nested or x.is_quantized or x.layout != torch.strided
    )


def numbers_match(got: Tensor, wanted: Tensor) -> bool:
    """Return whether two tensors match: equal bools or integers, or close real numbers."""
    if got.shape != wanted.shape or got.device != wanted.device:
        return False
    if content_kind(got) != content_kind(wanted):
        return False
    if content_kind(got) != "numbers":
        return torch.equal(got.to(wanted.dtype), wanted)
    got, wanted = got.detach().double(), wanted.detach().double()
    return torch.allclose(got, wanted, rtol=1e-5, atol=1e-7, equal_nan=True)


def content_kind(x: Tensor) -> str:
    """Return what a tensor contains: a key of `content_names`."""
    if x.is_complex():
        return "complex numbers"
    if x.is_floating_point():
        return "numbers"
    return "booleans" if x.dtype == torch.bool else "whole numbers"


def content_names() -> dict[str, str]:
    """Return the names, in the reader's language, of what tensors contain."""
    return {
        "complex numbers": _("complex numbers"),
        "numbers": _("numbers"),
        "booleans": _("True and False"),
        "whole numbers": _("whole numbers"),
    }


def type_error(got: Any, wanted: Any) -> str:
    """Return the message for a wrong type (None, NumPy, text, a list of lists), or ""."""
    if got is None and wanted is not None:
        return _("Your function returned None: is there a `return`?")
    if isinstance(wanted, Tensor):
        return tensor_error(got, wanted)
    if is_number(wanted) and (is_dense(got) or isinstance(got, np.ndarray)) and got.ndim:
        message = _("Your function returned {name} of shape {shape}. It should return one number.")
        return message.format(name=with_article(type(got).__name__), shape=tuple(got.shape))
    holds_tensors = isinstance(wanted, (tuple, list)) and any(isinstance(x, Tensor) for x in wanted)
    name, got = with_article(type(got).__name__), got if holds_tensors else to_python(got)
    if is_number(wanted) and not is_number(got):
        message = _("Your function returned {name}. It should return a number.")
        if isinstance(wanted, Integral):
            message = _("Your function returned {name}. It should return a whole number.")
        return message.format(name=name)
    if isinstance(wanted, (tuple, list)):
        if not isinstance(got, (tuple, list)):
            message = _("Your function returned {name}. It should return a {wanted}.")
            return message.format(name=name, wanted=type(wanted).__name__)
        for i, (item, right) in enumerate(zip(got, wanted, strict=False)):
            if (kind := item_kind(item)) != (wanted_kind := item_kind(right)):
                message = _("Item {i} of your answer is {kind}; it should be {wanted}.")
                return message.format(i=i, kind=kind, wanted=wanted_kind)
    return ""


def is_number(x: Any) -> bool:
    """Return whether x is a real number but not a bool."""
    return isinstance(x, Real) and not isinstance(x, bool)


def item_kind(x: Any) -> str:
    """Return what an item of a list is, in words for the reader."""
    if isinstance(x, Tensor) and x.dim():
        return _("a tensor")
    x = to_python(x)
    if is_number(x):
        return _("a number")
    if isinstance(x, (list, tuple)):
        return _("a list")
    return _("text") if isinstance(x, str) else with_article(type(x).__name__)


def with_article(name: str) -> str:
    """Return the name of a type with its English article, which a translation can leave out."""
    with_an = name[0] in "aeiouAEIOU"
    return (_("an {name}") if with_an else _("a {name}")).format(name=name)


def tensor_error(got: Any, wanted: Tensor) -> str:
    """Return the message if `got` is not a tensor of the right kind on the right device, or ""."""
    if isinstance(got, (np.ndarray, np.generic)):
        return _(
            "Your function returned a NumPy object. Return a torch.Tensor, because NumPy has no "
            "gradients."
        )
    if isinstance(got, tuple) and hasattr(got, "values") and hasattr(got, "indices"):
        return _(
            "Your function returned the pair (values, indices) of `{name}`: take `.values` or "
            "`.indices`."
        ).format(name=type(got).__name__)
    if not isinstance(got, Tensor):
        message = _("Your function returned {name}. It should return a torch.Tensor.")
        return message.format(name=with_article(type(got).__name__))
    if not is_dense(got):
        return _(
            "Your tensor is of an unusual kind (sparse, nested, quantized). Return a plain one."
        )
    if got.device != wanted.device:
        return _(
            "Your answer is on {device}, but the arguments are on {wanted}: a tensor made in your "
            "function needs the `device=` of an argument."
        ).format(device=got.device, wanted=wanted.device)
    kind, wanted_kind = content_kind(got), content_kind(wanted)
    if kind != wanted_kind:
        names = content_names()
        right = names[wanted_kind] if wanted_kind != "numbers" else _("floating-point numbers")
        message = _("Your answer holds {kind} ({dtype}); it should hold {wanted}.")
        return message.format(kind=names[kind], dtype=got.dtype, wanted=right)
    return ""


def dtype_error(got: Any, wanted: Any) -> str:
    """Return the message for right numbers with the wrong floating-point dtype, or ""."""
    if not isinstance(wanted, Tensor) or not matches(got, wanted) or got.dtype == wanted.dtype:
        return ""
    if content_kind(got) != "numbers":
        return ""
    message = _(
        "The numbers are right, but they are {dtype} where {wanted} is expected, so digits are "
        "lost. A tensor made in your function needs the `dtype=` of an argument."
    )
    if got.dtype.itemsize > wanted.dtype.itemsize:
        message = _("The numbers are right, but they are {dtype} where {wanted} is expected.")
    return message.format(dtype=got.dtype, wanted=wanted.dtype)


def shape_error(got: Any, wanted: Any, axes: str, sizes: Mapping[str, int]) -> str:
    """Return the message for a wrong shape, or "".

    The message names the first wrong axis and, if there is one, the named size that it equals.
    """
    if not isinstance(wanted, Tensor) or got.shape == wanted.shape:
        return ""
    got_shape, wanted_shape = tuple(got.shape), tuple(wanted.shape)
    named = list(zip(reversed(axes.split()), reversed(wanted.shape), strict=False))[::-1]
    if not named:
        message = _("Your answer has shape {shape}; it should have {wanted}.")
        return message.format(shape=got_shape, wanted=wanted_shape)
    text = _("Your answer has shape {shape}; it should have {wanted} ({sizes}).").format(
        shape=got_shape,
        wanted=wanted_shape,
        sizes=", ".join(f"{name}={size}" for name, size in named),
    )
    if got.dim() >= 2 and got.mT.shape == wanted.shape and numbers_match(got.mT, wanted):
        return _("{shape} Its numbers are right, but rows and columns are swapped.").format(
            shape=text
        )
    if got.dim() != wanted.dim():
        return text
    name, size = next((n, g) for (n, w), g in zip(named, got.shape, strict=True) if g != w)
    other = next((o for o, s in sizes.items() if s == size), "")
    message = _("{shape} Axis {name} is {size}.")
    if other:
        message = _("{shape} Axis {name} is {size}, the size of {other}.")
    return message.format(shape=text, name=name, size=size, other=other)
