"""Put the editions of the book side by side, and link each page to its translation.

`make book` builds the English pages in _build/html, and `make book LANGUAGE=zh_CN` builds a
translation in _build/zh_CN. This module copies the translated pages to _build/html/zh_CN. If
notebooks are published, it also copies the translated ones into a folder beside the English ones.
A page links to the same page in the other edition, and press/static/book.js makes the link lead to
the section that is being read.
"""

import os
import re
import shutil
from pathlib import Path

from manuscript.common import ROOT, run_tool
from manuscript.edition import LANGUAGE, TRANSLATIONS
from press.extension.repository import NOTEBOOKS

BUILD = ROOT / "_build"
SWITCH = re.compile(r'<span class="editions">.*?</span>', re.S)
NAMES = {"en": ("English", "en"), "zh_CN": ("中文", "zh-Hans")}  # each language's name and code


def main() -> int:
    """Copy all editions that have been built, and link them."""
    english = BUILD / "html"
    for folder in sorted(TRANSLATIONS.iterdir()):
        built, target = BUILD / folder.name / "_build" / "html", english / folder.name
        if built.is_dir():
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(built, target)
            if (notebooks := target / NOTEBOOKS).is_dir():
                published = english / NOTEBOOKS / folder.name
                shutil.copytree(notebooks, published, dirs_exist_ok=True)
            link(english, target, folder.name)
            link(target, english, "en")
            if folder.name == LANGUAGE:  # Jupyter Book's own message names the original
                print(f"Open {(target / 'index.html').relative_to(ROOT)}")
    return 0


def link(edition: Path, other: Path, language: str) -> None:
    """Link the pages of an edition to those of another."""
    for page in sorted(edition.rglob("*.html")):
        twin = other / page.relative_to(edition)
        if twin.is_file():
            text = page.read_text("utf-8")
            linked = SWITCH.sub(switch(page, twin, language), text)
            if linked != text:
                page.write_text(linked, "utf-8")


def switch(page: Path, twin: Path, language: str) -> str:
    """The link from a page to the same page in another language."""
    name, code = NAMES[language]
    address = Path(os.path.relpath(twin, page.parent)).as_posix()
    link = f'<a href="{address}" lang="{code}" hreflang="{code}">{name}</a>'
    return f'<span class="editions">{link}</span>'


if __name__ == "__main__":
    run_tool(main)
