"""What relation an answer has to the wanted one: a factor, a turn, some rows that are right."""

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from attnbook.exercises.answers import matches
from attnbook.exercises.compare import differing


def relation(got: Any, wanted: Any, sizes: Mapping[str, int]) -> str:
    """What one could do to the answer to make it right, or which part of it is; else ""."""
    if not isinstance(got, Tensor) or not isinstance(wanted, Tensor) or got.shape != wanted.shape:
        return ""
    if not got.numel():
        return ""
    if got.dtype == torch.bool:
        if matches(~got, wanted):
            return "Yours is the exact opposite: True where False is wanted."
    elif got.is_floating_point() and wanted.is_floating_point():
        here, there = got.detach().double(), wanted.detach().double()
        says = in_numbers(here, there, sizes)
        if says:
            return says
    return in_places(got, wanted)


def in_numbers(here: Tensor, there: Tensor, sizes: Mapping[str, int]) -> str:
    """A relation that holds for all numbers: a factor, something added, a function forgotten."""
    nan = here.isnan() & ~there.isnan()
    if nan.any():
        if nan.all():
            return "All your numbers are nan."
        rest = "The rest is right." if matches(here[~nan], there[~nan]) else ""
        return f"{int(nan.sum())} of your {nan.numel()} numbers are nan. {rest}".strip()
    usable = (there.abs() > 1e-6) & here.isfinite() & there.isfinite()
    if there.numel() < 2 or not usable.any():
        return ""
    factor = (here[usable] / there[usable]).median().item()
    if factor and factor != 1 and matches(here, factor * there):
        if math.isclose(factor, -1, rel_tol=1e-6):
            return "Every number has the opposite sign."
        return f"Every number is {factor:.4g} times the wanted one{named(factor, sizes)}."
    added = (here - there)[here.isfinite()].median().item()
    if abs(added) > 1e-6 and matches(here, there + added):
        return f"Every number is the wanted one plus {added:.4g}."
    for name, function in (
        ("a softmax over the last axis", lambda x: x.softmax(-1)),
        ("`exp`", torch.exp),
        ("a square root", torch.sqrt),
    ):
        if matches(function(here), there):
            return f"What is missing is {name}: of your numbers it gives the wanted ones."
    if torch.allclose(here, there, rtol=1e-2, atol=1e-3):
        return (
            f"Nearly: no number is off by more than {(here - there).abs().max():.1g}. Is something "
            "rounded, or a small number added?"
        )
    return ""


def named(factor: float, sizes: Mapping[str, int]) -> str:
    """A factor in the letters of the sizes, if it is one."""
    for name, size in sizes.items():
        for text, value in (
            (f"√{name}", size**0.5),
            (f"1/√{name}", size**-0.5),
            (name, size),
            (f"1/{name}", 1 / size),
        ):
            if size > 1 and math.isclose(factor, value, rel_tol=1e-6):
                return f" ({text} in this case)"
        for n in range(2, 65):  # a number that was typed where the width belongs
            if size > 1 and math.isclose(factor * n, size**0.5, rel_tol=1e-9):
                return f" (√{name} / {n} in this case)"
    return ""


def in_places(got: Tensor, wanted: Tensor) -> str:
    """A relation between places: turned, flipped, some rows or columns right, or moved about."""
    if got.dim() < 1 or wanted.numel() < 2:
        return ""
    if got.dim() >= 2 and matches(got.mT, wanted):
        return "Rows and columns are exchanged: transposed it would be right."
    for axis, name in ((-1, "columns"), (-2, "rows")):
        if got.dim() >= -axis and matches(got.flip(axis), wanted):
            return f"The {name} stand in the opposite order."
    if got.dim() > 2 and is_reordered(got.flatten(0, -3), wanted.flatten(0, -3)):
        return "Each matrix is right, and they stand in another order."
    wrong = differing(got, wanted)
    if got.dim() >= 2:
        for axis, name in ((-1, "row"), (-2, "column")):
            parts = wrong.any(axis).flatten(0, -2).any(0) if got.dim() > 2 else wrong.any(axis)
            right = (~parts).nonzero().flatten().tolist()
            if right and len(parts) > 1:
                which = ", ".join(map(str, right))
                s = "s" if len(right) > 1 else ""
                return f"Of {len(parts)} {name}s, {name}{s} {which} {'are' if s else 'is'} right."
    if torch.equal(got.flatten().sort().values, wanted.flatten().sort().values):
        return "The numbers are the wanted ones, in other places."
    n = int(wrong.sum())
    return f"{n} of {wrong.numel()} numbers differ." if n < wrong.numel() else ""


def is_reordered(got: Tensor, wanted: Tensor) -> bool:
    """Whether the matrices of one are those of the other, in another order."""
    left = list(wanted)
    for matrix in got:
        place = next((i for i, other in enumerate(left) if matches(matrix, other)), None)
        if place is None:
            return False
        del left[place]
    return True
