"""A norm that averages along the sequence lets rows see one another."""

import re
from collections.abc import Sequence

from torch import Tensor, nn

from attnbook.examination.exam import Exam
from attnbook.examination.rows import next_id, noisy
from attnbook.examination.trace import recorded
from attnbook.language import _


def mixing_norm(exam: Exam, values: Sequence[Tensor], size: int = 0) -> bool:
    """Find a norm whose early rows move although the early rows of its input do not.

    `size` is the number of ids if the values are ids.
    """
    subject, module = exam.subject, exam.subject.module
    if module is None:
        return False
    other = values[0].clone()
    change = next_id(size) if size else noisy
    other[:, -1] = change(other[:, -1])
    leaves = [(name, part) for name, part in module.named_modules() if not list(part.children())]

    def run() -> None:
        subject(*values)
        subject(other, *values[1:])

    n_rows = values[0].size(1)
    for name, calls in recorded(module, run, leaves).items():
        half = len(calls) // 2
        for before, after in zip(calls[:half], calls[half:], strict=False):
            if mixes_rows(exam, before, after, n_rows):
                part = module.get_submodule(name)
                if not is_norm(f"{name} {type(part).__name__}"):
                    return False  # an attention of its own kind, for example
                report_norm(exam, name, part)
                return True
    return False


def norm_of_columns(exam: Exam, values: Sequence[Tensor]) -> bool:
    """Find a norm that moves its early rows, called alone with another last row."""
    subject, module = exam.subject, exam.subject.module
    if module is None:
        return False
    parts = [(n, m) for n, m in module.named_modules() if is_norm_of_rows(n, m)]
    for name, calls in recorded(module, lambda: subject(*values), parts).items():
        x, n_rows = calls[0][0], values[0].size(1)
        if x.dim() != 3 or n_rows not in x.shape[:2]:
            continue
        axis = 1 if x.size(1) == n_rows else 0
        other = x.clone()
        other.select(axis, -1).copy_(noisy(other.select(axis, -1)))
        part = module.get_submodule(name)
        early = [part(t).narrow(axis, 0, n_rows - 1).detach() for t in (x, other)]
        if not subject.same(*early):
            report_norm(exam, name, part)
            return True
    return False


def is_norm_of_rows(name: str, part: nn.Module) -> bool:
    """Whether a module is a norm without parts, and of a kind that is meant for rows."""
    kind = type(part).__name__
    meant = not re.search("(group|instance|batch)_?norm", kind, re.IGNORECASE)
    return meant and not list(part.children()) and is_norm(f"{name.rpartition('.')[2]} {kind}")


def report_norm(exam: Exam, name: str, part: nn.Module) -> None:
    sentence = _(
        "A row moves when the last row changes, and it comes in through `{name}` ({part}): its "
        "early rows move although those of its input do not. A norm has to work on each row by "
        "itself, over the last axis; this one averages along the sequence."
    )
    exam.report.add("norm_axis", sentence.format(name=name, part=type(part).__name__))


def is_norm(name: str) -> bool:
    """Whether a name sounds like a norm."""
    return "norm" in name.lower() or "ln" in name.lower()


def mixes_rows(
    exam: Exam, before: tuple[Tensor, Tensor], after: tuple[Tensor, Tensor], n_rows: int
) -> bool:
    """Whether the early rows of an output differ where those of the input are the same."""
    x, y = before
    if not x.is_floating_point() or x.shape != y.shape or x.dim() < 3:
        return False
    axis = next((a for a in (1, 2, 0) if x.size(a) == n_rows), None)
    if axis is None:
        return False
    early = [t.narrow(axis, 0, n_rows - 1) for t in (x, after[0], y, after[1])]
    return exam.subject.same(*early[:2]) and not exam.subject.same(*early[2:])
