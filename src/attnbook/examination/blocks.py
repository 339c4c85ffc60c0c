"""A block's residual connections: with all matrices at 0, the input must come through."""

from collections.abc import Callable, Iterator
from functools import partial

import torch
from torch import Tensor, nn

from attnbook.examination.layer_input import LayerInput
from attnbook.examination.norms import is_norm
from attnbook.examination.trace import recorded
from attnbook.language import _


def check_residual(given: LayerInput) -> None:
    """Set all matrices to 0, and then all but those of one part."""
    exam, module = given.exam, given.exam.subject.module
    if module is None:
        return
    exam.report.attempt(_("a block with all matrices at 0"))
    parts = mixing_parts(given, module)
    kept = [(name, p, p.data) for name, p in weights_of(module)]

    def output_with(part: str, x: Tensor | None = None) -> Tensor:
        for name, p, data in kept:
            p.data = data if part and name.startswith(f"{part}.") else torch.zeros_like(data)
        return exam.subject(*given.arguments(x))

    try:
        other = torch.randn_like(given.x)
        nothing, still = output_with(""), output_with("", other)
        step = (given.x - other).to(nothing)
        if exam.subject.same(nothing, still):
            exam.report.add("residual", lost_sentence())
        elif exam.facts.block == "pre" and not exam.subject.same(nothing - still, step):
            exam.report.add("residual", changed_sentence())
        elif exam.facts.block == "post" and exam.subject.same(nothing - still, step):
            exam.report.add("residual", not_normalized_sentence())
        else:
            for part in parts:
                check_part(given, module, part, partial(output_with, part))
    finally:
        for _name, p, data in kept:
            p.data = data


def check_part(
    given: LayerInput, module: nn.Module, part: str, output_with: Callable[[Tensor], Tensor]
) -> None:
    """With all matrices at 0 but those of one part, look at what becomes of its result."""
    exam, other = given.exam, given.x.clone()
    other[:, 0] += torch.randn_like(other[:, 0])
    outputs: list[Tensor] = []

    def run() -> None:
        outputs.extend(output_with(x) for x in (given.x, other))

    calls = recorded(module, run, [(part, module.get_submodule(part))])[part]
    if exam.subject.same(outputs[0][:, -1], outputs[1][:, -1]):
        exam.report.add("residual", unused_sentence().format(part=part))
    elif exam.facts.block == "pre" and len(calls) == 2:
        (_x, one), (_other_x, two) = calls
        moved, result = outputs[0] - outputs[1], (one - two).to(outputs[0])
        if exam.subject.same(moved, (given.x - other).to(result) - result):
            exam.report.add("residual", subtracted_sentence().format(part=part))


def check_unused(given: LayerInput) -> bool:
    """If no row sees another, find a part in which rows see one another."""
    module = given.exam.subject.module
    parts = mixing_parts(given, module) if module is not None else []
    for part in parts[:1]:
        given.exam.report.add("residual", unused_sentence().format(part=part))
    return bool(parts)


def lost_sentence() -> str:
    return _(
        "With all matrices at 0, nothing of the input is left: a residual connection is missing. "
        "Write `x = x + self.attention(...)`."
    )


def changed_sentence() -> str:
    return _(
        "With all matrices at 0, the output is not the input. In a pre-norm block the residual "
        "path carries x itself, neither normalized nor doubled: `x = x + f(self.norm(x))`."
    )


def not_normalized_sentence() -> str:
    return _(
        "With all matrices at 0, the output is the input, and a post-norm block normalizes it: "
        '`x = self.norm(x + f(x))`. If it is a pre-norm block, say `block="pre"`.'
    )


def unused_sentence() -> str:
    return _("What `{part}` computes is not added to the residual path.")


def subtracted_sentence() -> str:
    return _(
        "What `{part}` computes is subtracted from the residual path. Write "
        "`x = x + self.{part}(...)`."
    )


def weights_of(module: nn.Module) -> Iterator[tuple[str, nn.Parameter]]:
    """Yield the matrices and the biases, but not the numbers of norms."""
    for name, p in module.named_parameters():
        owner = module.get_submodule(name.rpartition(".")[0])
        if p.dim() > 1 or (name.endswith("bias") and not is_norm(type(owner).__name__)):
            yield name, p


def mixing_parts(given: LayerInput, module: nn.Module) -> list[str]:
    """Name the direct parts in which the last row sees the first: those with attention."""
    exam = given.exam
    other = given.x.clone()
    other[:, 0] += torch.randn_like(other[:, 0])

    def run() -> None:
        exam.subject(*given.arguments())
        exam.subject(*given.arguments(other))

    found = []
    for name, calls in recorded(module, run, list(module.named_children())).items():
        if len(calls) != 2 or calls[0][0].shape[:2] != given.x.shape[:2]:
            continue
        (x, y), (other_x, other_y) = calls
        stays = y.shape[:2] == x.shape[:2] and exam.subject.same(x[:, -1], other_x[:, -1])
        if stays and not exam.subject.same(y[:, -1], other_y[:, -1]):
            found.append(name)
    return found
