"""`examine`: experiments on a reader's own attention code."""

import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from torch import nn

from attnbook.examination.advice import advice, for_missing, missing_names
from attnbook.examination.calling import CannotCall
from attnbook.examination.cores import examine_core
from attnbook.examination.crashes import described, is_raised_in
from attnbook.examination.exam import Exam
from attnbook.examination.facts import KINDS, Facts, check_kind, meanings, read_facts
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

EXAMINERS: dict[str, Callable[[Exam], None]] = {
    "core": examine_core,
    "layer": examine_layer,
    "cross": examine_cross,
    "lm": examine_lm,
    "seq2seq": examine_seq2seq,
    "table": examine_table,
    "rotary": examine_rotary,
    "loss": examine_loss,
    "top_p": examine_top_p,
    "top_k": examine_top_k,
    "sampler": examine_sampler,
}
CALLS = (Subject.answer.__code__, nn.Module._call_impl.__code__)  # they call what is examined


def examine(thing: Any, kind: str | None = None, **facts: Any) -> Report:
    """Run experiments on attention code, and report what they find.

    The thing is used in place, and left as it was. What is found out is not asked for; what is
    meant is a fact, such as `causal=True`. A kind that is not named is guessed. `help(examine)`
    lists the kinds and the facts below, from `attnbook.examination.facts`.

    Returns: a Report, which a notebook and `print` show. `findings` lists what is wrong, `seen`
             what was seen or taken for granted, `tried` the experiments, and `refusal` says why
             nothing could be examined. `is_faulty` tells whether something is wrong in any case;
             `raise_if_faulty()` makes a test of it.
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


def with_facts(text: str) -> str:
    """Add a line for each kind and each fact to a docstring."""
    kinds = [(name, *kind[1:]) for name, kind in KINDS.items()]
    table = [("kind", "takes", "returns"), *kinds]
    lines = [f"{name:14} {takes:26} {returns}" for name, takes, returns in table]
    facts = [f"{name:14} {meaning}" for name, meaning in meanings().items()]
    return "\n".join([inspect.cleandoc(text), "", *lines, "", *facts])


examine.__doc__ = with_facts(str(examine.__doc__))


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
    exam = Exam(Subject(thing, facts, KINDS[kind].n_rows), facts, report)
    if half := exam.subject.use_float32():
        message = _("Its numbers are {dtype}; I examine a copy of them in float32.")
        report.note(message.format(dtype=str(half).removeprefix("torch.")))
    try:
        EXAMINERS[kind](exam)
    except OutOfTime:
        message = _("The experiments were stopped after {n} seconds: pass a smaller module.")
        report.note(message.format(n=round(exam.subject.pace.limit)))
    except CannotCall as error:
        refusal = ended(_("I cannot call it: {error}").format(error=error))
        more = advice(thing, kind, facts, str(error), guessed=guessed)
        report.refusal = f"{refusal} {more}".strip()
    except Exception as error:
        if is_raised_in(error, CALLS):
            report.refusal = _("It raised an error: {error}").format(error=described(error))
            if missing := missing_names(thing, kind, facts):
                report.refusal = f"{ended(report.refusal)} {for_missing(missing, kind, facts)}"
        else:
            report.refusal = raised_by_us(error)
    if report.findings and report.refusal:
        report.note(report.refusal)
        report.refusal = ""


def ended(sentence: str) -> str:
    """Return a sentence with a full stop."""
    return sentence if sentence.endswith((".", "。")) else f"{sentence}."


def raised_by_us(error: Exception) -> str:
    """Tell an error that was raised while nothing of the reader's ran."""
    message = _(
        "`examine` itself raised an error, which is a mistake in it, not in your code. Please "
        "report it: {error}"
    )
    return message.format(error=described(error))


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
