"""Padding beside a sentence must not change the logits of its words."""

import torch
from torch import Tensor

from attnbook.examination.exam import Exam
from attnbook.language import _

N_PADS = 3


def check_padding(exam: Exam, ids: Tensor, size: int) -> None:
    """Add padding on the right, and for a causal model that takes a mask also on the left.

    An encoder is given padding on the right, so its positions may count from the first row.
    """
    facts = exam.facts
    sides = {"right": _("on the right"), "left": _("on the left")}
    for side in ("right", "left") if facts.keep and facts.causal else ("right",):
        exam.report.attempt(_("padding {side}").format(side=sides[side]))
        blank = torch.full((1, N_PADS), facts.pad or 0)
        long = torch.cat([ids, blank] if side == "right" else [blank, ids], 1)
        real = torch.zeros(long.shape, dtype=torch.bool)
        rows = slice(0, ids.size(1)) if side == "right" else slice(N_PADS, None)
        real[:, rows] = True
        alone = logits(exam, ids, real[:, rows])
        output = logits(exam, long, real)[:, rows]
        if close(alone, output):
            continue
        other = logits(exam, torch.where(real, long, size - 1), real)[:, rows]
        if facts.keep and close(output, other):
            sentence = _(
                "{n} words of padding {side} change the logits of the same words, although "
                "no padding is attended to: positions count the padding. Count from the first real "
                "word: `(keep.long().cumsum(-1) - 1).clamp(min=0)`."
            )
            exam.report.add("left_padding", sentence.format(n=N_PADS, side=sides[side]))
        else:
            sentence = _(
                "{n} words of padding {side} change the logits of the same words: padding "
                "is attended to. Hide its keys with a mask."
            )
            exam.report.add("padding_seen", sentence.format(n=N_PADS, side=sides[side]))
        return


def logits(exam: Exam, ids: Tensor, real: Tensor) -> Tensor:
    """Call the model, with its mask if it takes one."""
    return exam.subject(ids, real) if exam.facts.keep else exam.subject(ids)


def close(a: Tensor, b: Tensor) -> bool:
    """Whether logits are equal in float32, of which large negative numbers leave few digits."""
    return bool((a - b).abs().max() <= 1e-3 * a.abs().max())
