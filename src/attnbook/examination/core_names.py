"""Name the mistake that gives a core's numbers."""

import torch
from torch import Tensor

from attnbook.examination.calling import CannotCall
from attnbook.examination.core_input import Core, declared_head
from attnbook.examination.not_finite import report_rows
from attnbook.examination.reference import (
    evidence,
    largest,
    measured_scale,
    run_head,
    scaled_head,
    variants,
)
from attnbook.examination.traced_scores import check_inner_scales, check_inner_softmax
from attnbook.language import _
from attnbook.mistakes.head import RIGHT


def name_core(core: Core, output: Tensor) -> bool:
    """Return whether the numbers are wrong, and report why.

    First come the known mistakes in the three lines, then those in the order of key heads and in
    the causal mask, then other scales. Numbers with several mistakes are those of none, so the
    softmax and the scale are then looked at while the code runs.
    """
    exam = core.exam
    same = exam.subject.same
    right = core.expected(declared_head(exam))
    if right is not None and right.shape == output.shape and same(output, right):
        return False
    numbers = output.nan_to_num(0.0)  # our own attention gives 0 where no key is left
    for fault, sentence, head in variants(has_mask=core.masked or bool(exam.facts.causal)):
        other = core.expected(head)
        if other is not None and other.shape == output.shape and same(numbers, other):
            exam.report.add(fault, sentence + evidence(output, right))
            return True
    if name_groups(core, numbers) or name_causal(core, numbers) or name_scale(core, numbers):
        return True
    if check_inner_softmax(exam, lambda: exam.subject(*core.arguments())):
        check_inner_scales(exam, lambda: exam.subject(*core.arguments()))
        return True
    if not output.isfinite().all():
        report_rows(exam, output if core.n_heads == 0 else output.transpose(1, 2))
        return True
    sentence = _(
        "The numbers are not those of softmax(q kᵀ / √d_k) v, and no known mistake gives them. If "
        "it is not meant to be softmax attention, I have nothing to compare it with."
    )
    exam.report.add("numbers", sentence)
    return True


def name_untransposed(core: Core) -> bool:
    """Keys that are not transposed raise an error, unless there are as many as a row has numbers.

    The core has that many keys.
    """
    try:
        output = core.exam.subject(*core.arguments())
    except CannotCall:
        return False
    for fault, sentence, head in variants(has_mask=False):
        other = core.expected(head) if fault == "transposed" else None
        if other is not None and core.exam.subject.same(output, other):
            core.exam.report.add(fault, sentence)
            return True
    return False


def name_groups(core: Core, output: Tensor) -> bool:
    """The key heads 0 1 may be used as 0 1 0 1 instead of 0 0 1 1."""
    n_kv = core.k.size(1)
    if not core.n_heads or n_kv == core.n_heads:
        return False
    k, v = (t.double().repeat(1, core.n_heads // n_kv, 1, 1) for t in (core.k, core.v))
    keep = core.keep[:, None] if core.masked or core.exam.facts.causal else None
    tiled = run_head(RIGHT, core.q.double(), k, v, keep)
    if tiled is None or not core.exam.subject.same(output, tiled):
        return False
    order = " ".join(str(i % n_kv) for i in range(core.n_heads))
    sentence = _(
        "Query heads 0 … {last} use key heads {order}: the set of key heads is repeated. Repeat "
        "each of them instead, with `repeat_interleave`."
    )
    core.exam.report.add("groups", sentence.format(last=core.n_heads - 1, order=order))
    return True


def name_causal(core: Core, output: Tensor) -> bool:
    """A causal triangle may begin at the wrong corner, and a window may be one too wide."""
    exam, window = core.exam, core.exam.facts.window
    if not exam.facts.causal:
        return False
    n_queries, n_keys = core.q.size(-2), core.k.size(-2)
    for shift in (0, n_queries - n_keys, 1, -1):
        for width in (window, window + 1, window - 1) if window else (None,):
            keep = shifted_rows(n_queries, n_keys, shift, width)
            other = core.expected(RIGHT, keep=keep.expand(len(core.q), -1, -1))
            if other is None or not exam.subject.same(output, other):
                continue
            report_causal(core, shift, width)
            return True
    return False


def shifted_rows(n_queries: int, n_keys: int, shift: int, width: int | None) -> Tensor:
    """Causal rows whose diagonal is moved to the right by `shift`."""
    last = torch.arange(n_keys - n_queries, n_keys)[:, None] + shift
    keys = torch.arange(n_keys)
    keep = keys <= last
    return keep if width is None else keep & (keys > last - width)


def report_causal(core: Core, shift: int, width: int | None) -> None:
    """Report a triangle that is not where it should be."""
    report, window = core.exam.report, core.exam.facts.window
    n_queries, n_keys = core.q.size(-2), core.k.size(-2)
    if shift and shift == n_queries - n_keys:
        sentence = _(
            "With {lk} keys and {lq} queries, query 0 sees key 0 only: the causal triangle starts "
            "at the upper left. The queries are the last rows, so it has to end at the lower "
            "right: `torch.ones(Lq, Lk, dtype=torch.bool).tril(Lk - Lq)`."
        )
        report.add("alignment", sentence.format(lq=n_queries, lk=n_keys))
    elif width != window and width is not None:
        sentence = _(
            "A window of {window} shows {width} keys, with the row itself. Query i may see key j "
            "if `0 <= i - j < {window}`."
        )
        report.add("window", sentence.format(window=window, width=width))
    elif shift == 1:
        sentence = _("Each query sees one later key: the diagonal of the mask is off by one.")
        report.add("sees_next", sentence)
    else:
        sentence = _(
            "A query does not see its own key: the diagonal of the mask is off by one. Hide "
            "`triu(1)`, not `triu(0)`."
        )
        report.add("not_itself", sentence)


def name_scale(core: Core, output: Tensor) -> bool:
    """The scores may be multiplied by any other number."""
    if isinstance(core.exam.facts.scale, (int, float)):
        return False

    def distance(scale: float) -> float:
        other = core.expected(scaled_head(scale))
        return largest(None if other is None else output - other)

    scale = measured_scale(distance)
    other = core.expected(scaled_head(scale))
    if other is None or not core.exam.subject.same(output, other):
        return False
    sentence = _(
        "The scores are multiplied by {scale:.3g}, and 1/√d_k is {right:.3g}. If you mean it, say "
        "`scale={scale:.3g}`."
    )
    right = core.q.size(-1) ** -0.5
    core.exam.report.add("scale", sentence.format(scale=scale, right=right))
    return True
