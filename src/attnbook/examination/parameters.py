"""Parameters: all are registered, used, and not shared by mistake."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from attnbook.examination.exam import Exam
from attnbook.language import _

MANY = 4  # names in a sentence


def check_parameters(exam: Exam, output: Callable[[], Tensor]) -> None:
    """Look for parameters that no optimizer gets, that are shared, or that no gradient reaches."""
    if not exam.subject.modules:
        return
    exam.report.attempt(_("a gradient for each parameter"))
    for root in exam.subject.modules:
        for name, module in root.named_modules():
            find_unregistered(exam, name, module)
            find_shared(exam, name, module)
    find_unreached(exam, output)


def find_unregistered(exam: Exam, name: str, module: nn.Module) -> None:
    """Find modules in a Python list, tuple or dictionary."""
    for attribute, value in vars(module).items():
        if attribute.startswith("_") or not isinstance(value, (list, tuple, dict)):
            continue
        inside = value.values() if isinstance(value, dict) else value
        has_own = any(isinstance(x, nn.Parameter) for x in inside) or any(
            next(x.parameters(), None) is not None for x in inside if isinstance(x, nn.Module)
        )
        if has_own:
            sentence = _(
                "`{name}` is a Python {type}, so `parameters()` does not list what is in it, and "
                "no optimizer trains it. Use nn.ModuleList or nn.ParameterList."
            )
            full = f"{name}.{attribute}" if name else attribute
            exam.report.add("unregistered", sentence.format(name=full, type=type(value).__name__))


def find_shared(exam: Exam, name: str, module: nn.Module) -> None:
    """Find a list that holds one layer several times."""
    if not isinstance(module, (nn.ModuleList, nn.Sequential)):
        return
    layers = [child for child in module._modules.values() if child is not None]
    layers = [child for child in layers if next(child.parameters(), None) is not None]
    if len({id(child) for child in layers}) < len(layers):
        sentence = _(
            "`{name}` holds the same layer more than once ({n} entries, {different} different): "
            "they share their parameters. Build a new layer for each entry."
        )
        different = len({id(child) for child in layers})
        sentence = sentence.format(name=name or "?", n=len(layers), different=different)
        exam.report.add("shared_layer", sentence)


def find_unreached(exam: Exam, output: Callable[[], Tensor]) -> None:
    """Find trainable parameters without a gradient, or matrices whose gradient is 0."""
    named = [
        (name, p)
        for root in exam.subject.modules
        for name, p in root.named_parameters()
        if p.requires_grad and p.is_floating_point()
    ]
    if not named:
        return
    result = output()
    if not result.requires_grad:
        return
    loss = (result * torch.randn_like(result)).sum()
    gradients = torch.autograd.grad(loss, [p for _name, p in named], allow_unused=True)
    unreached = [
        name
        for (name, p), gradient in zip(named, gradients, strict=True)
        if gradient is None or (p.dim() > 1 and not gradient.any())
    ]
    if unreached:
        sentence = _(
            "No gradient reaches {names}: unused, or cut off from the output. It will stay as it "
            "was initialized."
        )
        names = ", ".join(f"`{name}`" for name in unreached[:MANY])
        names += " …" if len(unreached) > MANY else ""
        exam.report.add("unreached", sentence.format(names=names))
