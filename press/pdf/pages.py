"""Join the built pages, in the order of _toc.yml, into one document.

The words around the pages are in book.html, and the styles in css/.
"""

import os
import re
from importlib.metadata import version
from pathlib import Path
from urllib.parse import urldefrag, urljoin

import yaml
from bs4 import BeautifulSoup, Tag
from bs4.filter import SoupStrainer
from jinja2 import Template

from attnbook.language import _
from manuscript.common import UserError
from manuscript.edition import HTML, LANGUAGE, SOURCE
from press.pdf.answers import unfold
from press.pdf.contents import add_contents
from press.pdf.tags import one, parsed

TEMPLATE = Path(__file__).with_name("book.html")

PRINTED = SoupStrainer(["link", "article"])
NOT_PRINTED = (
    "h2 > .part, .listing, .start, .drawing, .try-first, .try-first + *, "
    "a.headerlink, .toctree-wrapper, nav, button, script, noscript"
)
# Spans in code that have no color. If kept, their tags would make up half of the file.
UNCOLORED = re.compile(r'<span class="(?:nn?|o|p|w)">([^<]*)</span>')

# How the parts of a formula are read aloud
SPOKEN = {"mfrac": "({})/({})"} | dict.fromkeys(("msubsup", "munderover"), "{}_{}^{}")
SPOKEN |= dict.fromkeys(("msub", "munder"), "{}_{}") | dict.fromkeys(("msup", "mover"), "{}^{}")


def joined() -> BeautifulSoup:
    """The whole book as one document."""
    config = yaml.safe_load((SOURCE / "_config.yml").read_text("utf8"))
    toc = yaml.safe_load((SOURCE / "_toc.yml").read_text("utf8"))
    template = Template(TEMPLATE.read_text("utf8"), autoescape=True)
    words = template.render(
        config, env=os.environ, version=version("attnbook"), say=_, language=LANGUAGE
    )
    book = BeautifulSoup(words, "html.parser")
    answers = one(book, "#answers")
    rounds = {str(part["class"][-1]): part for part in answers.select(".round")}
    parts = [{"chapters": [{"file": toc["root"]}]}, *toc["parts"]]
    captions = {part["chapters"][0]["file"]: part.get("caption") for part in parts}
    names = [entry["file"] for part in parts for entry in part["chapters"]]
    for name in names:
        page = built_page(name, [f"{other}.html" for other in names])
        article = one(page, "article.bd-article")
        if name == toc["root"]:
            one(book, "link").insert_before(*page.select("link[rel=stylesheet]"))
            one(book, ".front").append(one(article, "img.cover").extract())
        unfold(article, rounds)
        chapter = parsed(f'<div class="chapter" id="{name}.html"></div>')
        chapter["data-part"] = captions.get(name) or ""
        chapter.append(article)
        answers.insert_before(chapter)
    add_contents(book)
    return book


def built_page(name: str, addresses: list[str]) -> BeautifulSoup:
    """A page of the book for print, with links inside the document and spoken forms of formulas.

    Its ids are addresses in the built book, such as book/notation.html#sizes.
    """
    here = f"{name}.html"
    if not (HTML / here).exists():
        raise UserError(f"the page {name} is not built: run 'make book' first")
    text = UNCOLORED.sub(r"\1", (HTML / here).read_text("utf8"))
    page = BeautifulSoup(text, "html.parser", parse_only=PRINTED)
    for formula in page.select(".katex"):
        drawn = one(formula, ".katex-html")
        drawn.attrs |= {
            "role": "img",
            "aria-label": _("formula: {spoken}").format(spoken=spoken(one(formula, "math"))),
        }
        del drawn["aria-hidden"]
        one(formula, ".katex-mathml").decompose()
    for tag in page.select(NOT_PRINTED):
        tag.decompose()
    for tag in page.find_all(id=True):  # faster than `select` on a whole page
        if not tag.find_parent("svg"):  # the parts of a figure refer to one another
            tag["id"] = f"{here}#{tag['id']}"
    # the heading gets the id, because its section may begin on the page before
    for section in page.find_all("section", id=True):
        one(section, ":scope > :is(h1, h2, h3, h4)")["id"] = section.attrs.pop("id")
    for image in page.find_all("img"):
        picture = HTML / urljoin(here, str(image["src"]))
        if not picture.exists():
            raise UserError(
                f"the picture {picture} is missing: run 'make clean', then 'make pdf' again"
            )
        image["src"] = picture.as_uri()
        del image["loading"]
    for link in page.find_all(href=True):
        target = urljoin(here, str(link["href"]))
        if urldefrag(target)[0] in addresses:
            link["href"] = f"#{target}"
            for text in link(string=re.compile(r" \d+$")):  # "chapter 6" stays on one line
                text.replace_with("\u00a0".join(text.rsplit(" ", 1)))
        elif link.name == "link":
            link["href"] = urljoin(HTML.as_uri() + "/", target)
        elif not re.match(r"\w+:", target):
            link.unwrap()  # a picture that links to its own file
    return page


def spoken(tag: Tag) -> str:
    """A formula on one line: (Q K^⊤)/(√(d_k))."""
    parts = [spoken(child) for child in tag.find_all(True, recursive=False)]
    if tag.name in SPOKEN:
        return SPOKEN[tag.name].format(*parts)
    visible = re.sub(r"[\s\u2061-\u2064]+", " ", tag.get_text()).strip()
    line = " ".join(filter(None, parts)) or visible
    return f"√({line})" if tag.name == "msqrt" else line
