"""What search engines and links to a page show: its title and a description of its own.

A chapter is described by its question and its goal, any other page by its first paragraph. Where
the pages' address is known (repository.py), the page also names its own, and a picture.
"""

import re
import shutil
from pathlib import Path
from typing import Any

from lxml import html
from sphinx.application import Sphinx

from manuscript.common import ROOT
from manuscript.edition import LANGUAGE

PICTURE = "book.png"
LONGEST = 300  # characters; longer descriptions are cut at the end of a sentence
LABEL = re.compile(r"^\w+[:：]\s*")


def describe(app: Sphinx, page: str, template: str, context: dict[str, Any], tree: Any) -> None:
    """Give the description to the templates; a page without a paragraph has the book's."""
    if body := context.get("body", "").strip():
        context["description"] = description(body) or context["description"]
    context["picture"] = f"{app.config.html_baseurl}_static/{PICTURE}"


def description(body: str) -> str:
    """Return the description of a page from its HTML."""
    article = html.fromstring(f"<div>{body}</div>")
    question, goal = (article.xpath(f"(.//p[@class='{name}'])[1]") for name in ("question", "goal"))
    said = [*question, *goal] or article.xpath("(.//p[normalize-space()])[1]")
    for formula in article.xpath(".//*[@class='katex-html']"):  # the same as its MathML
        formula.drop_tree()
    texts = [LABEL.sub("", " ".join(one.text_content().split())) for one in said]
    whole = " ".join(text[:1].upper() + text[1:] for text in texts)
    if len(whole) <= LONGEST:
        return whole
    ends = [end.end() for end in re.finditer(r"[.?!](?= )|[。？！]", whole[:LONGEST])]
    return whole[: ends[-1]] if ends else f"{whole[: LONGEST - 1].rsplit(' ', 1)[0]} …"


def copy_picture(app: Sphinx, exception: Exception | None) -> None:
    """Copy the picture of the book, if the pages can name it by its full address."""
    if app.config.html_baseurl and not exception:
        edition = "" if LANGUAGE == "en" else f".{LANGUAGE}"
        picture = ROOT / "book" / "images" / f"book{edition}.png"
        shutil.copy(picture, Path(app.outdir, "_static", PICTURE))


def setup(app: Sphinx) -> None:
    """Describe each page before it is written."""
    app.connect("html-page-context", describe)
    app.connect("build-finished", copy_picture)
