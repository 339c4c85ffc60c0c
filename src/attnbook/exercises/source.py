"""Functions as text: the reference as a reader is shown it, and a reader's own lines."""

import ast
import functools
import inspect
import linecache
import re
import textwrap
import traceback
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from torch import Tensor


def shown(function: Callable[..., Any]) -> str:
    """A function's source without its annotations, whose names no chapter imports."""
    return without_annotations(textwrap.dedent(inspect.getsource(function)).strip())


def without_annotations(code: str) -> str:
    """The same code, otherwise as it was laid out."""
    text = code.encode()  # ast counts bytes
    lines = text.splitlines(keepends=True)

    def place(line: int, column: int) -> int:
        return sum(map(len, lines[: line - 1])) + column

    cuts = []
    for node in ast.walk(ast.parse(code)):
        for mark, field_name in (b":", "annotation"), (b"->", "returns"):
            if found := getattr(node, field_name, None):
                start = text.rindex(mark, 0, place(found.lineno, found.col_offset))
                end = place(found.end_lineno, found.end_col_offset)
                cuts.append((len(text[:start].rstrip()), end))
    for start, end in sorted(cuts, reverse=True):
        text = text[:start] + text[end:]
    return text.decode()


def is_filled_in(stub: str, function: Callable[..., Any]) -> bool:
    """Whether the function says more than the stub, as far as its source can be read."""
    try:
        return statements(inspect.getsource(function)) != statements(stub)
    except (OSError, TypeError, SyntaxError):
        return False


def statements(code: str) -> list[str]:
    """What stands in the body of a function, however it is laid out and commented."""
    function = ast.parse(textwrap.dedent(code)).body[0]
    return [ast.dump(statement) for statement in getattr(function, "body", [])]


def own_line(function: Callable[..., Any], error: BaseException | None) -> str:
    """The reader's own line in which the error arose, and the shapes of what stands in it."""
    code = code_of(function)
    frames = traceback.walk_tb(error.__traceback__ if error else None)
    own = [f for f in frames if code and f[0].f_code.co_filename == code.co_filename]
    if not own:
        return ""
    frame, number = own[-1]
    line = linecache.getline(frame.f_code.co_filename, number).strip()
    names = dict.fromkeys(re.findall(r"(?<![\w.])[^\W\d]\w*", line))
    found = {name: meaning(name, frame) for name in names}
    met = [f"{n} {tuple(x.shape)}" for n, x in found.items() if isinstance(x, Tensor)]
    where = f"\nwhere          {', '.join(met)}" if met else ""
    return line and f"in your line   {line}{where}"


def meaning(name: str, frame: FrameType) -> Any:
    """What a name stands for in a function: a global only if the function has none of its own."""
    code = frame.f_code
    if name in (*code.co_varnames, *code.co_cellvars, *code.co_freevars):
        return frame.f_locals.get(name)
    return frame.f_globals.get(name)


def code_of(function: Callable[..., Any]) -> CodeType | None:
    """The code of a function, a method, a module's forward, or an object that can be called."""
    while isinstance(function, functools.partial):
        function = function.func
    for candidate in (function, getattr(function, "forward", None), type(function).__call__):
        code = getattr(getattr(candidate, "__func__", candidate), "__code__", None)
        if isinstance(code, CodeType):
            return code
    return None


def names_used(function: Callable[..., Any]) -> set[str]:
    """The names that a function calls or reads, and those that its own helpers do."""
    code, known = code_of(function), getattr(function, "__globals__", {})
    found = set() if code else {getattr(function, "__name__", "")}
    waiting, seen = [code] if code else [], set()
    while waiting:
        code = waiting.pop()
        seen.add(code)
        helpers = {
            name: code_of(known[name]) for name in code.co_names if callable(known.get(name))
        }
        own = {n: c for n, c in helpers.items() if c and c.co_filename == code.co_filename}
        found.update(set(code.co_names) - own.keys())
        inner = [c for c in code.co_consts if isinstance(c, CodeType)]
        waiting += [c for c in (*inner, *own.values()) if c not in seen]
    return found
