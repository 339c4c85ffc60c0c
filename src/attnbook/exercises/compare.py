"""Yours and wanted, side by side, with a mark where they differ."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

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
