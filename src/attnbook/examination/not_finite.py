"""Rows that are nan or inf on ordinary input, in which every row may look at something."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from attnbook.examination.exam import Exam
from attnbook.examination.reference import inverted
from attnbook.examination.trace import recorded
from attnbook.examination.traced_scores import check_inner_softmax
from attnbook.language import _, ngettext


def not_finite(
    exam: Exam, output: Tensor, run: Callable[[], Any], keep: Tensor | None = None
) -> bool:
    """Report rows that are nan or inf, with the cause if it can be told; return whether there are.

    Shapes:  output (B, L, ...)   keep (B, L, Lk), True = may look
    """
    if output.isfinite().all():
        return False
    if check_inner_softmax(exam, run):
        return True
    found = first_not_finite(exam, output, run)
    n = found.size(1)
    rows = found.any(0)
    everything = torch.ones(1, n, n, dtype=torch.bool)
    is_square = keep is None or keep.size(1) == keep.size(2)
    masked = keep is not None and exam.facts.mask is not None
    meant = [everything.tril()] if keep is None or not masked else [keep]
    if n == 1 or rows.all() or not is_square:
        report_rows(exam, output)
    elif any(found.equal(pairs.all(-1).expand(found.shape)) for pairs in meant):
        exam.report.add("mask_inverted", no_key_left(rows) + " " + inverted())
    elif not masked and rows.equal(torch.arange(n) == 0):
        exam.report.add("not_itself", no_key_left(rows) + " " + shifted())
    elif masked and keep is not None and found.equal(~keep[:, -1]) and exam.facts.form == "BL":
        sentence = _(
            "Rows of padding are nan, because the mask hides their own queries, too, and leaves "
            "them no key. Hide the keys of padding only: `scores.masked_fill(~mask[:, None, None, "
            ":], -torch.inf)`."
        )
        exam.report.add("nan", sentence)
    else:
        report_rows(exam, output)
    return True


def first_not_finite(exam: Exam, output: Tensor, run: Callable[[], Any]) -> Tensor:
    """Return which rows are not finite where this begins: after one more layer, more rows are.

    Shapes:  output (B, L, ...) -> (B, L), boolean
    """
    module = exam.subject.module
    parts = list(module.named_modules()) if module is not None else []
    shape = output.shape[:2]
    for calls in recorded(module or nn.Identity(), run, parts).values():
        x, y = calls[0]
        if x.isfinite().all() and not y.isfinite().all() and y.dim() == 3 and y.shape[:2] == shape:
            return (~y.isfinite().all(-1)).cpu()
    return ~output.isfinite().flatten(2).all(-1)


def report_rows(exam: Exam, output: Tensor) -> None:
    """Report which rows are not finite."""
    rows = (~output.isfinite().flatten(2).all(-1)).any(0).nonzero().flatten().tolist()
    what = "nan" if output.isnan().any() else "inf"
    if len(rows) == output.size(1):
        sentence = _(
            "With ordinary input, all rows are {what}. Look for the first step that gives {what}."
        )
    else:
        sentence = ngettext(
            "With ordinary input, row {rows} is {what}, although it may look at something. Look "
            "for the first step that gives {what}.",
            "With ordinary input, rows {rows} are {what}, although each may look at something. "
            "Look for the first step that gives {what}.",
            len(rows),
        )
    exam.report.add("nan", sentence.format(what=what, rows=", ".join(map(str, rows))))


def no_key_left(rows: Tensor) -> str:
    """Say which rows see nothing."""
    found = rows.nonzero().flatten().tolist()
    sentence = ngettext(
        "Row {rows} is nan, because no key is left for it.",
        "Rows {rows} are nan, because no key is left for them.",
        len(found),
    )
    return sentence.format(rows=", ".join(map(str, found)))


def shifted() -> str:
    """Say that the diagonal is hidden, too."""
    return _(
        "So rows do not see themselves: the diagonal of the causal mask is off by one. Hide "
        "`triu(1)`, not `triu(0)`."
    )
