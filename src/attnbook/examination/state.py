"""Leave everything as it was: parameters, buffers, gradients, modes, hooks, random numbers."""

import contextlib
import copy
import random
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

CONTAINERS = (dict, list, set)  # what a module may fill while it runs
RANDOM_STATES: tuple[tuple[Callable[[], Any], Callable[[Any], None]], ...] = (
    (random.getstate, random.setstate),
    (np.random.get_state, np.random.set_state),
)


@contextlib.contextmanager
def preserved(modules: Sequence[nn.Module]) -> Iterator[None]:
    """Run the block on working copies of the modules' numbers, then restore all that it changed.

    The modules themselves are used, and no copies of them, because a copy may call parts of the
    original: a closure, for example, still refers to it.
    """
    inner = list({id(m): m for module in modules for m in module.modules()}.values())
    attributes = [(module, snapshot(module)) for module in inner]
    numbers = [(t, t.data, t.grad if t.is_leaf else None) for t in distinct_tensors(inner)]
    random_states = [read() for read, _write in RANDOM_STATES]
    dtype, is_grad_enabled = torch.get_default_dtype(), torch.is_grad_enabled()
    devices = {t.device for t, _, _ in numbers if t.is_cuda}
    try:
        for tensor, data, _ in numbers:
            tensor.data = data.clone()
            tensor.grad = None
        with warnings.catch_warnings(), torch.random.fork_rng(list(devices)):
            warnings.simplefilter("ignore")
            torch.manual_seed(0)
            torch.set_grad_enabled(True)
            yield
    finally:
        for tensor, data, gradient in numbers:
            tensor.data = data
            tensor.grad = gradient
        for module, before in attributes:
            restore(module, before)
        for (_read, write), state in zip(RANDOM_STATES, random_states, strict=True):
            write(state)
        torch.set_default_dtype(dtype)
        torch.set_grad_enabled(is_grad_enabled)


def distinct_tensors(modules: Sequence[nn.Module]) -> list[Tensor]:
    """List the parameters and buffers of some modules, each once."""
    own = (
        t
        for module in modules
        for t in (*module.parameters(recurse=False), *module.buffers(recurse=False))
    )
    return list({id(t): t for t in own}.values())


def snapshot(module: nn.Module) -> dict[str, tuple[Any, Any]]:
    """Keep each attribute of a module, and what its containers hold: hooks, buffers, lists."""
    return {
        name: (value, copy.copy(value) if isinstance(value, CONTAINERS) else None)
        for name, value in vars(module).items()
    }


def restore(module: nn.Module, before: dict[str, tuple[Any, Any]]) -> None:
    """Give a module the attributes of a snapshot, and their containers what they held."""
    now = vars(module)
    for name in now.keys() - before.keys():
        del now[name]
    for name, (value, content) in before.items():
        now[name] = value
        if isinstance(value, list):
            value[:] = content
        elif content is not None:
            value.clear()
            value.update(content)
