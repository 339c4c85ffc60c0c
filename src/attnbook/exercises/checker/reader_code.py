"""What the reader's own code says: its failing line, the names it uses, whether it is filled in."""

import ast
import builtins
import difflib
import functools
import inspect
import linecache
import textwrap
import traceback
from collections.abc import Callable
from types import CodeType
from typing import Any

from attnbook import corpus, public
from attnbook.examination.crashes import shapes_in_line
from attnbook.exercises import kernel
from attnbook.exercises.cards.feedback import labeled
from attnbook.language import _

USUAL_IMPORTS = {
    "F": "import torch.nn.functional as F",
    "itertools": "import itertools",
    "math": "import math",
    "nn": "from torch import nn",
    "np": "import numpy as np",
    "torch": "import torch",
}


def is_filled_in(stub: str, function: Callable[..., Any]) -> bool:
    """Return whether the function's body can be read and differs from the stub's."""
    try:
        return body_statements(inspect.getsource(function)) != body_statements(stub)
    except (OSError, TypeError, SyntaxError):
        return False


def body_statements(code: str) -> list[str]:
    """Return the statements of a function's body in a form without layout or comments."""
    function = ast.parse(textwrap.dedent(code)).body[0]
    return [ast.dump(statement) for statement in getattr(function, "body", [])]


def failing_line(function: Callable[..., Any], error: BaseException | None) -> str:
    """Return the traceback's last line in the reader's file, and the shapes in that line.

    The result is "" if there is no error, or if none of its frames is in the function's file.
    """
    code = code_of(function)
    frames = traceback.walk_tb(error.__traceback__ if error else None)
    own_frames = [f for f in frames if code and f[0].f_code.co_filename == code.co_filename]
    if not own_frames:
        return ""
    frame, number = own_frames[-1]
    line = linecache.getline(frame.f_code.co_filename, number).strip()
    lines = [labeled(_("in your line"), line, column=15)]
    if shapes := shapes_in_line(line, frame):
        lines.append(labeled(_("where"), shapes, column=15))
    return line and "\n".join(lines)


def import_of(error: BaseException) -> str:
    """Return the line that imports a missing name, or "" if it is not a known one."""
    name = (error.name if isinstance(error, NameError) else "") or ""
    if name in public.__all__:
        return f"from attnbook import {name}"
    if name.isupper() and name in corpus.__all__:  # such as PAD
        return f"from attnbook.corpus import {name}"
    return USUAL_IMPORTS.get(name, "")


def similar_name(error: BaseException) -> str:
    """Return the name that was probably meant where a NameError was raised, or ""."""
    frames = [frame for frame, line in traceback.walk_tb(error.__traceback__)]
    if not isinstance(error, NameError) or not error.name or not frames:
        return ""
    names = {*frames[-1].f_locals, *frames[-1].f_globals, *dir(builtins)}
    return next(iter(difflib.get_close_matches(error.name, names, n=1)), "")


def missing_name(error: BaseException) -> str:
    """Say where a missing name is defined, or which name was probably meant, or return ""."""
    if cell := kernel.cell_to_run(error):
        return cell
    if line := import_of(error):
        return _("Import it: `{line}`.").format(line=line)
    meant = similar_name(error)
    return meant and _("Did you mean `{name}`?").format(name=meant)


def code_of(function: Callable[..., Any]) -> CodeType | None:
    """Return the code object of a function, method, module's forward, or callable object."""
    while isinstance(function, functools.partial):
        function = function.func
    for candidate in (function, getattr(function, "forward", None), type(function).__call__):
        code = getattr(getattr(candidate, "__func__", candidate), "__code__", None)
        if isinstance(code, CodeType):
            return code
    return None


def parameter_names(function: Callable[..., Any]) -> list[str]:
    """Return the names of a function's parameters, or [] if Python does not know them."""
    try:
        return list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return []


def names_used(function: Callable[..., Any]) -> set[str]:
    """Return the names that a function reads or calls, including those in the reader's helpers."""
    code, namespace = code_of(function), getattr(function, "__globals__", {})
    names = set() if code else {getattr(function, "__name__", "")}
    queue, seen = [code] if code else [], set()
    while queue:
        code = queue.pop()
        seen.add(code)
        callables = {
            name: code_of(namespace[name])
            for name in code.co_names
            if callable(namespace.get(name))
        }
        helpers = {n: c for n, c in callables.items() if c and c.co_filename == code.co_filename}
        names.update(set(code.co_names) - helpers.keys())
        nested = [c for c in code.co_consts if isinstance(c, CodeType)]
        queue += [c for c in (*nested, *helpers.values()) if c not in seen]
    return names
