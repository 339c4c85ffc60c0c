"""Run tests that were written for the CPU on a GPU, with the same numbers.

Everything that a test makes is created on the CPU and then moved: its own tensors, the weights of
its layers, and the masks and encodings that it gets from the library. A tensor that the library
creates while it computes stays where the library puts it, so that one left on the CPU by mistake
is found.
"""

import sys
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves, tree_map

from tests.support import rehearsal

DEVICE = torch.device("cuda")
MAKERS = rehearsal.MAKERS | {"bernoulli", "from_numpy", "multinomial"}
DRAWN = {name for name in rehearsal.RANDOM if name.endswith("_")}
LIBRARY = {"causal_mask", "padding_mask", "sinusoidal_encoding", "rotation_matrix", "life_is_short"}


def to_device(thing: Any) -> Any:
    """Move a CPU tensor or a layer; return anything else unchanged."""
    on_cpu = isinstance(thing, Tensor) and thing.device.type == "cpu"
    return thing.to(DEVICE) if on_cpu or isinstance(thing, nn.Module) else thing


class OnDevice(TorchFunctionMode):
    """Put each new tensor on the GPU, unless the library creates it while it computes."""

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Make a tensor on the CPU, then move it."""
        kwargs = dict(kwargs or {})
        name = getattr(func, "__name__", "")
        if name in DRAWN or getattr(func, "__module__", "") == "torch.nn.init":
            target = args[0] if args else kwargs.pop("tensor")
            drawn = torch.empty(target.shape, dtype=target.dtype, device="cpu")
            func(drawn, *args[1:], **kwargs)
            with torch.no_grad():
                return target.copy_(drawn)
        if name not in MAKERS or kwargs.get("device") is not None or in_library(sys._getframe(1)):
            return func(*args, **kwargs)
        grad = kwargs.pop("requires_grad", False)
        return func(*args, **kwargs).to(DEVICE).detach().requires_grad_(grad)


def in_library(frame: Any) -> bool:
    """Return whether a frame belongs to the library, but not to a layer's `__init__`."""
    return (
        frame.f_globals["__name__"].partition(".")[0] == "attnbook"
        and frame.f_code.co_name != "__init__"
    )


def moved(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function of the library so that its results are moved to the device."""
    return lambda *args, **kwargs: tree_map(to_device, function(*args, **kwargs))


def move_test(test: Any, patch: Any) -> None:
    """Move a test's parameters, and what its module created or imported when it was loaded."""
    for name, thing in list(vars(test.module).items()):
        if name in LIBRARY:
            patch.setattr(test.module, name, moved(thing))
        elif any(isinstance(leaf, Tensor) for leaf in tree_leaves(thing)):
            patch.setattr(test.module, name, tree_map(to_device, thing))
    if hasattr(test, "callspec"):
        for name, parameter in test.callspec.params.items():
            patch.setitem(test.callspec.params, name, tree_map(to_device, parameter))
