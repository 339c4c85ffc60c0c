"""What a piece of code can reach and may change: its modules, tensors, caches, lists."""

import functools
import types
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

from torch import Tensor, nn

CONTAINERS = (dict, list, set, deque)  # what code may fill while it runs
MOST = 100_000  # things that are looked at


def neighbors(function: Any) -> Iterator[Any]:
    """Yield what a function, a method or a partial function refers to by name."""
    if isinstance(function, functools.partial):
        yield from (function.func, *function.args, *function.keywords.values())
    elif isinstance(function, types.MethodType):
        yield from (function.__self__, function.__func__)
    elif isinstance(function, types.FunctionType):
        yield from (cell.cell_contents for cell in function.__closure__ or () if is_full(cell))
        yield from (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())
        named = function.__code__.co_names
        yield from (function.__globals__[n] for n in named if n in function.__globals__)


def is_full(cell: Any) -> bool:
    """Whether a variable of a closure has a value."""
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


def modules_of(thing: Any) -> list[nn.Module]:
    """List the modules that a thing consists of or that its code names."""
    if isinstance(thing, nn.Module):
        return [thing]
    near = list(neighbors(thing)) or list(getattr(thing, "__dict__", {}).values())
    return list({id(m): m for m in near if isinstance(m, nn.Module)}.values())


def reachable(thing: Any) -> Iterator[Any]:
    """Yield the tensors, modules, containers, and objects of the thing's own code, each once."""
    own = {package_of(x) for x in (thing, *modules_of(thing))} - {"torch", "builtins"}
    queue: list[Any] = [thing]
    seen: dict[int, Any] = {}  # it keeps what it names, so that no number is used twice
    while queue and len(seen) < MOST:
        thing = queue.pop()
        if id(thing) in seen:
            continue
        seen[id(thing)] = thing
        inside = contents(thing, own)
        if inside is None:
            continue
        if not isinstance(thing, (tuple, types.FunctionType, types.MethodType, functools.partial)):
            yield thing
        queue += inside


def package_of(thing: Any) -> str:
    """Return the package in which a thing, or its class, is defined."""
    named = thing if isinstance(thing, types.FunctionType) else type(thing)
    return str(named.__module__).partition(".")[0]


def is_own(function: Any, own: set[str]) -> bool:
    """Whether a function is of the thing's own code."""
    return not isinstance(function, types.FunctionType) or package_of(function) in own


def contents(thing: Any, own: set[str]) -> Iterable[Any] | None:
    """Return what a thing holds, or None if it is left alone."""
    if isinstance(thing, Tensor):
        return ()
    if isinstance(thing, dict):
        return thing.values()
    if isinstance(thing, (*CONTAINERS, tuple)):
        return thing
    if isinstance(thing, (types.FunctionType, types.MethodType, functools.partial)):
        return list(neighbors(thing)) if is_own(thing, own) else None
    if isinstance(thing, nn.Module) or (package_of(thing) in own and hasattr(thing, "__dict__")):
        return () if isinstance(thing, type) else vars(thing).values()
    return None
