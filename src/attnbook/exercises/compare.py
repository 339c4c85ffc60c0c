"""Yours and wanted, side by side: where they differ, and what relation there is between them."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from attnbook.exercises.answers import matches

ROWS, COLUMNS, LONGEST = 4, 6, 300


def brief(x: Any) -> str:
    """Any value in little space."""
    try:
        text = repr(x)
    except Exception:  # a class of the reader's own
        text = f"a {type(x).__name__}"
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} …"


def differing(got: Tensor, wanted: Tensor) -> Tensor:
    """Where two tensors of one shape differ."""
    here, there = got.detach(), wanted.detach()
    if here.is_floating_point() and there.is_floating_point():
        close = torch.isclose(here.double(), there.double(), 1e-5, 1e-7, equal_nan=True)
        return ~close if not close.all() else here.double() != there.double()
    return here != there


def beside(got: Any, wanted: Any, both: bool = True) -> str:
    """Both as text; of tensors a part of the first matrix that differs, with a * where it does."""
    if not isinstance(got, Tensor) or not isinstance(wanted, Tensor) or got.shape != wanted.shape:
        return f"yours    {brief(got)}" + (f"\nwanted   {brief(wanted)}" if both else "")
    different = differing(got, wanted).cpu()
    tensors = [t.detach().cpu().reshape(1, *([1] * (2 - t.dim())), *t.shape) for t in (got, wanted)]
    tensors = [t.flatten(0, -3) for t in (*tensors, different.reshape(tensors[0].shape))]
    batch, n_rows, n_columns = tensors[0].shape
    if not tensors[0].numel():
        return f"yours    empty, of shape {tuple(got.shape)}"
    place, row, column = (tensors[2].nonzero().tolist() or [[0, 0, 0]])[0]
    top, left = start(row, ROWS, n_rows), start(column, COLUMNS, n_columns)
    parts = [t[place, top : top + ROWS, left : left + COLUMNS].tolist() for t in tensors]
    text = written(*parts)
    where = f"shape {tuple(got.shape)}, its matrix {place}" if batch > 1 else ""
    if n_rows > ROWS or n_columns > COLUMNS:
        shown = f"rows {top} to {min(top + ROWS, n_rows) - 1}, columns {left} to "
        where += f"{', ' if where else ''}{shown}{min(left + COLUMNS, n_columns) - 1}"
    lines = [f"         {where}"] if where else []
    for name, block in zip(("yours", "wanted"), text, strict=True):
        lines += [f"{name if not i else '':9}{line}".rstrip() for i, line in enumerate(block)]
    return "\n".join(lines)


def start(first: int, shown: int, n: int) -> int:
    """Where a window on n places begins that shows this one, and the beginning if it can."""
    return 0 if first < shown else min(first, n - shown)


Grid = Sequence[Sequence[Any]]


def written(got: Grid, wanted: Grid, different: Grid) -> tuple[list[str], list[str]]:
    """Two grids of numbers in columns of one width, with as many digits as tell them apart."""
    marks = [["*" if mark else " " for mark in row] for row in different]
    if all(mark == "*" for row in marks for mark in row):
        marks = [[" " for _ in row] for row in marks]  # where everything differs no mark helps
    for form in ("{:.4f}", "{:.6f}", "{:.9f}", "{:.3e}", "{:.15g}"):
        texts = [[[number(x, form) for x in row] for row in grid] for grid in (got, wanted)]
        told = all(
            a != b
            for one, other, differ in zip(*texts, different, strict=True)
            for a, b, d in zip(one, other, differ, strict=True)
            if d
        )
        longest = max(len(x) for grid in texts for row in grid for x in row)
        if told and longest < 16:
            break
    here, there = (
        [
            " ".join(f"{x:>{longest}}{m}" for x, m in zip(row, mark, strict=True))
            for row, mark in zip(grid, marks, strict=True)
        ]
        for grid in texts
    )
    return here, there


def number(x: Any, form: str) -> str:
    return form.format(x).replace("-", "−") if isinstance(x, float) else str(x)


# --- what relation the numbers have ----------------------------------------------------------


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
    if added and matches(here, there + added):
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
