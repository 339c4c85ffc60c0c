"""Pictures in the chapters: their letters are legible on a phone, and their descriptions are true.

Each decimal number in a picture's description is in the picture or its code, or is printed in the
chapter.
"""

import re
from typing import Any

import pytest

from manuscript.chapters import pages
from manuscript.labels import labels
from tests.support.chapters import Chapter
from tests.support.pictures import READABLE, smallest_letters

NOTEBOOKS = [path.name for path in pages() if path.suffix == ".ipynb"]
DECIMAL = re.compile(r"(?<![\w.])\d+\.\d+")
SHORT = re.compile(r"(?<![\d.])\.(?=\d)")


def drawn(svg: str) -> str:
    """The labels of a picture, with .25 read as 0.25."""
    return SHORT.sub("0.", "\n".join(labels(svg)))


def pictures(cell: dict[str, Any]) -> list[str]:
    """The SVG in the outputs of a code cell."""
    found = ("".join(o.get("data", {}).get("image/svg+xml", "")) for o in cell["outputs"])
    return [svg for svg in found if svg]


def unsupported(chapter: Chapter) -> list[tuple[str, str]]:
    """The decimals in descriptions that are in no picture, code or printed output."""
    found = []
    for name in chapter.code:
        cell = chapter.cells[name]
        alt = cell["metadata"].get("mystnb", {}).get("image", {}).get("alt", "")
        there = drawn("".join(pictures(cell))) + cell["source"] + chapter.printed()
        missing = set(DECIMAL.findall(alt)) - set(DECIMAL.findall(there))
        found += [(name, number) for number in sorted(missing)]
    return found


@pytest.mark.parametrize("notebook", NOTEBOOKS)
def test_a_phone_shows_every_letter_of_a_picture(notebook: str) -> None:
    chapter = Chapter(notebook)
    for name in chapter.code:
        for svg in pictures(chapter.cells[name]):
            assert smallest_letters(svg) >= READABLE, f"{notebook}, cell {name!r}"


@pytest.mark.parametrize("notebook", NOTEBOOKS)
def test_a_decimal_in_words_for_a_picture_is_in_the_picture_or_printed(notebook: str) -> None:
    for cell, number in unsupported(Chapter(notebook)):
        pytest.fail(
            f"{notebook}, cell {cell!r}: its description (mystnb.image.alt) says {number}, which "
            "is neither in the picture or its code nor printed in the chapter"
        )


def test_a_decimal_that_is_nowhere_is_found() -> None:
    chapter = Chapter("01_library.ipynb")
    image = chapter.cells["lookup-figure"]["metadata"]["mystnb"]["image"]
    assert "0.520" in image["alt"]
    image["alt"] = image["alt"].replace("0.520", "0.525")
    assert ("lookup-figure", "0.525") in unsupported(chapter)
