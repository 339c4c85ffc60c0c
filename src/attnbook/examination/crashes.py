"""Where an error was raised in the reader's code, and which shapes met there."""

import linecache
import re
import sysconfig
import traceback
from collections.abc import Container
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import torch
from torch import Tensor

from attnbook.language import _

# Folders with code of others: first our own and PyTorch's, then all that is installed.
NEVER_OWN = tuple(str(Path(file).parent) for file in (__file__, torch.__file__))
STANDARD = sysconfig.get_path("stdlib")
PACKAGES = tuple({sysconfig.get_path(name) for name in ("purelib", "platlib")})
INSTALLED = (STANDARD, *PACKAGES)


def described(error: BaseException | None) -> str:
    """Describe an error, with the line of the reader's code that raised it and what met there."""
    text = brief(error)
    if error is None:
        return ""
    own = own_frame(error)
    if own is None:
        return text
    frame, number = own
    line = linecache.getline(frame.f_code.co_filename, number).strip()
    place = _("line {n} of {file}") if is_file(frame) else _("line {n}")
    place = place.format(n=number, file=Path(frame.f_code.co_filename).name)
    met = shapes_in_line(line, frame)
    return f"{text} ({place}{f': `{line}`' if line else ''}{f', {met}' if met else ''})"


def brief(error: BaseException | None) -> str:
    """Return the type of an error and the first line of its message."""
    if error is None:
        return ""
    message = str(error).splitlines()[0] if str(error) else ""
    return f"{type(error).__name__}: {message}".removesuffix(": ")


def own_frame(error: BaseException) -> tuple[FrameType, int] | None:
    """Return the last frame of the reader's own code with its line, or one of code they use."""
    frames = list(traceback.walk_tb(error.__traceback__))
    frames = [f for f in frames if not f[0].f_code.co_filename.startswith(NEVER_OWN)]
    own = [f for f in frames if not f[0].f_code.co_filename.startswith(INSTALLED)]
    return next(reversed(own or frames), None)


def is_raised_in(error: BaseException, calls: Container[CodeType]) -> bool:
    """Whether an error comes from one of these calls, or from code of a reader or a package."""
    codes = [frame.f_code for frame, _line in traceback.walk_tb(error.__traceback__)]
    return any(code in calls or is_foreign(code.co_filename) for code in codes)


def is_foreign(file: str) -> bool:
    """Whether a file is neither ours, nor PyTorch's, nor Python's."""
    if file.startswith((*NEVER_OWN, "<frozen ")):
        return False
    return file.startswith(PACKAGES) or not file.startswith(STANDARD)


def is_file(frame: FrameType) -> bool:
    """Whether the code of a frame is in a file that a reader knows by name: not in a cell."""
    path = Path(frame.f_code.co_filename)
    return path.suffix == ".py" and path.exists()


def shapes_in_line(line: str, frame: FrameType) -> str:
    """Return the shapes of the tensors that a line names, such as "q (2, 3), k (2, 4)"."""
    names = dict.fromkeys(re.findall(r"(?<![\w.])[^\W\d]\w*", line))
    values = {name: value_of(name, frame) for name in names}
    return ", ".join(f"{n} {tuple(x.shape)}" for n, x in values.items() if isinstance(x, Tensor))


def value_of(name: str, frame: FrameType) -> Any:
    """Return a name's value in a frame, or a global's value if the function has no such local."""
    code = frame.f_code
    if name in (*code.co_varnames, *code.co_cellvars, *code.co_freevars):
        return frame.f_locals.get(name)
    return frame.f_globals.get(name)
