"""The source of functions as readers see it."""

import ast
import inspect
import textwrap
from collections.abc import Callable
from typing import Any


def reader_source(function: Callable[..., Any]) -> str:
    """Return a function's source without annotations, whose names no chapter imports."""
    return without_annotations(textwrap.dedent(inspect.getsource(function)).strip())


def without_annotations(code: str) -> str:
    """Remove the annotations from Python code and leave its layout unchanged."""
    text = code.encode()  # ast counts columns in bytes
    lines = text.splitlines(keepends=True)

    def offset(line: int, column: int) -> int:
        return sum(map(len, lines[: line - 1])) + column

    cuts = []
    for node in ast.walk(ast.parse(code)):
        for mark, field_name in (b":", "annotation"), (b"->", "returns"):
            if annotation := getattr(node, field_name, None):
                begin = offset(annotation.lineno, annotation.col_offset)
                end = offset(annotation.end_lineno, annotation.end_col_offset)
                cuts.append((len(text[: text.rindex(mark, 0, begin)].rstrip()), end))
    for begin, end in sorted(cuts, reverse=True):
        text = text[:begin] + text[end:]
    return text.decode()
