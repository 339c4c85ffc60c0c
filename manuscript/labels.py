"""The words in the figures that a notebook stores, and the same figures in another language."""

import html
import re
from collections.abc import Iterator

from nbformat import NotebookNode

from attnbook.language import in_language

SVG = "image/svg+xml"
LINES = re.compile(r"(?:<text [^>]*>[^<]*</text>\n)+")  # of one label
LINE = re.compile(r"(<text [^>]*>)([^<]*)(</text>)")
LENGTH = re.compile(r' textLength="[^"]*" lengthAdjust="[^"]*"')


def figures(notebook: NotebookNode) -> Iterator[tuple[str, NotebookNode]]:
    """Yield the data of each figure that is stored as SVG, with the id of its cell."""
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if SVG in output.get("data", {}):
                yield cell.id, output.data


def labels(svg: str) -> list[str]:
    """List the labels of a figure; a label may have several lines."""
    return [label(lines[0]) for lines in LINES.finditer(svg)]


def label(lines: str) -> str:
    """Return the words of a label, one line for each of its <text> elements."""
    return "\n".join(html.unescape(words) for _start, words, _end in LINE.findall(lines))


def translated(svg: str) -> str:
    """Return a figure with its labels in the language of the edition.

    A translated line has its natural length, around the point where its original is anchored.

    Raises:  ValueError if a translation has more or fewer lines than its original
    """

    def with_words(lines: re.Match[str]) -> str:
        before = label(lines[0])
        after = in_language(before)
        if after == before:
            return lines[0]
        pairs = zip(LINE.findall(lines[0]), after.split("\n"), strict=True)
        return "".join(
            f"{LENGTH.sub('', start)}{html.escape(words, quote=False)}{end}\n"
            for (start, _words, end), words in pairs
        )

    return LINES.sub(with_words, svg)
