"""A layer: rows in, rows out; a cross-attention layer takes a second sequence."""

import torch
from torch import Tensor

from attnbook.examination.blocks import check_residual, check_unused
from attnbook.examination.contexts import context_ignored, queries_meet
from attnbook.examination.exam import Exam
from attnbook.examination.layer_input import LayerInput, draw_layer
from attnbook.examination.layer_limits import check_limits
from attnbook.examination.layer_names import name_layer
from attnbook.examination.norms import mixing_norm, norm_of_columns
from attnbook.examination.not_finite import not_finite
from attnbook.examination.order import check_blindness, check_order, check_single_row
from attnbook.examination.parameters import check_parameters
from attnbook.examination.rebuilt_parts import name_inside
from attnbook.examination.roles import check_roles, check_rotations
from attnbook.examination.rows import diagonal, judge, moves, with_faint_moves
from attnbook.examination.subject import enlarge_small_weights
from attnbook.examination.traced_scores import check_inner_scales, check_inner_softmax
from attnbook.language import _


def examine_layer(exam: Exam) -> None:
    """Examine a layer of self-attention, or a block that contains one."""
    run(exam, crossed=False)


def examine_cross(exam: Exam) -> None:
    """Examine a layer of cross-attention."""
    run(exam, crossed=True)


def run(exam: Exam, *, crossed: bool) -> None:
    """Run the experiments, up to the first that finds what makes the others meaningless."""
    enlarge_small_weights(exam.subject)
    given = draw_layer(exam, crossed=crossed)
    exam.subject.use_float64(*given.arguments())
    output = exam.subject(*given.arguments())
    exam.report.note(
        _("I see a layer: rows (B, L, {width}) to rows (B, L, {after}).").format(
            width=given.x.size(-1), after=output.size(-1)
        )
    )
    if is_random(given, output):
        return
    if not_finite(exam, output, lambda: exam.subject(*given.arguments()), given.keep):
        return
    if sentences_meet(given, output) or depends_on_batch(given, output):
        return
    check_parameters(exam, lambda: exam.subject(*given.arguments()))
    if crossed and (context_ignored(given, output) or queries_meet(given, output)):
        return
    given = look(given, crossed)
    if exam.facts.block and not exam.report.findings:
        check_residual(given)
    check_limits(given)


def look(given: LayerInput, crossed: bool) -> LayerInput:
    """Find out who moves whom, and name what is not as it should be."""
    exam = given.exam
    exam.report.attempt(_("who moves whom"))
    which = int(crossed)
    seen = moves(exam.subject, given.arguments(), which)
    earlier = given.keep[0] if crossed else given.keep[0].tril()
    seen = with_faint_moves(exam.subject, given.arguments(), seen, earlier, which)
    given = understand_causal(given, seen, crossed)
    seen = with_faint_moves(exam.subject, given.arguments(), seen, given.keep[0], which)
    leaks = (
        (seen & ~given.keep[0]).any()
        if crossed
        else (seen & ~given.keep[0] & ~diagonal(seen)).any()
    )
    n_before = len(exam.report.findings)
    if exam.facts.block and not (seen & ~diagonal(seen)).any() and check_unused(given):
        return given
    if leaks and not crossed and mixing_norm(exam, given.arguments()):
        return given
    if norm_of_columns(exam, given.arguments()):
        return given

    def run_once() -> Tensor:
        return exam.subject(*given.arguments())

    is_unexplained = name_layer(given, run_once())
    if not crossed and len(exam.report.findings) == n_before:
        name_inside(exam, run_once)
    if len(exam.report.findings) == n_before:
        check_inner_softmax(exam, run_once)
    if len(exam.report.findings) > n_before:
        return given
    if not crossed and not leaks and exam.facts.layout == "BLD":
        a, b = (given.x[:, i : i + 1].expand_as(given.x).contiguous() for i in range(2))
        if check_rotations(exam, lambda x: exam.subject(*given.arguments(x)), a, b):
            return given
    if not crossed and check_order(given, leaks=bool(leaks)):
        return given
    if not crossed and check_blindness(given, seen):
        return given
    blank = blanked(given, seen)[:, None]
    judge(exam, torch.where(blank, given.keep[0], seen), given.keep[0], own=not crossed)
    if len(exam.report.findings) == n_before and not check_roles(exam, run_once):
        check_inner_scales(exam, run_once)
        check_single_row(given)
    if is_unexplained and len(exam.report.findings) == n_before:
        exam.report.note(
            _(
                "I found its matrices, but attention with them gives other numbers. Rotary "
                "positions, norms, biases, gates or sinks would explain that, and so would a fault "
                "that I do not know."
            )
        )
    return given


def understand_causal(given: LayerInput, seen: Tensor, crossed: bool) -> LayerInput:
    """If it was not said whether the layer is causal, take what is seen for what is meant."""
    exam = given.exam
    if exam.facts.causal is not None:
        return given
    keep = given.keep
    earlier, blank = keep[0].tril() | diagonal(seen), blanked(given, seen)
    like_earlier = ((seen | diagonal(seen)) == earlier)[~blank]
    if not crossed and like_earlier.all() and len(seen) > 1:
        exam.learn(causal=True)
        exam.report.note(
            _(
                "Row i moves with rows 0 … i only. I take it that the layer is meant to be causal: "
                "`causal=False` says otherwise."
            )
        )
        return LayerInput(exam, given.x, given.context, keep.tril())
    exam.learn(causal=False)
    if not crossed and exam.facts.mask is None:
        exam.report.note(
            _("I take it that every row may see every row: `causal=True` says otherwise.")
        )
    return LayerInput(exam, given.x, given.context, keep)


def blanked(given: LayerInput, seen: Tensor) -> Tensor:
    """Return which rows are padding whose output is set to 0: (L,), boolean. They see nothing."""
    if given.context is not None or not given.masked or given.exam.facts.form != "BL":
        return torch.zeros(len(seen), dtype=torch.bool)
    return ~given.keep[0, -1] & ~(seen & ~diagonal(seen)).any(1)


def is_random(given: LayerInput, output: Tensor) -> bool:
    """After `eval()`, two calls with the same input have to agree."""
    exam = given.exam
    exam.report.attempt(_("two calls after eval()"))
    if not exam.subject.is_random(output, *given.arguments()):
        return False
    sentence = _(
        "Two calls after `eval()` differ: dropout, or another random number, is still on. "
        "`F.dropout` and `F.scaled_dot_product_attention` do not know about `eval()`: pass "
        "`self.training`, or `dropout_p=self.p if self.training else 0.0`."
    )
    exam.report.add("random_eval", sentence)
    return True


def sentences_meet(given: LayerInput, output: Tensor) -> bool:
    """Another sentence must not change a sentence's output."""
    exam = given.exam
    exam.report.attempt(_("another sentence in the batch"))
    other = given.x.clone()
    other[1] = torch.randn_like(other[1])
    mixed = exam.subject.differ(output, exam.subject(*given.arguments(other)))
    if not mixed[[0, 2]].any():
        return False
    if check_inner_softmax(exam, lambda: exam.subject(*given.arguments())):
        return True
    inside = moves(exam.subject, given.arguments(rows=slice(1)))
    sentence = _("Sentence 0's output moves when sentence 1 changes: sentences see each other.")
    if given.context is None and not (inside & ~diagonal(inside)).any():
        sentence += " " + _(
            "Its own rows do not: the axes of batch and rows are exchanged. If the layer has "
            "`batch_first`, set it to True."
        )
    exam.report.add("cross_batch", sentence)
    return True


def depends_on_batch(given: LayerInput, output: Tensor) -> bool:
    """Alone, a sentence has to get the same output as in a batch."""
    exam = given.exam
    exam.report.attempt(_("a sentence alone"))
    alone = exam.subject(*given.arguments(rows=slice(1)))
    if exam.subject.same(output[:1], alone):
        return False
    if given.masked:
        sentence = _(
            "In a batch, sentence 0 gets another output than alone: at least in some heads, it is "
            "masked with another sentence's mask. The order of batch and heads has to be the same "
            "in the mask as in the scores."
        )
        exam.report.add("mask_batch", sentence)
    else:
        sentence = _(
            "In a batch, sentence 0 gets another output than alone: something, such as the "
            "positions, follows the axis of the batch."
        )
        exam.report.add("position_batch", sentence)
    return True
