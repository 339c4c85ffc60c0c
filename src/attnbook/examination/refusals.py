"""What cannot be examined, and why."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from attnbook.examination.kinds import required_names
from attnbook.examination.reach import modules_of
from attnbook.language import _

LARGEST = 2**30  # numbers in parameters


def reason_to_refuse(thing: Any) -> str:
    """Say why a thing cannot be examined, or return ""."""
    if isinstance(thing, type):
        arguments = ", ".join(required_names(thing)) or "..."
        message = _("{name} is a class: pass an object, {name}({arguments}).")
        return message.format(name=thing.__name__, arguments=arguments)
    if not callable(thing):
        message = _("{type} cannot be called: pass a function or a module.")
        return message.format(type=type(thing).__name__)
    for root in modules_of(thing):
        if reason := reason_of_module(root):
            return reason
    return ""


def reason_of_module(root: nn.Module) -> str:
    """Say why a module cannot be examined, or return ""."""
    if any(isinstance(m, torch.jit.ScriptModule) for m in root.modules()):
        return _("A scripted or traced module has no hooks: pass the module that it was made from.")
    tensors = [*root.parameters(), *root.buffers()]
    if any(is_lazy(t) for t in tensors):
        return _("Some of its parameters have no shape yet: call it once on an example first.")
    if any(t.is_meta for t in tensors):
        return _("Its parameters are on the meta device, so they have no numbers.")
    if is_quantized(root):
        return _("It is quantized: examine the module from which it was made.")
    if any(is_sharded(t) for t in tensors):
        return _("Its parameters are sharded: examine a small copy in one process.")
    if sum(t.numel() for t in tensors) > LARGEST:
        return _("It has more than a billion parameters: examine a small copy.")
    return ""


def is_quantized(root: nn.Module) -> bool:
    """Whether numbers of the module are stored as integers: by PyTorch or by another library."""
    if any("quantized" in type(m).__module__ for m in root.modules()):
        return True
    if any(t.is_quantized for t in (*root.parameters(), *root.buffers())):
        return True
    return any(not (p.is_floating_point() or p.is_complex()) for p in root.parameters())


def is_sharded(tensor: Tensor) -> bool:
    """Whether a tensor is a part of one that is kept by several processes."""
    return any(kind.__module__.startswith("torch.distributed") for kind in type(tensor).__mro__)


def unwrapped(thing: Any) -> Any:
    """Return what `torch.compile` or `DataParallel` wraps."""
    if original := getattr(thing, "_torchdynamo_orig_callable", None):
        return original  # a compiled function
    if type(thing).__name__ == "OptimizedModule":
        return thing._orig_mod
    if type(thing).__name__ in ("DataParallel", "DistributedDataParallel"):
        return thing.module
    return thing
