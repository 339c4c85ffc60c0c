"""`examine`: experiments on a reader's own attention code."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from attnbook.examination.advice import advice, for_missing, missing_names
from attnbook.examination.calling import CannotCall
from attnbook.examination.cores import examine_core
from attnbook.examination.crashes import described
from attnbook.examination.exam import Exam
from attnbook.examination.facts import Facts, check_kind, read_facts
from attnbook.examination.kinds import guess_kind
from attnbook.examination.language_models import examine_lm
from attnbook.examination.layers import examine_cross, examine_layer
from attnbook.examination.losses import examine_loss
from attnbook.examination.pace import OutOfTime
from attnbook.examination.positions import examine_rotary, examine_table
from attnbook.examination.refusals import reason_to_refuse, unwrapped
from attnbook.examination.report import Report
from attnbook.examination.samplers import examine_sampler, examine_top_k, examine_top_p
from attnbook.examination.sequence_to_sequence import examine_seq2seq
from attnbook.examination.state import preserved
from attnbook.examination.subject import Subject
from attnbook.language import _

EXAMINERS: dict[str, tuple[int, Callable[[Exam], None]]] = {  # how many rows or ids it takes
    "core": (3, examine_core),
    "layer": (1, examine_layer),
    "cross": (2, examine_cross),
    "lm": (1, examine_lm),
    "seq2seq": (2, examine_seq2seq),
    "table": (0, examine_table),
    "rotary": (0, examine_rotary),
    "loss": (0, examine_loss),
    "top_p": (0, examine_top_p),
    "top_k": (0, examine_top_k),
    "sampler": (0, examine_sampler),
}


def examine(thing: Any, kind: str | None = None, **facts: Any) -> Report:
    """Run experiments on attention code, and report what they find.

    The thing is used in place, and left as it was. What is found out is not asked for; what is
    meant is a fact, such as `causal=True`: see `Facts`. A kind that is not named is guessed.

    kind     takes                    returns
    core     q, k, v[, mask]          output
    layer    x[, mask]                rows
    cross    x, context[, mask]       rows
    lm       ids[, mask]              logits
    seq2seq  source ids, target ids   logits
    table    L, D                     positions (L, D)
    rotary   x, positions             x, rotated
    loss     logits, ids              a number
    top_p    logits, p                logits
    top_k    logits, k                logits
    sampler  logits, temperature, p   probabilities

    Raises:  ValueError, TypeError for a kind or a fact that does not exist
    """
    check_kind(kind)
    said = read_facts(facts)
    report = Report()
    thing = unwrapped(thing)
    guessed = kind is None
    kind = kind or guess_kind(thing)
    report.refusal = reason_to_refuse(thing)
    if not report.refusal and kind is None:
        report.refusal = _(
            'I cannot guess what it is: pass `kind="core"` for a function of q, k, v, and '
            '`kind="layer"` for one of rows.'
        )
    if report.refusal or kind is None:
        return report
    with preserved(thing):
        run(thing, kind, complete(said, kind, guessed=guessed), report, guessed=guessed)
    report.blind_spots = blind_spots(kind)
    return report


def complete(said: Facts, kind: str, *, guessed: bool) -> Facts:
    """Add what a named kind implies: a language model predicts the next word, so it is causal.

    Raises:  ValueError for a fact that the kind does not have
    """
    if said.layout == "BLHD" and kind != "core":
        message = _('layout="BLHD" is for a core, and this is examined as kind="{kind}"')
        raise ValueError(message.format(kind=kind))
    if kind == "lm" and said.causal is None and not guessed:
        said = replace(said, causal=True)
    if kind == "lm" and said.keep:
        said = replace(said, mask="keep", mask_shape="BL")
    return said


def run(thing: Any, kind: str, facts: Facts, report: Report, *, guessed: bool) -> None:
    """Run the experiments of a kind. A crash or too little time ends them with a sentence."""
    n_rows, examiner = EXAMINERS[kind]
    exam = Exam(Subject(thing, facts, n_rows), facts, report)
    if half := exam.subject.use_float32():
        message = _("Its numbers are {dtype}; I examine a copy of them in float32.")
        report.note(message.format(dtype=str(half).removeprefix("torch.")))
    try:
        examiner(exam)
    except OutOfTime:
        message = _("The experiments were stopped after {n} seconds: pass a smaller module.")
        report.note(message.format(n=round(exam.subject.pace.limit)))
    except CannotCall as error:
        refusal = ended(_("I cannot call it: {error}").format(error=error))
        more = advice(thing, kind, facts, str(error), guessed=guessed)
        report.refusal = f"{refusal} {more}".strip()
    except Exception as error:
        report.refusal = _("It raised an error: {error}").format(error=described(error))
        if missing := missing_names(thing, kind, facts):
            report.refusal = f"{ended(report.refusal)} {for_missing(missing, kind, facts)}"
    if report.findings and report.refusal:
        report.note(report.refusal)
        report.refusal = ""


def ended(sentence: str) -> str:
    """Return a sentence with a full stop."""
    return sentence if sentence.endswith((".", "。")) else f"{sentence}."


def blind_spots(kind: str) -> str:
    """Say what the experiments of a kind cannot see."""
    if kind in ("core", "layer", "cross"):
        return _(
            "The experiments cannot see the base of rotary positions, the order of a checkpoint's "
            "matrices, the sign of a branch, or anything beyond a few rows."
        )
    if kind in ("lm", "seq2seq"):
        return _(
            "The experiments cannot see the base of rotary positions, the sign or the size of a "
            "branch, the conventions of a checkpoint, decoding loops, data, training, or anything "
            "beyond a few words."
        )
    if kind == "rotary":
        return _("The experiments cannot see the base of the rotation, or how it is used.")
    if kind == "loss":
        return _("The experiments cannot see a constant factor, or how the loss is used.")
    return _("The experiments cannot see how it is used.")
