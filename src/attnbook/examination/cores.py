"""A core: a function of queries, keys and values, and perhaps a mask."""

from dataclasses import replace

from attnbook.examination.calling import CannotCall
from attnbook.examination.core_input import N_KEYS, N_QUERIES, WIDTH, Core, draw_core
from attnbook.examination.core_limits import (
    check_empty_row,
    check_half,
    check_large_scores,
    name_batch_as_heads,
)
from attnbook.examination.core_names import name_core, name_untransposed
from attnbook.examination.exam import Exam
from attnbook.examination.report import Report
from attnbook.language import _

N_HEADS = 4


def examine_core(exam: Exam) -> None:
    """Examine a core. Unless it was said, try it with an axis of heads and without."""
    n_heads = 2 * exam.facts.groups if exam.facts.groups else N_HEADS
    options = (n_heads, 0) if exam.facts.heads is None else (exam.facts.heads,)
    outcomes: list[Report] = []
    failure: CannotCall | None = None
    for n_heads in options:
        trial = replace(exam, report=Report())
        trial.subject.ways.clear()
        trial.subject.width = WIDTH
        try:
            examine_with(trial, n_heads)
        except CannotCall as error:
            failure = failure or error
            continue
        outcomes.append(trial.report)
        if not trial.report.findings:
            break
    if not outcomes and failure:
        raise failure
    best = min(outcomes, key=lambda report: len(report.findings) > 0)
    exam.report.seen += best.seen
    exam.report.findings += best.findings
    exam.report.tried += best.tried


def examine_with(exam: Exam, n_heads: int) -> None:
    """Examine a core with this number of heads."""
    facts, subject = exam.facts, exam.subject
    square = facts.square or facts.window is not None
    core, unequal = draw_core(exam, n_heads, n_keys=N_QUERIES if square else N_KEYS), ""
    shape = "(B, H, L, D)" if n_heads else "(B, L, D)"
    seen = _("I see attention of q, k, v {shape}.").format(shape=shape)
    try:
        subject(*core.arguments())
    except CannotCall as error:
        if facts.form == "BLL" and n_heads and name_batch_as_heads(exam, n_heads, str(error)):
            return
        if name_untransposed(draw_core(exam, n_heads, n_keys=WIDTH)):
            exam.report.note(seen)
            return
        if square:
            raise
        core, unequal = draw_core(exam, n_heads, n_keys=N_QUERIES), str(error)
    exam.report.note(seen)
    subject.use_float64(*core.arguments())
    check_core(core)
    if unequal:
        sentence = _("With more keys than queries it raises an error: {error}")
        exam.report.add("unequal", sentence.format(error=unequal))


def check_core(core: Core) -> None:
    """Run the experiments on a core, up to the first that finds what changes all numbers."""
    exam, subject = core.exam, core.exam.subject
    exam.report.attempt(_("two calls with the same input"))
    output = subject(*core.arguments())
    if subject.is_random(output, *core.arguments()):
        exam.report.add("random_eval", _("Two calls with the same input differ."))
        return
    exam.report.attempt(_("the numbers beside those of our own attention"))
    if exam.facts.scale != "own" and name_core(core, output):
        return
    check_large_scores(core)
    if core.masked:
        if exam.facts.form == "BLL" and core.n_heads:
            name_batch_as_heads(exam, core.n_heads, "")
        check_empty_row(core)
    check_half(core)
