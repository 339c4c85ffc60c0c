"""The comments and docstrings of code cells: all that a translation changes in code.

A message is a comment without its `# `, or a docstring without its quotation marks. A comment that
only names a shape, such as `# (B, L, D)`, has no words, and stays.
"""

import io
import re
import tokenize
from collections.abc import Callable, Iterator

MARK = "# "
QUOTES = '"""'
IN_BRACKETS = re.compile(r"\([^()]*\)")
WORD = re.compile(r"\b(?:[a-z]{2,}|[A-Z][a-z]{2,})\b")  # and not Dk, W_Q or √d


def remarks(code: str) -> Iterator[tuple[int, int]]:
    """Yield where each message of the code begins and ends."""
    starts = [0]
    for line in io.StringIO(code):
        starts.append(starts[-1] + len(line))
    before = tokenize.ENCODING
    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        line_number, column = token.start
        start = starts[line_number - 1] + column
        end = start + len(token.string)
        if token.type == tokenize.COMMENT and token.string.startswith(MARK):
            found = start + len(MARK), end
        elif before == tokenize.INDENT and token.string.startswith(QUOTES):
            found = start + len(QUOTES), end - len(QUOTES)
        else:
            found = 0, 0
        if WORD.search(IN_BRACKETS.sub("", code[slice(*found)])):
            yield found
        before = token.type


def translated_code(code: str, translate: Callable[[str], str]) -> str:
    """Return the code with each message translated; trailing comments begin where they began."""
    for start, end in reversed(list(remarks(code))):
        code = code[:start] + translate(code[start:end]) + code[end:]
    return code
