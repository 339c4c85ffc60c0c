"""What is examined: called with tensors of our layout, and answered with one tensor."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from attnbook.examination.calling import CannotCall, Way, find_way, pick, shapes_of, ways_to_call
from attnbook.examination.facts import Facts
from attnbook.examination.pace import OutOfTime, Pace
from attnbook.examination.reach import modules_of
from attnbook.language import _

LARGEST_COPY = 64 * 2**20  # numbers in parameters that are still computed in float64
SMALL = 0.02  # a factor of a branch that has not been trained
TOLERANCE = {torch.float64: 1e-5, torch.float32: 1e-4}  # of the largest number


class Subject:
    """A function or a module, with the modules whose parameters it uses.

    Values are passed as (B, L, ...) and come back as (B, L, width), whatever the layout is. The
    first `n_rows` values are rows or ids; one more is a mask.
    """

    def __init__(self, thing: Any, facts: Facts, n_rows: int) -> None:
        self.thing, self.facts, self.n_rows = thing, facts, n_rows
        self.modules = modules_of(thing)
        self.dtype = torch.float32
        self.width: int | None = None  # of the result, where it is known
        self.ways: dict[int, Way] = {}  # by the number of values
        self.pace = Pace()
        self.device = next((p.device for p in self.parameters()), torch.device("cpu"))
        for module in self.modules:
            module.eval()

    @property
    def module(self) -> nn.Module | None:
        """The examined module, or the only one that a function uses."""
        if isinstance(self.thing, nn.Module):
            return self.thing
        return self.modules[0] if len(self.modules) == 1 else None

    def parameters(self) -> list[Tensor]:
        """All parameters, each once."""
        found = (p for module in self.modules for p in module.parameters())
        return list({id(p): p for p in found}.values())

    def __call__(self, *values: Tensor) -> Tensor:
        """Call it and return its result.

        Raises:  CannotCall, OutOfTime
        """
        values = tuple(self.cast(value) for value in values)
        if self.facts.layout == "LD":
            each = [self.answer([value[b] for value in values]) for b in range(len(values[0]))]
            return torch.stack(each)
        if self.facts.layout == "LBD":
            turned = [value.transpose(0, 1) for value in values[: self.n_rows]]
            return self.answer([*turned, *values[self.n_rows :]]).transpose(0, 1)
        if self.facts.layout == "BLHD":
            turned = [value.transpose(1, 2) for value in values[: self.n_rows]]
            return self.answer([*turned, *values[self.n_rows :]]).transpose(1, 2)
        return self.answer(values)

    def answer(self, values: Sequence[Tensor]) -> Tensor:
        """Call it in the way that fits, and pick the result."""
        leading = self.leading(values)
        if len(values) not in self.ways:
            ways = ways_to_call(self.thing, self.n_rows, self.facts.form)
            self.ways[len(values)] = find_way(
                self.thing,
                values,
                ways,
                lambda result: pick(result, leading, self.width) is not None,
            )
        positional, named = self.ways[len(values)](values)
        with self.pace.call():
            returned = self.thing(*positional, **named)
        result = pick(returned, leading, self.width)
        if result is None:
            raise CannotCall(
                _("it returns {returned}, and no rows of shape ({shape}, D)").format(
                    returned=shapes_of(returned), shape=", ".join(map(str, leading))
                )
            )
        return result.cpu()

    def leading(self, values: Sequence[Tensor]) -> tuple[int, ...]:
        """The axes of the result before its width: those of the rows, or of the target's ids."""
        rows = values[0]
        if rows.is_floating_point():
            return (*rows.shape[:-1],)
        return (*values[self.n_rows - 1].shape,)

    def is_random(self, output: Tensor, *values: Tensor) -> bool:
        """Whether other calls with the same input give another output than the first."""
        return not all(self.same(output, self(*values)) for _again in range(3))

    def cast(self, value: Tensor) -> Tensor:
        return value.to(self.device, self.dtype if value.is_floating_point() else value.dtype)

    def use_float32(self) -> torch.dtype | None:
        """Leave another dtype of the parameters; return it if it is one of half precision."""
        dtypes = {p.dtype for p in self.parameters() if p.is_floating_point()}
        if dtypes - {torch.float32}:
            self.convert(torch.float32)
        return next((dtype for dtype in dtypes if dtype.itemsize < 4), None)

    def use_float64(self, *values: Tensor) -> None:
        """Compute in float64 from now on if the code can."""
        tensors = [t for m in self.modules for t in (*m.parameters(), *m.buffers())]
        before = [t.data for t in tensors]
        if sum(t.numel() for t in tensors) > LARGEST_COPY:
            return
        try:
            self.convert(torch.float64)
            self(*values)
        except OutOfTime:
            raise
        except Exception:  # other dtypes are mixed in
            for tensor, data in zip(tensors, before, strict=True):
                tensor.data = data
            self.dtype = torch.float32

    def convert(self, dtype: torch.dtype) -> None:
        """Compute in this dtype from now on."""
        self.dtype = dtype
        for module in self.modules:
            for tensor in (*module.parameters(), *module.buffers()):
                if tensor.is_floating_point():
                    tensor.data = tensor.data.to(dtype)

    def differ(self, a: Tensor, b: Tensor) -> Tensor:
        """Which entries differ by more than rounding."""
        finite = a[a.isfinite()]
        size = finite.abs().max() if finite.numel() else torch.ones(())
        return ((a - b).abs() > self.tolerance() * (size + 1e-12)) | (a.isfinite() != b.isfinite())

    def same(self, a: Tensor, b: Tensor) -> bool:
        """Whether two results are equal but for rounding."""
        if a.numel() and a.shape == b.shape and (size := a.abs().max()).isfinite():
            return bool((a - b).abs().max() <= self.tolerance() * (size + 1e-12))  # quicker
        return not self.differ(a, b).any()

    def tolerance(self) -> float:
        """How large a difference may be rounding, as a part of the largest number."""
        return TOLERANCE.get(self.dtype, 1e-2)


def enlarge_small_weights(subject: Subject) -> None:
    """Scale up what is initialized at or near 0, because it would hide other faults.

    That is matrices, and the factors of a branch, such as 0 or 1e-4 for each column.
    """
    for p in subject.parameters():
        if not p.is_floating_point():
            continue
        is_vector = sum(n > 1 for n in p.shape) < 2
        size = 0.3 if is_vector else p[0].numel() ** -0.5
        if not p.any():
            p.data = torch.randn_like(p) * size if p.numel() > 1 else torch.full_like(p, size)
        elif is_vector and p.abs().max() < SMALL:
            p.data = p.data * (size / p.abs().max())
        elif not is_vector and 0 < p.std() < size:
            p.data = p.data * (size / p.std())
