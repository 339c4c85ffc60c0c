"""Unusual input to a core: large scores, empty rows, half precision, as many sentences as heads."""

import torch
from torch import Tensor

from attnbook.examination.calling import CannotCall
from attnbook.examination.core_input import N_QUERIES, Core, declared_head, draw_core
from attnbook.examination.crashes import brief
from attnbook.examination.exam import Exam
from attnbook.examination.masks import in_form
from attnbook.examination.subject import Subject
from attnbook.language import _

LARGE = 30.0  # a factor for queries and keys that makes the scores overflow without a maximum
EMPTY = 2  # the query that may look at nothing


def check_large_scores(core: Core) -> None:
    """Large scores must not overflow, and must not come through a mask."""
    exam, subject = core.exam, core.exam.subject
    exam.report.attempt(_("large scores"))
    exact = subject(*core.arguments(factor=LARGE))
    as_used = in_float32(subject, core.arguments(factor=LARGE))
    if not as_used.isfinite().all():
        sentence = _(
            "With queries and keys {n} times as large, the output is nan or inf: `exp` overflows. "
            "Subtract each row's maximum first, or use `torch.softmax`."
        )
        exam.report.add("overflow", sentence.format(n=round(LARGE)))
        return
    expected = core.expected(declared_head(exam), LARGE)
    if exam.facts.scale == "own" or expected is None or not (core.masked or exam.facts.causal):
        return
    if (exact - expected).abs().max() > 0.05 * expected.abs().max():
        sentence = _(
            "With queries and keys {n} times as large, a hidden key comes through: the number that "
            "hides it is not low enough. Fill with −∞."
        )
        exam.report.add("mask_soft", sentence.format(n=round(LARGE)))


def in_float32(subject: Subject, arguments: tuple[Tensor, ...]) -> Tensor:
    """Call a core in float32, as it will be used."""
    dtype, subject.dtype = subject.dtype, torch.float32
    try:
        return subject(*arguments)
    finally:
        subject.dtype = dtype


def check_empty_row(core: Core) -> None:
    """A query that may look at nothing must not spoil the gradients of the others."""
    exam = core.exam
    exam.report.attempt(_("a query that may look at nothing"))
    keep = core.keep.clone()
    keep[:, EMPTY] = False
    if exam.facts.form == "BL":
        return
    leaves = [t.clone().requires_grad_() for t in (core.q, core.k, core.v)]
    mask = in_form(keep, exam.facts, core.n_heads)
    output = in_float32(exam.subject, (*leaves, mask))
    others = torch.cat([output[..., :EMPTY, :], output[..., EMPTY + 1 :, :]], -2)
    gradients: tuple[Tensor | None, ...] = ()
    if others.requires_grad:
        gradients = torch.autograd.grad(others.sum(), leaves, allow_unused=True)
    if not output.isfinite().all():
        sentence = _(
            "A query that may look at nothing gets nan, which is 0/0. One such row, such as one of "
            "padding, makes the loss nan. Set its weights to 0 after the softmax."
        )
        exam.report.add("empty_row", sentence)
    elif not all(g is None or g.isfinite().all() for g in gradients):
        sentence = _(
            "A query that may look at nothing makes the gradients of the other rows nan, although "
            "its own output is replaced: 0 times nan is nan. Fill its scores with 0 before the "
            "softmax."
        )
        exam.report.add("empty_row", sentence)


def check_half(core: Core) -> None:
    """In half precision, the number that fills hidden scores must exist."""
    exam = core.exam
    exam.report.attempt(_("half precision"))
    dtype = exam.subject.dtype
    for half in (torch.float16, torch.bfloat16):
        exam.subject.dtype = half
        try:
            problem = "" if exam.subject(*core.arguments()).isfinite().all() else "nan"
        except RuntimeError as error:  # an operation that the CPU lacks says so in other words
            problem = brief(error) if "overflow" in str(error) else ""
        finally:
            exam.subject.dtype = dtype
        if problem == "nan":
            sentence = _("In {dtype} the output has nan or inf.").format(dtype=half)
            exam.report.add("half", sentence)
        elif problem:
            sentence = _(
                "In {dtype} the number that fills hidden scores does not exist: {error}. "
                "−∞ does, and so does `torch.finfo(scores.dtype).min`."
            )
            exam.report.add("half", sentence.format(dtype=half, error=problem))


def name_batch_as_heads(exam: Exam, n_heads: int, error: str) -> bool:
    """With as many sentences as heads, a mask (B, Lq, Lk) may land on the heads."""
    exam.report.attempt(_("as many sentences as heads"))
    core = draw_core(exam, n_heads, n_keys=N_QUERIES, batch=n_heads)
    try:
        output = exam.subject(*core.arguments())
    except (CannotCall, RuntimeError):
        return False
    expected = core.expected(declared_head(exam))
    if expected is None or exam.subject.same(output, expected):
        return False
    otherwise = _(" With other numbers it raises an error: {error}.").format(error=error)
    sentence = _(
        "With {n} sentences and {n} heads, sentence b's mask is used for head b of all sentences. "
        "A mask (B, Lq, Lk) needs an axis for the heads: `mask[:, None]`."
    ).format(n=n_heads)
    exam.report.add("mask_batch", sentence + (otherwise if error else ""))
    return True
