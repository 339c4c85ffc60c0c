"""Functions as text: the reference as a reader is shown it, and whether a stub was filled in."""

import ast
import inspect
import textwrap
from collections.abc import Callable
from typing import Any


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
