"""What the decoder does with the encoder's output, called memory by PyTorch."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from attnbook.examination.calling import tensors_in
from attnbook.examination.exam import Exam
from attnbook.language import _

Outputs = dict[str, list[Tensor]]


def exchanged_roles(exam: Exam, source: Tensor, target: Tensor) -> bool:
    """Find a part whose queries come from the source and whose keys come from the target.

    Another last word of the target must move only the last row of a part that the target asks.
    """
    module = exam.subject.module
    if module is None:
        return False
    calls: dict[str, list[tuple[Tensor, Tensor, Tensor]]] = {}

    def listener(name: str) -> Callable[..., None]:
        def listen(part: nn.Module, given: Any, named: dict[str, Any], result: Any) -> None:
            given = [x for x in (*given, *named.values()) if isinstance(x, Tensor) and x.dim() == 3]
            out = next(tensors_in(result), None)
            if len(given) >= 2 and out is not None and out.dim() == 3:
                calls.setdefault(name, []).append(tuple(t.detach() for t in (*given[:2], out)))

        return listen

    handles = [
        part.register_forward_hook(listener(name), with_kwargs=True)
        for name, part in module.named_modules()
        if name
    ]
    other = target.clone()
    other[:, -1] = torch.where(target[:, -1] == 1, 2, 1)
    try:
        exam.subject(source, target)
        exam.subject(source, other)
    finally:
        for handle in handles:
            handle.remove()
    for name, (before, after) in ((n, found) for n, found in calls.items() if len(found) == 2):
        if any(other.startswith(f"{name}.") for other in calls):
            continue  # a whole decoder, for example, whose parts are looked at
        if asked_by_source(exam, before, after):
            sentence = _(
                "`{name}` gets queries from the source and keys from the target: exchange them. "
                "The target asks, and the source is asked."
            )
            exam.report.add("cross_roles", sentence.format(name=name))
            return True
    return False


def asked_by_source(exam: Exam, before: tuple[Tensor, ...], after: tuple[Tensor, ...]) -> bool:
    """Whether the first rows stay, only the last of the second move, and all outputs move."""
    same = exam.subject.same
    (q, k, out), (other_q, other_k, other_out) = before, after
    if not same(q, other_q) or same(k, other_k) or not same(k[:, :-1], other_k[:, :-1]):
        return False
    return out.size(1) == q.size(1) > 1 and bool(exam.subject.differ(out, other_out).any(-1).all())


def check_memory(exam: Exam, source: Tensor, target: Tensor) -> None:
    """Every target row may see the whole source, and no triangle of it."""
    seen = memory_map(exam, source, target)
    if seen is None:
        return
    exam.report.attempt(_("which source rows each target row sees"))
    if not seen.triu(1).any() and seen.tril(-1).any():
        sentence = _(
            "Target row i sees only the source's rows 0 … i: the target's causal mask is used in "
            "the cross-attention. Only the source's padding is hidden there."
        )
        exam.report.add("cross_causal", sentence)


def memory_map(exam: Exam, source: Tensor, target: Tensor) -> Tensor | None:
    """Return which target row moves when a row of the encoder's output changes.

    The encoder's output is that of the largest part that ignores the target.

    Shapes:  (Lt, Ls), boolean; None if no such part is found
    """
    module = exam.subject.module
    if module is None:
        return None
    outputs = outputs_of_parts(module, exam, source, target)
    same = exam.subject.same
    encoders = [
        name
        for name, (first, other_target, other_source) in outputs.items()
        if first.dim() == 3
        and first.size(1) == source.size(1)
        and same(first, other_target)
        and not same(first, other_source)
    ]
    if not encoders:
        return None
    order = list(outputs)

    def rank(name: str) -> tuple[int, int]:
        part = module.get_submodule(name)
        return sum(p.numel() for p in part.parameters()), -order.index(name)

    encoder = last_equal(max(encoders, key=rank), encoders, order)
    before, columns = exam.subject(source, target), []
    for j in range(source.size(1)):
        noise = torch.zeros_like(outputs[encoder][0])
        noise[:, j] = torch.randn_like(noise[:, j])
        handle = module.get_submodule(encoder).register_forward_hook(adding(noise))
        try:
            columns.append(exam.subject.differ(before, exam.subject(source, target))[0].any(-1))
        finally:
            handle.remove()
    return torch.stack(columns, 1)


def last_equal(best: str, encoders: list[str], order: list[str]) -> str:
    """Of several layers of an encoder, take the last, after which rows stay apart."""
    stem = best.rpartition(".")[0]
    alike = [n for n in encoders if n.rpartition(".")[0] == stem and n.rpartition(".")[2].isdigit()]
    return max(alike, key=order.index) if best in alike else best


def adding(noise: Tensor) -> Callable[..., Any]:
    def hook(part: nn.Module, given: Any, result: Any) -> Any:
        if isinstance(result, Tensor):
            return result + noise
        if isinstance(result, tuple):
            return (result[0] + noise, *result[1:])
        return result

    return hook


def outputs_of_parts(module: nn.Module, exam: Exam, source: Tensor, target: Tensor) -> Outputs:
    """Return what each part gives in three runs, the others with another target and source."""
    outputs: Outputs = {}

    def listener(name: str) -> Callable[..., None]:
        def listen(part: nn.Module, given: Any, result: Any) -> None:
            rows = result if isinstance(result, Tensor) else next(tensors_in(result), None)
            if rows is not None and isinstance(result, (Tensor, tuple)):
                outputs.setdefault(name, []).append(rows.detach())

        return listen

    handles = [
        part.register_forward_hook(listener(name)) for name, part in module.named_modules() if name
    ]
    try:
        exam.subject(source, target)
        exam.subject(source, target.flip(0))
        exam.subject(source.flip(0), target)
    finally:
        for handle in handles:
            handle.remove()
    return {name: found for name, found in outputs.items() if len(found) == 3}
