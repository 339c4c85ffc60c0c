"""Who moves whom: change one row, and look at which rows of the output move."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from attnbook.examination.exam import Exam
from attnbook.examination.subject import Subject
from attnbook.language import _

FAINTER = (1.0, 0.1, 0.01)  # factors of the rows
Change = Callable[[Tensor], Tensor]


def noisy(row: Tensor) -> Tensor:
    """Change a row of numbers."""
    return row + 2 * torch.randn_like(row)


def next_id(size: int) -> Change:
    """Return a change of ids that never gives id 0, which may be padding."""
    return lambda ids: ids % (size - 1) + 1


def moves(
    subject: Subject,
    values: Sequence[Tensor],
    which: int = 0,
    change: Change = noisy,
    differ: Callable[[Tensor, Tensor], Tensor] | None = None,
) -> Tensor:
    """Return whether row i of the first sentence's output moves when row j of an input changes.

    Shapes:  values[which] (B, Lin, ...) -> (Lout, Lin), boolean
    """
    before = subject(*values)
    columns = []
    for j in range(values[which].size(1)):
        other = values[which].clone()
        other[0, j] = change(other[0, j])
        after = subject(*values[:which], other, *values[which + 1 :])
        columns.append((differ or subject.differ)(before, after)[0].flatten(1).any(-1))
    return torch.stack(columns, 1)


def with_faint_moves(
    subject: Subject,
    values: Sequence[Tensor],
    seen: Tensor,
    keep: Tensor,
    which: int = 0,
    change: Change = noisy,
) -> Tensor:
    """Add the pairs in which row i moves by so little that it may be rounding.

    Where scores are large, nearly all of the weight is on one key. The others still have some,
    unlike a hidden key, and more of it when the rows are small. Pairs that may not be seen are
    added only if others of them are seen anyway.
    """
    leaks = (seen & ~keep & ~diagonal(seen)).any()
    wanted = torch.ones_like(keep) if leaks else keep
    factors = FAINTER if values[which].is_floating_point() else (1,)
    for factor in factors:
        if not (wanted & ~seen).any():
            break
        smaller = [v * factor if v.is_floating_point() else v for v in values]
        faint = moves(subject, smaller, which, change, differ=torch.ne)
        seen = seen | (wanted & faint)
    return seen


def diagonal(seen: Tensor) -> Tensor:
    """True where a row meets itself."""
    return torch.eye(*seen.shape, dtype=torch.bool)


def judge(exam: Exam, seen: Tensor, keep: Tensor, *, own: bool = True) -> None:
    """Name the difference between what is seen and what may be seen.

    With `own`, a row always moves with itself, because it is its own query.

    Shapes:  seen, keep (Lq, Lk)
    """
    leak, blind = seen & ~(keep | diagonal(seen) & own), keep & ~seen
    if not leak.any() and not blind.any():
        return
    if exam.facts.window and judge_window(exam, seen, keep):
        return
    if keep.size(0) == keep.size(1) and (keep == keep.new_ones(keep.shape).tril()).all():
        if judge_causal(exam, seen, leak):
            return
    elif leak.any() and (~keep).any() and ((seen != keep) | diagonal(seen)).all():
        exam.report.add(
            "mask_inverted",
            _(
                "What you said is hidden is seen, and what you said may be seen is hidden: the "
                "mask is inverted. Invert it with `~` where it is applied."
            ),
        )
        return
    if leak.any():
        i, j = leak.nonzero()[0].tolist()
        sentence = _(
            "Row {i} moves when row {j} changes, which it must not see. Is it hidden along the "
            "keys, the last axis of the scores (…, Lq, Lk), and before the softmax?"
        )
        exam.report.add("leak", sentence.format(i=i, j=j))
    elif not own and seen.equal(keep.tril()):
        sentence = _(
            "Query i sees only rows 0 … i of the context: a causal mask is used in the "
            "cross-attention. Only the context's padding is hidden there."
        )
        exam.report.add("cross_causal", sentence)
    else:
        i, j = blind.nonzero()[0].tolist()
        sentence = _(
            "Row {i} does not move when row {j} changes, although it should see it. If that is "
            "meant, say so with `causal=True`, `window=` or `mask=`."
        )
        unsaid = own and "causal" in exam.learned and not exam.facts.window
        may_be_meant = unsaid and sees_earlier(seen)
        exam.report.add("perhaps_blind" if may_be_meant else "blind", sentence.format(i=i, j=j))


def sees_earlier(seen: Tensor) -> bool:
    """Whether rows see themselves and earlier rows, as with a prefix or a local window.

    If the mask hides the wrong triangle with a number, the last row sees all.
    """
    return bool(seen.diagonal().all() and seen.tril(-1)[:-1].any())


def judge_window(exam: Exam, seen: Tensor, keep: Tensor) -> bool:
    """Name a window of another width than that of the last row's keys; return whether it is one."""
    width, right = (int((rows | diagonal(rows))[-1].sum()) for rows in (seen, keep))
    band = keep.new_ones(keep.shape).tril().triu(1 - width)
    band = band if exam.facts.causal else band | band.mT
    if width == right or not ((seen | diagonal(seen)) == band).all():
        return False
    sentence = _(
        "With a window of {window}, the last row sees {width} rows, itself included, instead of "
        "{right}. Query i may see key j if `0 <= i - j < {window}`."
    )
    sentence = sentence.format(window=exam.facts.window, width=width, right=right)
    exam.report.add("window", sentence)
    return True


def judge_causal(exam: Exam, seen: Tensor, leak: Tensor) -> bool:
    """Name what is wrong with a causal pattern; return whether something was named.

    If each layer sees the next row, the first row sees as many rows as there are layers.
    """
    pairs = torch.ones_like(seen)
    itself = diagonal(seen)
    last_is_empty = slice(None, -1)  # filled with a number, it sees all rows equally
    if ((seen | itself) == pairs.triu())[last_is_empty].all() and len(seen) > 1:
        sentence = _(
            "Rows see only later rows: the mask hides the wrong triangle. Hide what is above the "
            "diagonal: `torch.ones(L, L, dtype=torch.bool).triu(1)` is True where it is hidden."
        )
        exam.report.add("wrong_triangle", sentence)
    elif not leak.any():
        return False
    elif leak[0, 1:].all() and not leak[1:].any():
        sentence = _(
            "Row 0 moves with all later rows, and no other row does: nothing is left that row 0 "
            "may see, so its weights are equal. The mask hides the diagonal, too: hide `triu(1)`, "
            "not `triu(0)`."
        )
        exam.report.add("not_itself", sentence)
    elif not leak[0, -1] and is_band(leak):
        sentence = _(
            "Row 0 moves when row 1 changes: each row sees the next one, so the diagonal of the "
            "causal mask is off by one. `triu(1)` is what has to be hidden."
        )
        exam.report.add("sees_next", sentence)
    else:
        i = int(leak.any(1).nonzero()[0])
        sentence = _("Row {i} moves when row {j} changes: rows see the future.")
        exam.report.add("sees_future", sentence.format(i=i, j=int(leak[i].nonzero()[-1])))
    return True


def is_band(leak: Tensor) -> bool:
    """Whether each row sees equally many of the rows after it."""
    width = int(leak[0].sum())
    return bool((leak == torch.ones_like(leak).triu(1).tril(width)).all())
