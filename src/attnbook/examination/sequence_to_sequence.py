"""An encoder and a decoder: ids of a source and of a target in, logits out."""

import torch
from torch import Tensor

from attnbook.examination.exam import Exam
from attnbook.examination.memory import check_memory, exchanged_roles
from attnbook.examination.model_input import BATCH, vocabulary_sizes
from attnbook.examination.not_finite import not_finite
from attnbook.examination.parameters import check_parameters
from attnbook.examination.rebuilt_parts import name_inside
from attnbook.examination.roles import check_roles
from attnbook.examination.rows import judge, moves, next_id, with_faint_moves
from attnbook.examination.subject import enlarge_small_weights
from attnbook.examination.traced_scores import check_inner_scales
from attnbook.language import _

N_SOURCE, N_TARGET, N_PADS = 6, 5, 2


def examine_seq2seq(exam: Exam) -> None:
    """Examine a model that scores the target's next id, given the source and the target so far."""
    size = min(vocabulary_sizes(exam)[:2])
    enlarge_small_weights(exam.subject)
    equal = exam.facts.equal_lengths
    source = torch.randint(1, size, (BATCH, N_SOURCE))
    target = torch.randint(1, size, (BATCH, N_SOURCE if equal else N_TARGET))
    exam.report.note(_("I see a model: ids of a source and a target to logits."))
    exam.subject.use_float64(source, target)
    if not check_sentences(exam, source, target):
        return
    exam.report.attempt(_("another word in the source"))
    if not moves(exam.subject, [source, target], change=next_id(size)).any():
        sentence = _(
            "No word of the source has an effect on the logits: the keys and values of the "
            "cross-attention do not come from the encoder."
        )
        exam.report.add("source_ignored", sentence)
        return
    check_parameters(exam, lambda: exam.subject(source, target) ** 2)
    if exchanged_roles(exam, source, target):
        return
    if name_inside(exam, lambda: exam.subject(source, target)):
        return
    check_memory(exam, source, target)
    check_target(exam, source, target, size)
    check_inner_scales(exam, lambda: exam.subject(source, target))
    check_roles(exam, lambda: exam.subject(source, target))
    if exam.facts.pad is not None and not equal:
        check_source_padding(exam, source, target)


def check_sentences(exam: Exam, source: Tensor, target: Tensor) -> bool:
    """Repeat a call, and compare a sentence alone with the same in a batch."""
    exam.report.attempt(_("two calls after eval()"))
    output = exam.subject(source, target)
    if exam.subject.is_random(output, source, target):
        sentence = _("Two calls after `eval()` differ: dropout, or another random number, is on.")
        exam.report.add("random_eval", sentence)
        return False
    if not_finite(exam, output, lambda: exam.subject(source, target)):
        return False
    exam.report.attempt(_("a sentence alone"))
    if not exam.subject.same(output[:1], exam.subject(source[:1], target[:1])):
        sentence = _(
            "In a batch, a sentence gets other logits than alone: sentences see each other. If a "
            "layer has `batch_first`, set it to True."
        )
        exam.report.add("cross_batch", sentence)
        return False
    return True


def check_target(exam: Exam, source: Tensor, target: Tensor, size: int) -> None:
    """In the target, a row may see itself and earlier rows."""
    exam.report.attempt(_("who moves whom in the target"))
    seen = moves(exam.subject, [source, target], which=1, change=next_id(size))
    keep = torch.ones_like(seen).tril()
    judge(
        exam,
        with_faint_moves(exam.subject, [source, target], seen, keep, 1, next_id(size)),
        keep,
    )


def check_source_padding(exam: Exam, source: Tensor, target: Tensor) -> None:
    """Padding after the source must change nothing."""
    exam.report.attempt(_("padding after the source"))
    padding = torch.full((BATCH, N_PADS), exam.facts.pad or 0)
    long = torch.cat([source, padding], 1)
    if exam.subject.same(exam.subject(source, target), exam.subject(long, target)):
        return
    sentence = _(
        "{n} words of padding after the source change the logits: the encoder or the "
        "cross-attention sees them. Both need the source's padding mask, on the keys."
    )
    exam.report.add("padding_seen", sentence.format(n=N_PADS))
