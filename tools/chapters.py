"""The register: which pages and chapters the book has.

`_toc.yml` says the order. Each notebook's first cell says its number, title, question and minutes.
The table on the first page, the rules, the tests and the tools read them here; nothing states
them a second time.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tools import markers
from tools.common import ROOT, UserError


@dataclass(frozen=True)
class Chapter:
    """What a chapter says of itself in its first cell."""

    path: Path
    number: int
    title: str
    question: str
    minutes: int  # on the short road
    second_minutes: int  # more, with the second readings

    @property
    def short_title(self) -> str:
        """The title up to its colon or question mark."""
        match = re.match(r"[^:?]+\??", self.title)
        return match[0] if match else self.title


def pages(root: Path = ROOT) -> list[Path]:
    """The pages of the book in the order of the contents."""
    contents = yaml.safe_load((root / "_toc.yml").read_text("utf-8"))
    return [page_at(root, name) for name in named(contents)]


def named(contents: Any) -> list[str]:
    """The pages that a table of contents, or a part of it, names."""
    if isinstance(contents, list):
        return [name for part in contents for name in named(part)]
    if isinstance(contents, dict):
        here = [str(contents[key]) for key in ("root", "file") if key in contents]
        return here + named(list(contents.values()))
    return []


def page_at(root: Path, name: str) -> Path:
    """The file of a page that the contents name without its suffix."""
    for suffix in (".ipynb", ".md"):
        if (path := root / (name + suffix)).is_file():
            return path
    raise UserError(f"_toc.yml names {name}, and there is no such page")


def chapters(root: Path = ROOT) -> list[Chapter]:
    """The chapters in the order of the contents."""
    return [read_chapter(path) for path in pages(root) if number_of(path)]


def number_of(page: Path) -> int:
    """The number of a chapter, 0 for any other page."""
    match = re.fullmatch(r"(\d\d)_\w+\.ipynb", page.name)
    return int(match[1]) if match else 0


def read_chapter(path: Path) -> Chapter:
    """Read the opening of a chapter.

    Raises:  UserError if it lacks its title, its question or its minutes
    """
    text = "".join(json.loads(path.read_text("utf-8"))["cells"][0]["source"])
    title = re.match(r"# (\d+)\. (.+)", text)
    question = line_after(text, markers.QUESTION)
    minutes = re.match(markers.MINUTES, line_after(text, markers.TIME))
    if not (title and question and minutes):
        raise UserError(
            f"{path.name} has to open with '# N. title', '**{markers.QUESTION}:** ...' and "
            f"'**{markers.TIME}:** N minutes'"
        )
    short, second = int(minutes[1]), int(minutes[2] or 0)
    return Chapter(path, int(title[1]), title[2].strip(), question, short, second)


def line_after(text: str, word: str) -> str:
    """What stands behind a word in an opening, or nothing."""
    match = re.search(rf"^(?:> )?\*\*{word}:\*\* *(\S.*)$", text, re.M)
    return match[1].strip() if match else ""
