"""Cross-attention: the context counts, and queries do not see one another."""

from dataclasses import replace

import torch
from torch import Tensor, nn

from attnbook.examination.layer_input import LayerInput
from attnbook.examination.layer_names import name_layer
from attnbook.examination.rows import noisy
from attnbook.examination.trace import Fused, Softmax, traced
from attnbook.language import _


def context_ignored(given: LayerInput, output: Tensor) -> bool:
    """In cross-attention, another context gives another output."""
    exam = given.exam
    exam.report.attempt(_("another context"))
    assert given.context is not None
    other = replace(given, context=torch.randn_like(given.context))
    if not exam.subject.same(output, exam.subject(*other.arguments())):
        return False
    sentence = _(
        "Another context changes nothing: the keys and the values do not come from it. Write "
        "`self.k(context)` and `self.v(context)`."
    )
    exam.report.add("source_ignored", sentence)
    return True


def queries_meet(given: LayerInput, output: Tensor) -> bool:
    """In cross-attention, queries do not see each other: when one changes, the others stay.

    If all rows of the context are equal, each output is the same average of equal values, whatever
    the query is, unless weights do not sum to 1.
    """
    exam = given.exam
    if exam.facts.block or has_self_attention(given):
        return False
    exam.report.attempt(_("another first query"))
    other_x = given.x.clone()
    other_x[:, 0] = noisy(other_x[:, 0])
    moved = exam.subject(*given.arguments(other_x))
    if exam.subject.same(moved[:, 1:], output[:, 1:]):
        return False
    name_layer(given, output)
    if exam.report.findings:
        return True
    assert given.context is not None
    equal = replace(given, context=given.context[:, :1].expand_as(given.context).contiguous())
    before = exam.subject(*equal.arguments())
    if exam.subject.same(before, exam.subject(*equal.arguments(torch.randn_like(given.x)))):
        sentence = _(
            "When the first query changes, the outputs of others move, although weights sum to 1: "
            "rows are mixed, as by `view` or `reshape` without `transpose`. With heads as "
            "(B, H, L, d), join them by `y.transpose(1, 2).reshape(B, L, H * d)`."
        )
        exam.report.add("heads", sentence)
        return True
    sentence = _(
        "When the first query changes, the outputs of others move. Queries are independent of one "
        "another, unless the softmax runs over them: it has to run over the keys, the last axis of "
        "(Lq, Lk)."
    )
    exam.report.add("softmax_axis", sentence)
    return True


def has_self_attention(given: LayerInput) -> bool:
    """Whether the queries' own rows are keys, too, as in a decoder's layer."""
    assert given.context is not None
    module, n = given.exam.subject.module, given.x.size(1)
    own = {(n, n), (n, n + given.context.size(1))}
    inside = module.modules() if module is not None else ()
    if sum(isinstance(part, nn.MultiheadAttention) for part in inside) > 1:
        return True
    events = traced(lambda: given.exam.subject(*given.arguments()))
    return any(
        (*(event.seen if isinstance(event, Fused) else event.scores).shape[-2:],) in own
        for event in events
        if isinstance(event, (Fused, Softmax))
    )
