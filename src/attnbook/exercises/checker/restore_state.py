"""Restore the settings, random states, working folder and functions that a program changed."""

import builtins
import contextlib
import copy
import itertools
import math
import os
import random
import sys
from collections.abc import Callable, Iterable, Iterator, ValuesView
from contextvars import ContextVar
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy import fromiter  # a name of its own, because the block may replace `np.fromiter`
from torch import nn

PRINT_OPTIONS = torch._tensor_str.PRINT_OPTS
PATCHABLE = (torch.Tensor, torch, nn.functional, torch.linalg, nn, math, np, random, builtins)
LAYERS = tuple({x for x in vars(nn).values() if isinstance(x, type) and issubclass(x, nn.Module)})
FOLDERS = ("attention", "positions", "efficient", "models")  # of the library's own functions
LIBRARY = tuple(f"attnbook.{folder}" for folder in FOLDERS)


def set_print_options(options: Any) -> None:
    vars(PRINT_OPTIONS).update(vars(options))


def default_device() -> torch.device | None:
    """Return the device of new tensors, or None for the CPU.

    In PyTorch 2.6, `torch.get_default_device` fails after the device has been set to None.
    """
    current = torch.empty(0).device
    return None if current == torch.device("cpu") else current


def set_default_device(device: torch.device | None) -> None:
    """Set the device of new tensors if it differs, since each call replaces the device context."""
    if device != default_device():
        torch.set_default_device(device)


def working_folder() -> str | None:
    """Return the working folder, or None if it has been deleted."""
    try:
        return os.getcwd()
    except OSError:
        return None


def anomaly_detection() -> tuple[bool, bool]:
    """Return whether backward passes look for nan, and whether they raise an exception for it."""
    return torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()


def set_working_folder(path: str | None) -> None:
    if path and path != working_folder():
        with contextlib.suppress(OSError):  # if the folder has been deleted
            os.chdir(path)


def matmul_precision() -> str | None:
    """Return the precision of products of float32, or None if each backend has its own."""
    try:
        return torch.get_float32_matmul_precision()
    except RuntimeError:
        return None


def set_matmul_precision(precision: str | None) -> None:
    if precision and precision != matmul_precision():
        torch.set_float32_matmul_precision(precision)


def set_num_threads(n: int) -> None:
    if n != torch.get_num_threads():
        torch.set_num_threads(n)


# The settings to restore: for each, a function that reads it and one that writes it.
SETTINGS: tuple[tuple[Callable[[], Any], Callable[[Any], Any]], ...] = (
    (torch.get_default_dtype, torch.set_default_dtype),
    (default_device, set_default_device),
    (torch.is_grad_enabled, torch.set_grad_enabled),
    (torch.get_rng_state, torch.set_rng_state),
    (random.getstate, random.setstate),
    (np.random.get_state, np.random.set_state),
    (lambda: copy.copy(PRINT_OPTIONS), set_print_options),
    (np.get_printoptions, lambda options: np.set_printoptions(**options)),
    (np.geterr, lambda options: np.seterr(**options)),
    (sys.getrecursionlimit, sys.setrecursionlimit),
    (torch.get_num_threads, set_num_threads),
    (working_folder, set_working_folder),
    (torch.get_deterministic_debug_mode, torch.set_deterministic_debug_mode),
    (anomaly_detection, lambda mode: torch.set_anomaly_enabled(*mode)),
    (matmul_precision, set_matmul_precision),
)


class Originals(NamedTuple):
    """What the owners of functions contain before the outermost block of `preserved_state`."""

    owners: list[tuple[Any, dict[str, Any]]]
    values: list[ValuesView[Any]]  # what the owners contain now
    addresses: bytes  # of the values before the block


originals = ContextVar[Originals | None]("originals", default=None)


@contextlib.contextmanager
def preserved_state() -> Iterator[None]:
    """Run the block, then restore all settings and all functions that it may have replaced.

    A block inside another one restores the functions that were there before the outer block. So
    the functions, of which there are many, are listed only once for all calls of an answer.
    """
    settings = [(write, read()) for read, write in SETTINGS]
    before = originals.get() or list_originals()
    token = originals.set(before)
    try:
        yield
    finally:
        originals.reset(token)
        if addresses(before.values) != before.addresses:
            for owner, attributes in before.owners:
                restore_attributes(owner, attributes)
        for write, value in settings:
            write(value)


def list_originals() -> Originals:
    """List what all owners of functions contain."""
    owners = [(x, dict(vars(x))) for x in (*PATCHABLE, *LAYERS, *library())]
    values = [vars(owner).values() for owner, _ in owners]
    return Originals(owners, values, addresses(values))


def addresses(values: Iterable[ValuesView[Any]]) -> bytes:
    """Return the addresses of objects, which differ if one object has been replaced.

    After nearly every answer they are the same, and comparing bytes shows this in little time.
    """
    return fromiter(itertools.chain.from_iterable(values), dtype=object).tobytes()


def library() -> Iterator[Any]:
    """Yield the modules of the library that an answer may use, and the classes in them."""
    for name, module in sys.modules.copy().items():  # a thread may import something
        if name == "attnbook" or name.startswith(LIBRARY):
            yield module
            yield from (
                x for x in vars(module).values() if isinstance(x, type) and x.__module__ == name
            )


def restore_attributes(owner: Any, before: dict[str, Any]) -> None:
    """Restore attributes that were replaced or removed, and delete those added to a class."""
    now = dict(vars(owner))  # a copy, since `vars` reflects each change
    for name, value in now.items():
        if name not in before and isinstance(owner, type):
            delattr(owner, name)  # it may hide an attribute of the parent class
        elif name in before and before[name] is not value:
            setattr(owner, name, before[name])
    for name in before.keys() - now.keys():
        setattr(owner, name, before[name])
