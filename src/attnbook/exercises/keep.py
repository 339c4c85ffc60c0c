"""Put back what a program may have changed: settings, random states, functions of PyTorch."""

import builtins
import contextlib
import copy
import math
import operator
import random
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch import nn

PRINTING = torch._tensor_str.PRINT_OPTS
PATCHABLE = (torch.Tensor, torch, nn.functional, torch.linalg, nn, math, np, random, builtins)


def set_printing(options: Any) -> None:
    vars(PRINTING).update(vars(options))


def default_device() -> torch.device | None:
    found = torch.empty(0).device  # PyTorch 2.6 cannot tell by its own function once None was set
    return None if found == torch.device("cpu") else found


def set_device(device: torch.device | None) -> None:
    if device != default_device():  # to set it enters and leaves a context
        torch.set_default_device(device)


# What is put back, as pairs of who reads it and who writes it.
SETTINGS: tuple[tuple[Callable[[], Any], Callable[[Any], Any]], ...] = (
    (torch.get_default_dtype, torch.set_default_dtype),
    (default_device, set_device),
    (torch.is_grad_enabled, torch.set_grad_enabled),
    (torch.get_rng_state, torch.set_rng_state),
    (random.getstate, random.setstate),
    (np.random.get_state, np.random.set_state),
    (lambda: copy.copy(PRINTING), set_printing),
    (np.get_printoptions, lambda options: np.set_printoptions(**options)),
    (np.geterr, lambda options: np.seterr(**options)),
    (sys.getrecursionlimit, sys.setrecursionlimit),
)


@contextlib.contextmanager
def kept() -> Iterator[None]:
    """Run something, and leave no trace of it."""
    settings = [(write, read()) for read, write in SETTINGS]
    functions = [(owner, dict(vars(owner))) for owner in PATCHABLE]
    try:
        yield
    finally:
        for owner, before in functions:
            put_back(owner, before)
        for write, value in settings:
            write(value)


def put_back(owner: Any, before: dict[str, Any]) -> None:
    """Give a module or class the functions back that were replaced."""
    now = dict(vars(owner))
    if len(now) == len(before) and all(map(operator.is_, now.values(), before.values())):
        return
    for name, value in now.items():
        if name not in before and isinstance(owner, type):
            delattr(owner, name)  # it hid a function of the class above
        elif name in before and before[name] is not value:
            setattr(owner, name, before[name])
    for name in before.keys() - now.keys():
        setattr(owner, name, before[name])
