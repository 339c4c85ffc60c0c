"""A core: a function of queries, keys and values, and perhaps a mask."""

from dataclasses import replace

import torch
from torch import Tensor

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
from attnbook.examination.facts import Facts
from attnbook.examination.masks import causal_rows
from attnbook.examination.report import Report
from attnbook.examination.rows import noisy
from attnbook.language import _

N_HEADS = 4


def examine_core(exam: Exam) -> None:
    """Examine a core. Unless it was said, try it with an axis of heads and without.

    The heads may also come after the rows, (B, L, H, D). If their place was said by `heads`, this
    is only noted.
    """
    facts = exam.facts
    n_heads = facts.heads if facts.heads is not None else 2 * (facts.groups or N_HEADS // 2)
    options = (
        [facts] if facts.heads is not None else [replace(facts, heads=n) for n in (n_heads, 0)]
    )
    rows_first = replace(facts, heads=n_heads, layout="BLHD")
    if facts.layout == "BLHD":
        options = [rows_first]
    elif facts.layout == "BLD" and n_heads:
        options.append(rows_first)
    outcomes: list[tuple[Facts, Report]] = []
    failure: CannotCall | None = None
    for option in options:
        trial = replace(exam, report=Report(), learned=set())
        trial.learn(layout=option.layout)
        trial.subject.ways.clear()
        trial.subject.width = WIDTH
        try:
            examine_with(trial, option.heads or 0)
        except CannotCall as error:
            failure = failure or error
            continue
        outcomes.append((option, trial.report))
        if not trial.report.findings:
            break
    if not outcomes and failure:
        raise failure
    best = min(outcomes, key=lambda outcome: unexplained(outcome[1]))
    if facts.heads is not None and best[0] is rows_first and best is not outcomes[0]:
        if not best[1].findings:
            sentence = _(
                "In the layout (B, L, H, D), its numbers are those of attention: if it is meant, "
                'say `layout="BLHD"`.'
            )
            exam.report.note(sentence)
        best = outcomes[0]
    exam.report.seen += best[1].seen
    exam.report.findings += best[1].findings
    exam.report.tried += best[1].tried


def unexplained(report: Report) -> int:
    """Rank a report: nothing found, faults with a name, or numbers that no mistake explains."""
    return 1 + any(f.fault == "numbers" for f in report.findings) if report.findings else 0


def examine_with(exam: Exam, n_heads: int) -> None:
    """Examine a core with this number of heads."""
    facts, subject = exam.facts, exam.subject
    square = facts.square or facts.window is not None
    core, unequal = draw_core(exam, n_heads, n_keys=N_QUERIES if square else N_KEYS), ""
    shape = "(B, L, H, D)" if facts.layout == "BLHD" else "(B, H, L, D)"
    shape = shape if n_heads else "(B, L, D)"
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
    core = understand_causal(core, output)
    exam.report.attempt(_("the numbers beside those of our own attention"))
    if exam.facts.scale != "own" and name_core(core, output):
        return
    check_large_scores(core)
    if core.masked:
        if exam.facts.form == "BLL" and core.n_heads:
            name_batch_as_heads(exam, core.n_heads, "")
        check_empty_row(core)
    check_half(core)


def understand_causal(core: Core, output: Tensor) -> Core:
    """If it was not said whether the core is causal, take what is seen for what is meant."""
    exam = core.exam
    if exam.facts.causal is not None:
        return core
    n_queries, n_keys = core.q.size(-2), core.k.size(-2)
    seen = moved_by_keys(core, output)
    keep = core.keep if core.masked else torch.ones_like(core.keep)
    causal = causal_rows(n_queries, n_keys)
    corner = torch.ones_like(causal).tril()  # the wrong one, if there are more keys
    if n_queries == 1 or not any(seen.equal(keep[0] & rows) for rows in (causal, corner)):
        return core
    if seen.equal(keep[0]):  # the mask alone explains it
        return core
    exam.learn(causal=True)
    exam.report.note(
        _(
            "No query sees a key after its own. I take it that the core is meant to be causal: "
            "`causal=False` says otherwise."
        )
    )
    return replace(core, keep=keep & causal)


def moved_by_keys(core: Core, output: Tensor) -> Tensor:
    """Return which queries of the first sentence move when a key and its value change: (Lq, Lk)."""
    columns = []
    for j in range(core.k.size(-2)):
        k, v = core.k.clone(), core.v.clone()
        k[..., j, :], v[..., j, :] = noisy(k[..., j, :]), noisy(v[..., j, :])
        moved = core.exam.subject(*replace(core, k=k, v=v).arguments())
        differ = core.exam.subject.differ(output, moved)[0].any(-1)
        columns.append(differ.reshape(-1, differ.size(-1)).any(0))
    return torch.stack(columns, 1)
