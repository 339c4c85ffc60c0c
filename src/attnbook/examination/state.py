"""Leave everything as it was: numbers, gradients, modes, hooks, caches, random states, settings."""

import contextlib
import random
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor

from attnbook.examination.reach import CONTAINERS, reachable

# The settings to restore: for each, a function that reads it and one that writes it.
SETTINGS: tuple[tuple[Callable[[], Any], Callable[[Any], Any]], ...] = (
    (random.getstate, random.setstate),
    (np.random.get_state, np.random.set_state),
    (torch.get_default_dtype, torch.set_default_dtype),
    (torch.is_grad_enabled, torch.set_grad_enabled),
)


@contextlib.contextmanager
def preserved(thing: Any) -> Iterator[None]:
    """Run the block on working copies of the thing's numbers, then restore all that it changed.

    The thing itself is used, and no copy of it, because a copy may call parts of the original: a
    closure, for example, still refers to it.
    """
    with torch.inference_mode(False):
        found = list(reachable(thing))
        numbers = [Numbers(x) for x in found if isinstance(x, Tensor) and not x.is_inference()]
        owners = [Owner(x) for x in found if not isinstance(x, Tensor)]
        settings = [(write, read()) for read, write in SETTINGS]
        devices = {n.tensor.device for n in numbers if n.tensor.is_cuda}
        try:
            for each in numbers:
                each.use_copy()
            with (
                warnings.catch_warnings(),
                torch.random.fork_rng(list(devices)),
                torch.autocast("cuda" if devices else "cpu", enabled=False),
                eager(),
            ):
                warnings.simplefilter("ignore")
                torch.manual_seed(0)
                torch.set_grad_enabled(True)
                yield
        finally:
            for each in numbers:
                each.restore()
            for owner in owners:
                owner.restore()
            for write, value in settings:
                write(value)


def eager() -> contextlib.AbstractContextManager[Any]:
    """Run parts that `torch.compile` has wrapped as they were written."""
    if "torch._dynamo" not in sys.modules:  # nothing is compiled, and importing it takes seconds
        return contextlib.nullcontext()
    return torch.compiler.set_stance("force_eager")


class Numbers:
    """A tensor's numbers, its gradient, and whether it gets one."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor, self.data = tensor, tensor.data
        self.requires_grad = tensor.requires_grad
        self.gradient = tensor.grad if tensor.is_leaf else None

    def use_copy(self) -> None:
        """Let the tensor have a copy of its numbers."""
        self.tensor.data = self.data.clone()
        if self.tensor.is_leaf:
            self.tensor.grad = None

    def restore(self) -> None:
        """Give the tensor its numbers back."""
        self.tensor.data = self.data
        if self.tensor.is_leaf:
            self.tensor.requires_grad_(self.requires_grad)
            self.tensor.grad = self.gradient


class Owner:
    """What a module, an object or a container holds: attributes, items, hooks."""

    def __init__(self, thing: Any) -> None:
        self.thing = thing
        self.content: Any = self.holder()
        kind = next(kind for kind in CONTAINERS if isinstance(self.content, kind))
        self.content = kind(self.content)

    def holder(self) -> Any:
        return self.thing if isinstance(self.thing, CONTAINERS) else vars(self.thing)

    def restore(self) -> None:
        """Let it hold what it held. What is as it was is not touched."""
        holder = self.holder()
        if is_same(holder, self.content):
            return
        holder.clear()
        if isinstance(holder, (dict, set)):
            holder.update(self.content)
        else:
            holder.extend(self.content)


def is_same(a: Any, b: Any) -> bool:
    """Whether two containers hold the same objects in the same order."""
    if len(a) != len(b):
        return False
    if isinstance(a, dict):
        pairs = zip(a.items(), b.items(), strict=True)
        return all(k == m and x is y for (k, x), (m, y) in pairs)
    return a == b if isinstance(a, set) else all(map(lambda x, y: x is y, a, b))
