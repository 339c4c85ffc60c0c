"""Random rows for a layer, and the widths that it takes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from attnbook.examination.calling import CannotCall
from attnbook.examination.crashes import described
from attnbook.examination.exam import Exam
from attnbook.examination.masks import causal_rows, in_form, random_keep
from attnbook.examination.pace import OutOfTime
from attnbook.language import _

BATCH, N_ROWS = 3, 6
FEW_ROWS = 3  # while the width is looked for
FEW_SENTENCES = 2
OTHER_LENGTH = re.compile(  # in PyTorch's words
    rf"a \({FEW_ROWS}\) must match the size of tensor b \((?!{FEW_SENTENCES}\))"
    rf"|a \((?!{FEW_SENTENCES}\))\d+\) must match the size of tensor b \({FEW_ROWS}\)"
)
USUAL_WIDTHS = (64, 32, 16, 8, 128, 256, 512, 12, 24, 48, 4, 10, 20, 40, 100)  # if nothing tells


@dataclass(frozen=True)
class LayerInput:
    """Random arguments for a layer.

    Shapes:  x (B, L, D)   context (B, L + 1, Dc) or None   keep (B, L, Lk), True = may look
    """

    exam: Exam
    x: Tensor
    context: Tensor | None
    keep: Tensor

    @property
    def masked(self) -> bool:
        """Whether a mask is passed."""
        return self.exam.facts.mask is not None

    def arguments(
        self,
        x: Tensor | None = None,
        keep: Tensor | None = None,
        rows: slice = slice(None),
    ) -> tuple[Tensor, ...]:
        """Return what is passed for some of the sentences, with other rows or another mask."""
        given = [self.x[rows] if x is None else x]
        if self.context is not None:
            given.append(self.context[rows])
        if self.masked:
            keep = (self.keep if keep is None else keep)[rows]
            given.append(in_form(keep, self.exam.facts, self.exam.facts.n_heads or 1))
        return tuple(given)

    @property
    def scores_keep(self) -> Tensor | None:
        """The mask for scores (B, H, L, Lk), or None if every row may see every row."""
        return None if self.keep.all() else self.keep[:, None]


def draw_layer(exam: Exam, *, crossed: bool) -> LayerInput:
    """Find the widths, and draw arguments.

    Raises:  CannotCall if no width fits
    """
    d_model, d_context = find_widths(exam, crossed)
    exam.subject.width = d_model
    note_heads(exam, d_model)
    x = torch.randn(BATCH, N_ROWS, d_model)
    context = torch.randn(BATCH, N_ROWS + 1, d_context) if d_context else None
    keep = allowed(exam, N_ROWS + 1 if d_context else N_ROWS)
    return LayerInput(exam, x, context, keep)


def note_heads(exam: Exam, d_model: int) -> None:
    """Note a number of heads that divides no width."""
    n = exam.facts.n_heads
    widths = [d_model, *(size for p in exam.subject.parameters() for size in p.shape)]
    if n and all(width % n for width in widths):
        exam.report.note(
            _("n_heads={n} divides no width, so I cannot rebuild the numbers.").format(n=n)
        )


def allowed(exam: Exam, n_keys: int) -> Tensor:
    """Draw which keys each row may see: those of the random mask, if there is one, and no later."""
    facts = exam.facts
    keep = torch.ones(BATCH, N_ROWS, n_keys, dtype=torch.bool)
    if facts.causal or facts.window:
        rows = causal_rows(N_ROWS, n_keys, facts.window)
        keep = keep & rows if facts.causal else keep & (rows | rows.mT)
    if facts.mask:
        keep = keep & random_keep((BATCH, N_ROWS, n_keys), facts.form)
    return keep


def find_widths(exam: Exam, crossed: bool) -> tuple[int, int]:
    """Return the width of the rows and of the context's rows, which is 0 if there is none.

    Raises:  CannotCall with the error that came latest in the code, if no width fits
    """
    facts, problem, furthest, tried = exam.facts, "", (-1, False), 0
    for d_model, d_context in widths_to_try(exam, crossed):
        x = torch.randn(FEW_SENTENCES, FEW_ROWS, d_model)
        context = torch.randn(FEW_SENTENCES, FEW_ROWS, max(d_context, 1))
        trial = LayerInput(
            exam,
            x,
            context if crossed else None,
            torch.ones(FEW_SENTENCES, FEW_ROWS, FEW_ROWS).bool(),
        )
        exam.subject.width = d_model
        exam.subject.ways.clear()
        with Steps() as steps:
            try:
                output = exam.subject(*trial.arguments())
            except OutOfTime:
                raise
            except Exception as error:
                text = str(error) if isinstance(error, CannotCall) else described(error)
                reached = steps.n, bool(OTHER_LENGTH.search(text))
                if reached > furthest:
                    problem, furthest, tried = text, reached, d_model
                continue
        if facts.d_model or output.size(-1) == d_model or is_narrow(exam, d_model):
            return d_model, d_context
        if not problem:
            problem = _("it returns rows of {n} numbers").format(n=output.size(-1))
            tried = d_model
    message = _("with rows of {width} numbers, {problem}")
    raise CannotCall(message.format(width=tried, problem=problem))


class Steps(TorchFunctionMode):
    """Count the functions of PyTorch that return."""

    def __init__(self) -> None:
        super().__init__()
        self.n = 0

    def __torch_function__(
        self, function: Callable[..., Any], types: Any, arguments: Any = (), named: Any = None
    ) -> Any:
        result = function(*arguments, **(named or {}))
        self.n += 1
        return result


def is_narrow(exam: Exam, d_model: int) -> bool:
    """Whether the layer may return rows of another width than d_model, because it has no W_O."""
    return any(p.dim() == 2 and d_model in p.shape for p in exam.subject.parameters())


def widths_to_try(exam: Exam, crossed: bool) -> Iterator[tuple[int, int]]:
    """Yield pairs of widths: the sizes of parameters, the largest first."""
    facts = exam.facts
    sizes = sorted({n for p in exam.subject.parameters() for n in p.shape if n > 1}, reverse=True)
    sizes = sizes or list(USUAL_WIDTHS)
    for d_model in [facts.d_model] if facts.d_model else sizes:
        if not crossed:
            yield d_model, 0
            continue
        for d_context in [facts.d_context] if facts.d_context else [d_model, *sizes]:
            yield d_model, d_context
