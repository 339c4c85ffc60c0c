"""The comments and docstrings of code: all that a translation changes in it.

The code is that of cells, and that of fenced blocks in text, which begin with "```python" or
"```sh". A message is a comment without its `# `, or a docstring without its quotation marks. A
comment that only names a shape, such as `# (B, L, D)`, has no words, and stays.
"""

import io
import re
import tokenize
from collections.abc import Callable, Iterator

MARK = "# "
QUOTES = '"""'
BLOCK = re.compile(r"```(python|sh)\n(.*)^```", re.M | re.S)
SHELL = re.compile(r"(?:^|(?<=  ))# (.+)$", re.M)  # in a shell, a comment ends its line, too
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


def block_remarks(block: str) -> Iterator[tuple[int, int]]:
    """Yield where each message of a fenced block of code begins and ends."""
    if match := BLOCK.match(block):
        code, offset = match[2], match.start(2)
        found = remarks(code) if match[1] == "python" else (m.span(1) for m in SHELL.finditer(code))
        for start, end in found:
            yield offset + start, offset + end


def translated_block(block: str, translate: Callable[[str], str]) -> str:
    """Return a fenced block of code with each message translated; other text is left alone."""
    return replaced(block, block_remarks(block), translate)


def translated_code(code: str, translate: Callable[[str], str]) -> str:
    """Return the code with each message translated; trailing comments begin where they began."""
    return replaced(code, remarks(code), translate)


def replaced(code: str, places: Iterator[tuple[int, int]], translate: Callable[[str], str]) -> str:
    """Return the code with the message at each place translated."""
    for start, end in reversed(list(places)):
        code = code[:start] + translate(code[start:end]) + code[end:]
    return code
