"""A language model: ids in, logits out."""

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from attnbook.examination.caches import check_cache, note_cache
from attnbook.examination.exam import Exam
from attnbook.examination.model_input import BATCH, N_IDS, vocabulary_sizes
from attnbook.examination.norms import mixing_norm, norm_of_columns
from attnbook.examination.not_finite import not_finite
from attnbook.examination.order import ORDER
from attnbook.examination.padding import check_padding
from attnbook.examination.parameters import check_parameters
from attnbook.examination.rebuilt_parts import check_placing, name_inside
from attnbook.examination.roles import check_roles, check_rotations
from attnbook.examination.rows import diagonal, judge, moves, next_id, with_faint_moves
from attnbook.examination.subject import enlarge_small_weights
from attnbook.examination.trace import Fused, Softmax, traced
from attnbook.examination.traced_scores import check_inner_scales, check_inner_softmax
from attnbook.language import _

MARGIN = 2.5  # by which the first loss may exceed that of a guess


def examine_lm(exam: Exam) -> None:
    """Examine a model that scores the next id at each position, or each masked one."""
    size = vocabulary_sizes(exam)[0]
    exam.report.note(_("I see a model: ids (B, L) below {n} to logits.").format(n=size))
    exam.subject.width = None
    if not check_first_loss(exam, size):
        return
    enlarge_small_weights(exam.subject)
    ids = torch.randint(1, size, (BATCH, N_IDS))
    exam.subject.use_float64(ids)
    if not check_sentences(exam, ids, size):
        return
    many = torch.randint(1, size, (4, 12))
    check_parameters(exam, lambda: exam.subject(many) ** 2)
    if not name_inside(exam, lambda: exam.subject(ids)):
        check_rows(exam, ids, size)
    check_placing(exam, ids)
    if not exam.report.is_faulty or exam.facts.step:
        check_inner_scales(exam, lambda: exam.subject(ids))
        check_roles(exam, lambda: exam.subject(ids))
        check_rotations(exam, exam.subject, torch.full_like(ids, 1), torch.full_like(ids, 2))
    if exam.facts.step:
        check_cache(exam, ids, size)
    else:
        note_cache(exam)
    if exam.facts.pad is not None and (exam.facts.keep or not exam.facts.causal):
        exam.subject.convert(torch.float32)
        check_padding(exam, ids[:1], size)


def check_first_loss(exam: Exam, size: int) -> bool:
    """Look at the logits of the weights as they are; return whether they are logits."""
    exam.report.attempt(_("the first loss"))
    with torch.no_grad():
        logits = exam.subject(torch.randint(1, size, (8, 12))).float()
    labels = torch.randint(logits.size(-1), (8, 12))
    if not (logits < 0).any() and (logits.sum(-1) - 1).abs().max() < 1e-3:
        sentence = _(
            "The outputs of a row are not negative and sum to 1: these are probabilities. "
            "`cross_entropy` takes a softmax of its own, so return the logits."
        )
        exam.report.add("not_logits", sentence)
        return False
    loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten()).item()
    if loss > math.log(size) + MARGIN:
        sentence = _(
            "On random ids the loss is {loss:.1f}, and a guess among {n} ids has "
            "ln {n} = {guess:.1f}. If the model has not been trained, its logits are too large: "
            "initialize the last matrix with a smaller standard deviation, such as 1/√d_model."
        )
        sentence = sentence.format(loss=loss, n=size, guess=math.log(size))
        exam.report.add("initial_loss", sentence)
    return True


def check_sentences(exam: Exam, ids: Tensor, size: int) -> bool:
    """Repeat a call, change another sentence, and move sentences in the batch."""
    subject, report = exam.subject, exam.report
    output = subject(ids)
    report.attempt(_("two calls after eval()"))
    if subject.is_random(output, ids):
        sentence = _("Two calls after `eval()` differ: dropout, or another random number, is on.")
        report.add("random_eval", sentence)
        return False
    if not_finite(exam, output, lambda: subject(ids)):
        return False
    report.attempt(_("another sentence in the batch"))
    other = ids.clone()
    other[1] = next_id(size)(other[1])
    if subject.differ(output, subject(other))[[0, 2]].any():
        if check_inner_softmax(exam, lambda: subject(ids)):
            return False
        sentence = _("A sentence's logits move when another sentence changes.")
        report.add("cross_batch", sentence)
        return False
    report.attempt(_("another order of the sentences"))
    turned = [2, 0, 1]
    if not subject.same(output[turned], subject(ids[turned])):
        sentence = _(
            "A sentence's logits depend on its place in the batch: positions, or something else, "
            "follow the axis of the batch instead of that of the rows."
        )
        report.add("position_batch", sentence)
        return False
    return True


def check_rows(exam: Exam, ids: Tensor, size: int) -> None:
    """Look at who moves whom, and at what the order of the words does."""
    exam.report.attempt(_("who moves whom"))
    seen = moves(exam.subject, [ids], change=next_id(size))
    keep = torch.ones(N_IDS, N_IDS, dtype=torch.bool)
    if exam.facts.causal is None:
        is_causal = not (seen & ~keep.tril()).any()
        exam.learn(causal=is_causal)
        exam.report.note(
            _("Row i moves with rows 0 … i only: a causal model.")
            if is_causal
            else _(
                "Rows move with later rows, so I take it for an encoder: `causal=True` says that "
                "it has to be causal."
            )
        )
    keep = keep.tril() if exam.facts.causal else keep
    seen = with_faint_moves(exam.subject, [ids], seen, keep, change=next_id(size))
    if exam.facts.window:
        keep = keep.triu((1 - exam.facts.window) * count_layers(exam, ids))
    leaks = (seen & ~keep & ~diagonal(seen)).any()
    if (leaks and mixing_norm(exam, [ids], size)) or norm_of_columns(exam, [ids]):
        return
    if leaks and check_inner_softmax(exam, lambda: exam.subject(ids)):
        return
    judge(exam, seen, keep)
    if exam.facts.positions and not exam.facts.causal:
        exam.report.attempt(_("another order of the words"))
        if exam.subject.same(exam.subject(ids[:, ORDER]), exam.subject(ids)[:, ORDER]):
            sentence = _(
                "Another order of the words changes nothing: every row gets the same position, or "
                "none."
            )
            exam.report.add("order_blind", sentence)


def count_layers(exam: Exam, ids: Tensor) -> int:
    """Return how many layers can widen a window: the attentions that run."""
    events = traced(lambda: exam.subject(ids))
    return max(1, sum(isinstance(event, (Softmax, Fused)) for event in events))
