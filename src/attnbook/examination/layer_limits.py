"""Unusual input to a layer: a sentence of padding only, and large numbers."""

import torch

from attnbook.examination.layer_input import LayerInput
from attnbook.language import _

LARGE = 100


def check_limits(given: LayerInput) -> None:
    """Try unusual input in float32, in which the layer will be used."""
    exam = given.exam
    was_clean = not exam.report.findings
    exam.subject.convert(torch.float32)
    if was_clean and given.masked and exam.facts.form != "LL":
        check_empty_sentence(given)
    exam.report.attempt(_("rows {n} times as large").format(n=LARGE))
    if not exam.subject(*given.arguments(LARGE * given.x)).isfinite().all():
        sentence = _(
            "Rows {n} times as large give nan or inf. Subtract each row's maximum before `exp`, or "
            "use `torch.softmax`."
        )
        exam.report.add("overflow", sentence.format(n=LARGE))


def check_empty_sentence(given: LayerInput) -> None:
    """A sentence whose keys are all hidden must not spoil the gradients of the others."""
    exam = given.exam
    exam.report.attempt(_("a sentence of padding only"))
    keep = given.keep.clone()
    keep[0] = False
    x = given.x.clone().requires_grad_()
    output = exam.subject(*given.arguments(x, keep))
    leaves = [x, *(p for p in exam.subject.parameters() if p.requires_grad)]
    gradients = torch.autograd.grad(output[1:].sum(), leaves, allow_unused=True)
    if not all(g is None or g.isfinite().all() for g in gradients):
        sentence = _(
            "A sentence whose keys are all hidden makes the gradients of the others nan, so one "
            "such sentence ends a training. Give its rows weights of 0 after the softmax."
        )
        exam.report.add("empty_row", sentence)
