"""The reader's answer and the right one side by side, with a mark where they differ."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from attnbook.exercises.cards.feedback import labeled
from attnbook.exercises.checker.answers import matches, to_python
from attnbook.exercises.checker.excerpts import short_repr
from attnbook.language import _

MAX_ROWS, MAX_COLUMNS = 4, 6


def difference_mask(got: Tensor, wanted: Tensor) -> Tensor:
    """Return a mask that is True where two tensors of the same shape differ.

    Nearly equal numbers count as equal, unless all numbers are nearly equal.
    """
    got, wanted = got.detach(), wanted.detach()
    if got.is_floating_point() and wanted.is_floating_point():
        close = torch.isclose(got.double(), wanted.double(), 1e-5, 1e-7, equal_nan=True)
        return ~close if not close.all() else got.double() != wanted.double()
    return got != wanted


def side_by_side(got: Any, wanted: Any, show_wanted: bool = True) -> str:
    """Format an answer and the right one.

    For two tensors of the same shape, only a window of the first matrix that differs is shown, with
    a * after each number that differs. For any other pair, `show_wanted=False` leaves out the right
    answer. For two lists of tensors, only the first item that differs is formatted.
    """
    if is_list_of_tensors(wanted) and isinstance(got, (list, tuple)) and len(got) == len(wanted):
        pairs = zip(got, wanted, strict=True)
        index = next((i for i, pair in enumerate(pairs) if not matches(*pair)), 0)
        text = side_by_side(got[index], wanted[index], show_wanted)
        item = _("item {index} of 0 to {last}").format(index=index, last=len(wanted) - 1)
        return f"{labeled('', item)}\n{text}"
    if not isinstance(got, Tensor) or not isinstance(wanted, Tensor) or got.shape != wanted.shape:
        texts = two_numbers(to_python(got), wanted) or (short_repr(got), short_repr(wanted))
        pairs = zip((_("yours"), _("wanted")), texts, strict=True)
        lines = [labeled(*pair) for pair in pairs]
        return "\n".join(lines if show_wanted else lines[:1])
    different = difference_mask(got, wanted).cpu()
    tensors = [t.detach().cpu().reshape(1, *([1] * (2 - t.dim())), *t.shape) for t in (got, wanted)]
    tensors = [t.flatten(0, -3) for t in (*tensors, different.reshape(tensors[0].shape))]
    n_matrices, n_rows, n_columns = tensors[0].shape
    if not tensors[0].numel():
        empty = _("empty, of shape {shape}").format(shape=tuple(got.shape))
        return labeled(_("yours"), empty)
    matrix, row, column = (tensors[2].nonzero().tolist() or [[0, 0, 0]])[0]
    top = window_start(row, MAX_ROWS, n_rows)
    left = window_start(column, MAX_COLUMNS, n_columns)
    windows = [t[matrix, top : top + MAX_ROWS, left : left + MAX_COLUMNS].tolist() for t in tensors]
    header = _("shape {shape}, its matrix {matrix}") if n_matrices > 1 else ""
    if n_rows > MAX_ROWS or n_columns > MAX_COLUMNS:
        header = _("rows {top} to {bottom}, columns {left} to {right}")
        if n_matrices > 1:
            header = _(
                "shape {shape}, its matrix {matrix}, "
                "rows {top} to {bottom}, columns {left} to {right}"
            )
    header = header.format(
        shape=tuple(got.shape),
        matrix=matrix,
        top=top,
        bottom=min(top + MAX_ROWS, n_rows) - 1,
        left=left,
        right=min(left + MAX_COLUMNS, n_columns) - 1,
    )
    lines = [labeled("", header)] if header else []
    for label, block in zip((_("yours"), _("wanted")), format_grids(*windows), strict=True):
        lines += [labeled(label if not i else "", x).rstrip() for i, x in enumerate(block)]
    return "\n".join(lines)


def two_numbers(got: Any, wanted: Any) -> tuple[str, str] | None:
    """Format two floats the same way, with enough digits to show that they differ."""
    if not isinstance(got, float) or not isinstance(wanted, float):
        return None
    (mine,), (right,) = format_grids([[got]], [[wanted]], [[got != wanted]])
    return mine.rstrip(), right.rstrip()


def is_list_of_tensors(x: Any) -> bool:
    return isinstance(x, (list, tuple)) and any(isinstance(item, Tensor) for item in x)


def window_start(index: int, window: int, n: int) -> int:
    """Return the start of a window over n items that contains the index: 0 if possible."""
    return 0 if index < window else min(index, n - window)


Grid = Sequence[Sequence[Any]]


def format_grids(got: Grid, wanted: Grid, different: Grid) -> tuple[list[str], list[str]]:
    """Format two grids in columns of the same width, with enough digits to show each difference."""
    marks = [["*" if differs else " " for differs in row] for row in different]
    if all(mark == "*" for row in marks for mark in row):
        marks = [[" "] * len(row) for row in marks]  # if everything differs, marks do not help
    for template in ("{:.4f}", "{:.6f}", "{:.9f}", "{:.3e}", "{:.15g}"):
        texts = [[[format_number(x, template) for x in row] for row in g] for g in (got, wanted)]
        all_distinct = all(
            a != b
            for got_row, wanted_row, differs_row in zip(*texts, different, strict=True)
            for a, b, differs in zip(got_row, wanted_row, differs_row, strict=True)
            if differs
        )
        longest = max(len(x) for grid in texts for row in grid for x in row)
        if all_distinct and longest < 16:
            break
    got_lines, wanted_lines = (
        [
            " ".join(f"{x:>{longest}}{mark}" for x, mark in zip(row, row_marks, strict=True))
            for row, row_marks in zip(grid, marks, strict=True)
        ]
        for grid in texts
    )
    return got_lines, wanted_lines


def format_number(x: Any, template: str) -> str:
    return template.format(x).replace("-", "−") if isinstance(x, float) else str(x)
