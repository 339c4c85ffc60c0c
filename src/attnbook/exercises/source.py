"""The source of functions as readers see it."""

import ast
import inspect
import re
import textwrap
from collections.abc import Callable
from typing import Any

from attnbook.language import _

# A comment at the end of a line that is more than a shape, such as (B, L) or (L, L)
COMMENT = re.compile(r"(?<=  # )(?!\([^()]*\)$).*\w\w.*", re.M)


def reader_source(function: Callable[..., Any]) -> str:
    """Return a function's source, its comments in the reader's language.

    Annotations are left out, because no chapter imports their names.
    """
    code = without_annotations(textwrap.dedent(inspect.getsource(function)).strip())
    return COMMENT.sub(lambda comment: _(comment[0]), code)


def comments_of(function: Callable[..., Any]) -> list[str]:
    """Return the comments of a function that are translated."""
    return COMMENT.findall(inspect.getsource(function))


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
