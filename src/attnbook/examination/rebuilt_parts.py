"""The attention inside a block or a model: its numbers, and how positions join the words."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from attnbook.examination.exam import Exam
from attnbook.examination.layer_input import LayerInput
from attnbook.examination.layer_names import name_mistake, projected, right_layer
from attnbook.examination.projections import readings
from attnbook.examination.trace import recorded
from attnbook.language import _


def name_inside(exam: Exam, run: Callable[[], Any]) -> bool:
    """Rebuild the numbers of the attentions inside, one of each class; name a mistake.

    Whether an attention is causal is not asked for: both are right.
    """
    module, facts = exam.subject.module, exam.facts
    if module is None or facts.scale == "own" or facts.layout != "BLD" or facts.window:
        return False
    inside = list(module.named_modules())[:0:-1]  # of each class, the first is kept
    parts = {type(part): (name, part) for name, part in inside if not isinstance(part, nn.Linear)}
    right = right_layer(exam)
    for name, calls in recorded(module, run, list(parts.values())).items():
        x, y = calls[0]
        part = module.get_submodule(name)
        read = list(readings(part, facts)) if could_be_attention(x, y) else []
        if not read or not read[0].usual:
            continue
        exam.report.attempt(_("the same matrices in an attention of our own"))
        pairs = torch.ones(len(x), x.size(1), x.size(1), dtype=torch.bool)
        inputs = [LayerInput(exam, x, None, keep) for keep in (pairs.tril(), pairs)]
        found = [projected(given, read) for given in inputs]
        each = [(given, p) for given, ps in zip(inputs, found, strict=True) for p in ps]
        if any(right.fits(given, p, y) for given, p in each):
            continue
        where = _("Inside, in `{name}`: ").format(name=name)
        for given, ps in zip(inputs, found, strict=True):
            if name_mistake(given, [p for p in ps if p.reading.usual], right, y, where):
                return True
    return False


def could_be_attention(x: Tensor, y: Tensor) -> bool:
    """Whether rows (B, L, D) became rows."""
    return x.is_floating_point() and x.dim() == y.dim() == 3 and x.shape[:2] == y.shape[:2]


def check_placing(exam: Exam, ids: Tensor) -> None:
    """With all words at 0, a table of positions must still tell the rows apart."""
    module = exam.subject.module
    tables = [m for m in module.modules() if isinstance(m, nn.Embedding)] if module else []
    places, words = tables_of(exam, ids, tables)
    if not places or not words or exam.report.findings:
        return
    exam.report.attempt(_("all words at 0"))
    handles = [
        table.register_forward_hook(lambda _t, _x, y: torch.zeros_like(y)) for table in words
    ]
    try:
        output = exam.subject(ids)
    finally:
        for handle in handles:
            handle.remove()
    if exam.subject.same(output, output[:, :1].expand_as(output)):
        sentence = _(
            "With all words at 0, the positions vanish, too, as if the two were multiplied. Add "
            "them: `x = words + positions`."
        )
        exam.report.add("position_product", sentence)


def tables_of(
    exam: Exam, ids: Tensor, tables: list[nn.Embedding]
) -> tuple[list[nn.Embedding], list[nn.Embedding]]:
    """Return the tables that are given different positions, and those that are given the ids."""
    given: list[tuple[nn.Embedding, Tensor]] = []
    handles = [
        table.register_forward_hook(lambda table, x, _y: given.append((table, x[0])))
        for table in tables
    ]
    try:
        exam.subject(ids)
    finally:
        for handle in handles:
            handle.remove()
    n = ids.size(1)
    places = [t for t, x in given if x.numel() >= n and x.flatten()[:n].diff().eq(1).all()]
    words = [t for t, x in given if x.shape == ids.shape and x.cpu().equal(ids)]
    return [t for t in places if t not in words], words
