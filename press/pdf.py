"""Print the whole book to _build/attention-book.pdf: `make pdf`, after `make book`.

This module joins the built pages, in the order of _toc.yml, and lets Chromium print the result.
The first print shows which page everything is on, and the second contains these page numbers. The
words around the pages are in press/print/book.html, and the styles in press/print/print.css.

Text that is folded on a screen moves to the end of the book, so that nobody sees it by accident.
"""

import io
import json
import os
import re
from importlib.metadata import version
from itertools import takewhile
from urllib.parse import urldefrag, urljoin

import pikepdf
import yaml
from bs4 import BeautifulSoup, Tag
from bs4.filter import SoupStrainer
from jinja2 import Template
from playwright.sync_api import Browser, sync_playwright

from attnbook.language import _
from manuscript.common import ROOT, UserError, run_tool
from manuscript.edition import ENDING, HTML, LANGUAGE, SOURCE
from press.browser import launch
from press.extension.search import SUBSCRIPTS

JOINED = ROOT / "_build" / "pdf" / "book.html"
PDF = ROOT / "_build" / f"attention-book{ENDING}.pdf"
TEMPLATE = ROOT / "press" / "print" / "book.html"

PRINTED = SoupStrainer(["link", "article"])
NOT_PRINTED = (
    "h2 > .part, .listing, .start, a.headerlink, .toctree-wrapper, nav, button, script, noscript"
)
# Spans in code that have no color. If kept, their tags would make up half of the file.
UNCOLORED = re.compile(r'<span class="(?:nn?|o|p|w)">([^<]*)</span>')
NUMBER = re.compile(r"^\w+\.\w* ")  # the number of a chapter or a section
FILL_IN = "(links, pages) => links.forEach(link => link.textContent = pages[link.hash.slice(1)])"

# How the parts of a formula are read aloud
SPOKEN = {"mfrac": "({})/({})"} | dict.fromkeys(("msubsup", "munderover"), "{}_{}^{}")
SPOKEN |= dict.fromkeys(("msub", "munder"), "{}_{}") | dict.fromkeys(("msup", "mover"), "{}^{}")


def parsed(html: str) -> Tag:
    """The first tag in a piece of HTML."""
    return one(BeautifulSoup(html, "html.parser"), "*")


def one(tag: Tag | None, selector: str) -> Tag:
    """The first match for a selector inside a tag; there has to be one."""
    found = tag and tag.select_one(selector)
    if not found:
        raise UserError(f"no {selector} in {str(tag)[:200]!r}: press/pdf.py expects one there")
    return found


def inner(tag: Tag) -> str:
    """The HTML inside a tag."""
    return tag.decode_contents().strip()


def page_number(target: object) -> str:
    """A link to an id, which shows a page number: 000 until the first print gives the right one."""
    return f'<a class="page-number" href="#{target}">000</a>'


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


def unfold(article: Tag, rounds: dict[str, Tag]) -> None:
    """Move folded answers and solutions to the end of the book, with links in both directions."""
    title, begun = one(article, "h1"), set[str]()
    for fold in article.select("details.code"):
        one(fold, "summary").decompose()
    for wrapped in article.select(".hints, details.code"):
        wrapped.unwrap()
    for number, asked in enumerate(article.select("p.predict, div.exercise"), 1):
        asked["id"] = f"{title['id']}--{number}"
        heading = asked.select_one(".admonition-title") or one(
            asked.find_parent("section"), "h2, h3"
        )
        question = f'<p class="asked">{inner(asked)}</p>' if asked.name == "p" else ""
        cell = asked.find_next_sibling() if asked.name == "div" else None
        choices, told, turns = "", dict[str, str](), []
        following = (cell or asked).find_next_siblings()
        for details in takewhile(lambda tag: tag.name == "details", following):
            kind, summary = details["class"][-1], inner(one(details, "summary").extract())
            text = f"<li><strong>{summary}</strong> {inner(details.extract())}</li>"
            told[kind] = told.get(kind, "") + text
            choices += f"<li>{summary}</li>"
        for kind, texts in told.items():
            part, target = rounds[kind], f"{asked['id']}--{kind}"
            if kind not in begun:
                part.append(parsed(f"<h3>{inner(title)}</h3>"))
                begun.add(kind)
            where = _("{heading}, page {page}").format(
                heading=inner(heading), page=page_number(asked["id"])
            )
            where = f'<p class="where" id="{target}">{where}</p>'
            part.append(parsed(f'<div class="told">{where}{question}<ul>{texts}</ul></div>'))
            turn_to = _("{part}: page {page}")
            turns.append(turn_to.format(part=part["data-turn"], page=page_number(target)))
        turn = f'<p class="turn">{" · ".join(turns)}</p>'
        if cell:
            one(cell, ".cell_output").replace_with(parsed(turn))
        elif choices:
            asked.insert_after(parsed(f'<div class="choices"><ul>{choices}</ul>{turn}</div>'))


def add_contents(book: BeautifulSoup) -> None:
    """List chapters and sections in the contents, and each chapter's sections at its start."""
    contents = one(book, ".contents")
    for place, chapter in enumerate(book.select(".chapter")):
        headings = chapter.find_all(["h1", "h2"])
        for heading in headings:
            numbered = NUMBER.sub(r'<span class="number">\g<0></span>', inner(heading))
            heading.clear()
            heading.extend(list(parsed(f"<p>{numbered}</p>").contents))
        if chapter["data-part"]:
            contents.append(parsed(f'<p class="part">{chapter["data-part"]}</p>'))
        opening = chapter.select_one("h1 + .opening")
        contents.append(entries(headings if opening else headings[:1]))
        if opening:
            opening.insert_after(entries(headings[1:]))
            running = json.dumps(headings[0].get_text(), ensure_ascii=False)
            rule = f"@page c{place} {{ @top-left {{ content: {running} }} }}\n"
            one(book, "style").append(rule)
            chapter["style"] = f"page: c{place}"


def entries(headings: list[Tag]) -> Tag:
    """A table of contents."""
    lines = (
        f'<li class="of-{heading.name}"><a href="#{heading["id"]}">{inner(heading)}</a>'
        f"{page_number(heading['id'])}</li>"
        for heading in headings
    )
    return parsed(f'<ol class="entries">{"".join(lines)}</ol>')


def printed(browser: Browser) -> bytes:
    """The joined document as a PDF with its page numbers."""
    with browser.new_page(offline=True, color_scheme="light") as page:
        page.emulate_media(media="print")
        page.goto(JOINED.as_uri())
        page.evaluate("document.fonts.ready.then(() => null)")
        first = page.pdf(prefer_css_page_size=True)
        page.eval_on_selector_all("a.page-number", FILL_IN, destinations(first))
        return page.pdf(prefer_css_page_size=True, print_background=True, tagged=True)


def destinations(pdf: bytes) -> dict[str, int]:
    """The page number of each id that something links to."""
    with pikepdf.open(io.BytesIO(pdf)) as document:
        pages = {page.obj.objgen: number for number, page in enumerate(document.pages, 1)}
        places = document.Root.Dests.items()
        return {name.removeprefix("/"): pages[place[0].objgen] for name, place in places}


def finish(pdf: bytes, book: BeautifulSoup) -> None:
    """Give the PDF its title and outline, compress it, and write it without a date."""
    with pikepdf.open(io.BytesIO(pdf)) as document:
        del document.docinfo
        for key, selector in (("Title", "title"), ("Author", ".author"), ("Subject", ".subject")):
            document.docinfo[f"/{key}"] = one(book, selector).get_text()
        document.Root.PageMode = pikepdf.Name.UseOutlines
        with document.open_outline() as outline:  # Chromium's outline repeats some headings
            for chapter in book.select(".chapter"):
                first, *others = (
                    pikepdf.OutlineItem(
                        plain(heading), pikepdf.Array(document.Root.Dests[f"/{heading['id']}"])
                    )
                    for heading in chapter.select("h1, h2" if chapter.select(".opening") else "h1")
                )
                first.children, first.is_closed = others, True
                outline.root.append(first)
        packed = pikepdf.ObjectStreamMode.generate
        document.save(PDF, object_stream_mode=packed, deterministic_id=True)


def plain(heading: Tag) -> str:
    """A heading as plain text for the outline, in which a subscript is a single character."""
    parts = (
        text.translate(SUBSCRIPTS) if text.parent and text.parent.name == "sub" else text
        for text in heading.find_all(string=True)
    )
    return "".join(parts)


def make(browser: Browser) -> None:
    """Join, print and write the book."""
    book = joined()
    JOINED.parent.mkdir(parents=True, exist_ok=True)
    JOINED.write_text(str(book), encoding="utf8")
    finish(printed(browser), book)


def main() -> int:
    """Make the PDF; return the exit status."""
    print("Printing the book, which takes two or three minutes.", flush=True)
    with sync_playwright() as playwright:
        make(launch(playwright))
    print(f"{PDF.relative_to(ROOT)}: {PDF.stat().st_size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    run_tool(main)
