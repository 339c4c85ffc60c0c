"""Join the built pages, in the order of _toc.yml, into one document.

The words around the pages are in book.html, and the styles in css/.
"""

import os
import re
from importlib.metadata import version
from pathlib import Path
from urllib.parse import urldefrag, urljoin

import yaml
from jinja2 import Template
from lxml.html import HtmlElement, document_fromstring

from attnbook.language import _
from manuscript.common import UserError
from manuscript.edition import HTML, LANGUAGE, SOURCE
from press.pdf.answers import unfold
from press.pdf.contents import add_contents
from press.pdf.tags import of_class, one, parsed

TEMPLATE = Path(__file__).with_name("book.html")

# What is left out: the elements of these classes, and of these kinds
CLASSES = ("listing", "start", "drawing", "try-first", "headerlink", "toctree-wrapper")
KINDS = ("nav", "button", "script", "noscript")

# Spans in code that have no color. If kept, their tags would make up half of the file.
UNCOLORED = re.compile(r'<span class="(?:nn?|o|p|w)">([^<]*)</span>')

# How the parts of a formula are read aloud
SPOKEN = {"mfrac": "({})/({})"} | dict.fromkeys(("msubsup", "munderover"), "{}_{}^{}")
SPOKEN |= dict.fromkeys(("msub", "munder"), "{}_{}") | dict.fromkeys(("msup", "mover"), "{}^{}")


def joined() -> HtmlElement:
    """The whole book as one document."""
    config = yaml.safe_load((SOURCE / "_config.yml").read_text("utf8"))
    toc = yaml.safe_load((SOURCE / "_toc.yml").read_text("utf8"))
    template = Template(TEMPLATE.read_text("utf8"), autoescape=True)
    words = template.render(
        config, env=os.environ, version=version("attnbook"), say=_, language=LANGUAGE
    )
    book = document_fromstring(words)
    answers = one(book, ".//*[@id='answers']")
    rounds = {part.get("class").split()[-1]: part for part in answers.find_class("round")}
    parts = [{"chapters": [{"file": toc["root"]}]}, *toc["parts"]]
    captions = {part["chapters"][0]["file"]: part.get("caption") for part in parts}
    names = [entry["file"] for part in parts for entry in part["chapters"]]
    for name in names:
        page = built_page(name, [f"{other}.html" for other in names])
        article = one(page, ".//article")
        if name == toc["root"]:
            for sheet in page.xpath(".//link[@rel='stylesheet']"):
                one(book, ".//link").addprevious(sheet)
            cover = one(article, ".//img[@class='cover']")
            one(book, of_class("front")).append(cover)
        unfold(article, rounds)
        chapter = parsed(f'<div class="chapter" id="{name}.html"></div>')
        chapter.set("data-part", captions.get(name) or "")
        chapter.append(article)
        answers.addprevious(chapter)
    add_contents(book)
    return book


def built_page(name: str, addresses: list[str]) -> HtmlElement:
    """A page of the book for print, with links inside the document and spoken forms of formulas.

    Its ids are addresses in the built book, such as book/notation.html#sizes.
    """
    here = f"{name}.html"
    if not (HTML / here).exists():
        raise UserError(f"the page {name} is not built: run 'make book' first")
    text = UNCOLORED.sub(r"\1", (HTML / here).read_text("utf8"))
    page = document_fromstring(text)
    for formula in page.find_class("katex"):
        drawn = one(formula, of_class("katex-html"))
        drawn.set("role", "img")
        heard = spoken(one(formula, ".//math"))
        drawn.set("aria-label", _("formula: {spoken}").format(spoken=heard))
        del drawn.attrib["aria-hidden"]
        one(formula, of_class("katex-mathml")).drop_tree()
    for tag in unprinted(page):
        tag.drop_tree()
    for tag in page.xpath("//*[@id and not(ancestor::svg)]"):  # a figure's parts refer to others
        tag.set("id", f"{here}#{tag.get('id')}")
    # the heading gets the id, because its section may begin on the page before
    for section in page.xpath("//section[@id]"):
        heading = one(section, "./*[self::h1 or self::h2 or self::h3 or self::h4]")
        heading.set("id", section.attrib.pop("id"))
    for image in page.iter("img"):
        picture = HTML / urljoin(here, image.get("src"))
        if not picture.exists():
            raise UserError(
                f"the picture {picture} is missing: run 'make clean', then 'make pdf' again"
            )
        image.set("src", picture.as_uri())
        image.attrib.pop("loading", None)
    for link in page.xpath("//*[@href]"):
        target = urljoin(here, link.get("href"))
        if urldefrag(target)[0] in addresses:
            link.set("href", f"#{target}")
            keep_together(link)
        elif link.tag == "link":
            link.set("href", urljoin(HTML.as_uri() + "/", target))
        elif not re.match(r"\w+:", target):
            link.drop_tag()  # a picture that links to its own file
    return page


def unprinted(page: HtmlElement) -> set[HtmlElement]:
    """The tags that are left out in print."""
    return {
        *page.iter(*KINDS),
        *(tag for name in CLASSES for tag in page.find_class(name)),
        *(tag.getnext() for tag in page.find_class("try-first")),
        *page.xpath("//h2/*[contains(concat(' ', @class, ' '), ' part ')]"),
    }


def keep_together(link: HtmlElement) -> None:
    """Keep the words of a link such as "chapter 6" on one line."""
    for tag in link.iter():
        for place in ("text", "tail") if tag is not link else ("text",):
            text = getattr(tag, place)
            if text and re.search(r" \d+$", text):
                setattr(tag, place, "\u00a0".join(text.rsplit(" ", 1)))


def spoken(tag: HtmlElement) -> str:
    """A formula on one line: (Q K^⊤)/(√(d_k))."""
    parts = [spoken(child) for child in tag]
    if tag.tag in SPOKEN:
        return SPOKEN[tag.tag].format(*parts)
    visible = re.sub(r"[\s\u2061-\u2064]+", " ", tag.text_content()).strip()
    line = " ".join(filter(None, parts)) or visible
    return f"√({line})" if tag.tag == "msqrt" else line
