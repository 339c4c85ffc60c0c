"""Chapters are read from the contents and from their own openings, and drafts are kept apart."""

import json
from pathlib import Path

import pytest
import yaml
from sphinx_external_toc.parsing import parse_toc_yaml

from manuscript.chapters import chapters, drafts, pages
from manuscript.common import ROOT, UserError

TIME = "20 minutes, 10 more with the second readings, 50 for the exercises"
MINUTES = {"02_masks.ipynb": [20, 10], "01_where.ipynb": [5, 0]}
OPENING = f"# 2. Masks: what is hidden\n\n**Question:** Who looks?\n\n**Time:** {TIME}.\n"
OTHER = "# 1. Where am I? Positions\n\n**Question:** Where?\n\n**Time:** 5 minutes.\n"


def book(root: Path, opening: str, names: list[str], being_written: tuple[str, ...] = ()) -> Path:
    """Make a book of two chapters and a page, with this table of contents and these drafts."""
    (root / "book").mkdir()
    for file, text in ("02_masks.ipynb", opening), ("01_where.ipynb", OTHER):
        metadata = {"minutes": MINUTES[file]} if "20" in text or text == OTHER else {}
        cells = [{"source": text.splitlines(keepends=True), "metadata": metadata}]
        (root / "book" / file).write_text(json.dumps({"cells": cells}))
    (root / "book" / "index.md").write_text("# A book")
    parts = [{"caption": "All", "chapters": [{"file": f"book/{name}"} for name in names]}]
    contents = {"format": "jb-book", "root": "book/index", "parts": parts}
    contents["meta"] = {"drafts": [{"file": f"book/{name}"} for name in being_written]}
    (root / "_toc.yml").write_text(json.dumps(contents))
    return root


def test_a_chapter_is_read_from_its_opening_and_ordered_by_the_contents(
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
    named = r"_toc\.yml names book/03_gone, but there is no book/03_gone\.ipynb"
    root = book(tmp_path, OPENING, ["03_gone"], ("03_gone",))
    with pytest.raises(UserError, match=named):
        pages(root)
    with pytest.raises(UserError, match=named):
        drafts(root)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "root: book/index\n  parts: 1\n",
            r"^_toc\.yml is not valid YAML: mapping .*line 2",
        ),
        ("- book/index\n", r"^_toc\.yml has to begin with 'format: jb-book'"),
    ],
)
def test_contents_that_cannot_be_read_are_refused_in_one_line(
    text: str, message: str, tmp_path: Path
) -> None:
    (tmp_path / "_toc.yml").write_text(text)
    with pytest.raises(UserError, match=message) as refused:
        pages(tmp_path)
    assert "\n" not in str(refused.value)


def test_a_draft_is_neither_a_page_nor_a_chapter_until_it_is_moved(tmp_path: Path) -> None:
    root = book(tmp_path, "# 2. Begun today", ["01_where"], ("02_masks",))
    assert [page.name for page in pages(root)] == ["index.md", "01_where.ipynb"]
    assert [chapter.number for chapter in chapters(root)] == [1]
    assert [page.name for page in drafts(root)] == ["02_masks.ipynb"]
    contents = (root / "_toc.yml").read_text().replace("01_where", "02_masks")
    (root / "_toc.yml").write_text(contents)
    with pytest.raises(UserError, match=r"02_masks\.ipynb has to open with"):
        chapters(root)


def test_a_draft_is_not_built(tmp_path: Path) -> None:
    root = book(tmp_path, OPENING, ["01_where"], ("02_masks",))
    built = set(parse_toc_yaml(root / "_toc.yml"))  # what Jupyter Book reads
    assert built == {"book/index", "book/01_where"}
    config = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))
    assert config["only_build_toc_files"] is True


def test_a_book_may_have_no_drafts(tmp_path: Path) -> None:
    for text in "root: book/index", "root: book/index\nmeta:", "root: x\nmeta: {drafts: }":
        (tmp_path / "_toc.yml").write_text(text)
        assert drafts(tmp_path) == []
