"""A block's residual connections: with all matrices at 0, the input must come through."""

from collections.abc import Iterator

import torch
from torch import Tensor, nn

from attnbook.examination.layer_input import LayerInput
from attnbook.examination.norms import is_norm, recorded
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
        nothing = output_with("")
        if exam.subject.same(nothing, output_with("", torch.randn_like(given.x))):
            exam.report.add("residual", lost_sentence())
        elif exam.facts.block == "pre" and not exam.subject.same(nothing, given.x.to(nothing)):
            exam.report.add("residual", changed_sentence())
        else:
            for part in parts:
                other = given.x.clone()
                other[:, 0] += torch.randn_like(other[:, 0])
                if exam.subject.same(output_with(part)[:, -1], output_with(part, other)[:, -1]):
                    exam.report.add("residual", unused_sentence().format(part=part))
    finally:
        for _name, p, data in kept:
            p.data = data


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


def unused_sentence() -> str:
    return _("What `{part}` computes is not added to the residual path.")


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
