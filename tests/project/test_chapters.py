"""The register reads the chapters from the contents and from their own openings."""

import json
from pathlib import Path

import pytest

from tools.chapters import chapters, pages
from tools.common import UserError

TIME = "20 minutes, 10 more with the second readings, 50 for the exercises"
OPENING = f"# 2. Masks: what is hidden\n\n**Question:** Who looks?\n\n**Time:** {TIME}.\n"
OTHER = "# 1. Where am I? Positions\n\n**Question:** Where?\n\n**Time:** 5 minutes.\n"


def book(root: Path, opening: str, names: list[str]) -> Path:
    """A book of two chapters and one page, with these names in its contents."""
    (root / "book").mkdir()
    for file, text in ("02_masks.ipynb", opening), ("01_where.ipynb", OTHER):
        cells = [{"source": text.splitlines(keepends=True)}]
        (root / "book" / file).write_text(json.dumps({"cells": cells}))
    (root / "book" / "index.md").write_text("# A book")
    parts = [{"caption": "All", "chapters": [{"file": f"book/{name}"} for name in names]}]
    (root / "_toc.yml").write_text(json.dumps({"root": "book/index", "parts": parts}))
    return root


def test_a_chapter_is_what_its_opening_says_and_stands_where_the_contents_say(
    tmp_path: Path,
) -> None:
    root = book(tmp_path, OPENING, ["02_masks", "01_where"])
    assert [page.name for page in pages(root)] == ["index.md", "02_masks.ipynb", "01_where.ipynb"]
    masks, where = chapters(root)
    assert (masks.number, masks.title) == (2, "Masks: what is hidden")
    assert (masks.minutes, masks.second_minutes) == (20, 10)
    assert (masks.short_title, masks.question) == ("Masks", "Who looks?")
    assert (where.short_title, where.minutes, where.second_minutes) == ("Where am I?", 5, 0)


@pytest.mark.parametrize("missing", ["# 2.", "**Question:**", "20"])
def test_an_opening_that_lacks_something_is_named(missing: str, tmp_path: Path) -> None:
    root = book(tmp_path, OPENING.replace(missing, ""), ["02_masks"])
    with pytest.raises(UserError, match=r"02_masks\.ipynb has to open with"):
        chapters(root)


def test_a_page_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"_toc\.yml names book/03_gone, and there is no such page"):
        pages(book(tmp_path, OPENING, ["03_gone"]))
