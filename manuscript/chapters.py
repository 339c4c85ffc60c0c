"""The pages and chapters of the book, and its drafts.

`_toc.yml` lists the pages in their order. The first cell of each chapter has its number, title,
question and minutes. The table on the first page, the rules, the tests and the tools all get these
from this module, so nothing has to be listed twice.

A chapter that is still being written is listed under `meta: drafts:` in `_toc.yml`, and nowhere
else. It is run and checked, but it is neither built nor listed in the table of chapters, and it
needs no exercises yet. To publish it, move its line into the contents; all rules then apply.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from manuscript import markers
from manuscript.common import ROOT, UserError


@dataclass(frozen=True)
class Chapter:
    """What the first cell of a chapter says."""

    path: Path
    number: int
    title: str
    question: str
    minutes: int  # without the second readings
    second_minutes: int  # for the second readings alone

    @property
    def short_title(self) -> str:
        """The title up to its colon or question mark."""
        match = re.match(r"[^:?：？]+[?？]?", self.title)
        return match[0] if match else self.title


def pages(root: Path = ROOT) -> list[Path]:
    """List the pages of the built book in the order of the contents."""
    contents = {key: value for key, value in read_contents(root).items() if key != "meta"}
    return [page_at(root, name) for name in page_names(contents)]


def drafts(root: Path = ROOT) -> list[Path]:
    """List the pages that are still being written, and so are not in the built book."""
    meta = read_contents(root).get("meta") or {}
    return [page_at(root, name) for name in page_names(meta.get("drafts"))]


def read_contents(root: Path) -> dict[str, Any]:
    """Read the table of contents.

    Raises:  UserError if it is not YAML of the right form
    """
    try:
        contents = yaml.safe_load((root / "_toc.yml").read_text("utf-8"))
    except yaml.YAMLError as error:
        raise UserError(f"_toc.yml is not valid YAML: {' '.join(str(error).split())}") from None
    if not isinstance(contents, dict):
        raise UserError("_toc.yml has to begin with 'format: jb-book' and 'root: book/index'")
    return contents


def page_names(contents: Any) -> list[str]:
    """List the pages named in a table of contents or a part of it."""
    if isinstance(contents, list):
        return [name for part in contents for name in page_names(part)]
    if isinstance(contents, dict):
        own = [str(contents[key]) for key in ("root", "file") if key in contents]
        return own + page_names(list(contents.values()))
    return []


def page_at(root: Path, name: str) -> Path:
    """Find the file of a page from its name in the contents, which has no suffix."""
    for suffix in (".ipynb", ".md"):
        if (path := root / (name + suffix)).is_file():
            return path
    raise UserError(f"_toc.yml names {name}, but there is no {name}.ipynb and no {name}.md")


def chapters(root: Path = ROOT) -> list[Chapter]:
    """List the chapters in the order of the contents."""
    return [read_chapter(path) for path in pages(root) if number_of(path)]


def number_of(page: Path) -> int:
    """Return the number of a chapter, or 0 for any other page."""
    match = re.fullmatch(r"(\d\d)_\w+\.ipynb", page.name)
    return int(match[1]) if match else 0


def read_chapter(path: Path) -> Chapter:
    """Read the opening of a chapter.

    Raises:  UserError if its title, its question or its minutes are missing
    """
    opening = json.loads(path.read_text("utf-8"))["cells"][0]
    text, minutes = "".join(opening["source"]), opening["metadata"].get("minutes")
    title = re.match(r"# (\d+)\. (.+)", text)
    question = line_after(text, markers.label(markers.QUESTION))
    if not (title and question and minutes):
        raise UserError(
            f"{path.name} has to open with '# N. title', '**{markers.QUESTION}:** ...' and "
            f"'**{markers.TIME}:** ', after which 'python -m tools.run --form' writes the minutes"
        )
    return Chapter(path, int(title[1]), title[2].strip(), question, *minutes)


def line_after(text: str, label: str) -> str:
    """Return what follows a label on its line in an opening, or '' if the label is missing."""
    match = re.search(rf"^(?:> )?{re.escape(label)} *(\S.*)$", text, re.M)
    return match[1].strip() if match else ""
