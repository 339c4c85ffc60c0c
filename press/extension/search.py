"""What the search needs: the text of every section, the questions, and the names of each term.

No page may read another page: the browser forbids this for pages opened from a folder, and the
pages' policy forbids it everywhere. So the build writes all texts into searchtexts.js, which a page
loads when its search is first used. press/static/search.js makes the index in the browser, because
an index made beforehand would be another 130 kB to load.

Where a term has other names (the glossary's column "also called"), the section that introduces the
term has them, too. An entry of book/questions.md is a question in bold and a paragraph with its
answer, whose last link leads to the section. A row of a table in book/symptoms.md is an entry, too:
what a reader sees, the experiment that decides, and the section.
"""

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from lxml import html
from sphinx.application import Sphinx
from sphinx.search.en import SearchEnglish

from attnbook.language import HAN
from manuscript.edition import LANGUAGE

from .glossary import places
from .plain_formulas import BELOW, in_plain_text

QUESTIONS, SYMPTOMS = "book/questions", "book/symptoms"
# Left out of the texts: what is folded, because an excerpt would give it away; the visible half of
# a formula, which has its MathML beside it; the Chinese words below a heading, which the search has
# from the glossary; and everything that is not text.
LEFT_OUT = frozenset(
    "answer choice in-chinese katex-html headerlink launch to-run part second-reading".split()
)
IN_LINE = frozenset("a b code em i math span strong sub sup".split())
# Words that say nothing about what is looked for. Sphinx's list has "no" and "not", too.
COMMON = """
a an the is are was be do does did i my you your we our it its they their he she in of to on at by
with from for as into and or if so than then there here this that these those which who whose what
why how when where can could may might must shall should will would has have had give gives me not
own 有什 么用 怎么 怎样 自己
""".split()
# How much a section counts: these parts of a chapter repeat words of its sections.
WEIGHTS = {"summary": 0.4, "exercises": 0.4, "exercise": 0.5, "where-the-sources-say-it": 0.2}
OTHER_PAGES = {"bibliography": 0.4, "validation": 0.4, "how_to_use": 0.4, "index": 0.5}


def read(page: str) -> html.HtmlElement:
    """The article of a page, with formulas in plain text and without what the search leaves out."""
    (article,) = html.fromstring(page).iter("article")
    for element in list(article.iter("*")):
        if LEFT_OUT & set(element.get("class", "").split()):
            element.drop_tree()
    for formula in list(article.iter("math")):
        text = in_plain_text(formula)
        formula[:] = []
        formula.text = text
    for element in article.iter("*"):
        if element.tag == "sub":
            element.text = (element.text or "").translate(BELOW)
        elif element.tag not in IN_LINE:  # keep the texts of two blocks apart
            element.text = f" {element.text or ''}"
            element.tail = f" {element.tail or ''}"
    return article


def text_of(element: html.HtmlElement) -> str:
    """The text of an element in one line."""
    return " ".join(element.text_content().split())


def texts(page: str) -> list[tuple[str, str, str]]:
    """The id, the heading and the remaining text of each section of a page, in order."""
    article = read(page)
    found = []
    for section in reversed(list(article.iter("section"))):  # inner sections come out first
        heading = next(section.iter("h1", "h2", "h3", "h4"), None)
        above = taken_out(heading) if heading is not None else ""
        found.append((str(section.get("id")), above, taken_out(section)))
    return found[::-1]


def taken_out(element: html.HtmlElement) -> str:
    """Take an element out of its page; return its text."""
    element.drop_tree()
    return text_of(element)


def weight(page: str, anchor: str, heading: str) -> float:
    """How much a section of a page counts, beside 1 for a section of a chapter."""
    kind = "exercise" if anchor.startswith("exercise-") else anchor
    if other := WEIGHTS.get(kind) or OTHER_PAGES.get(page.rpartition("/")[2]):
        return other
    return 1.0 if re.match(r"[\dA]+\.\d+ ", heading) else 0.6


def questions(page: str) -> list[tuple[str, str, str]]:
    """The questions of a page: each with its answer and the address of the answer's last link."""
    found = []
    for bold in read(page).iterfind(".//p/strong"):
        paragraph = bold.getparent()
        answer = paragraph.getnext()
        question = text_of(bold)
        if question == text_of(paragraph) and answer is not None:
            address = [link.get("href") for link in answer.iter("a")][-1]
            text = text_of(answer)
            found.append((question, re.sub(r" ?[(（][^()（）]*[)）]$", "", text), unquote(address)))
    return found


def symptoms(page: str) -> list[tuple[str, str, str]]:
    """The rows of a page's tables: a symptom, its experiment and the section's address."""
    found = []
    for row in read(page).iterfind(".//tbody/tr"):
        symptom, experiment, section = list(row)[:3]
        said, tried = map(text_of, (symptom, experiment))
        found += [(said, tried, unquote(link.get("href"))) for link in list(section.iter("a"))[:1]]
    return found


def search_data(app: Sphinx) -> dict[str, Any]:
    """Return what searchtexts.js has: see press/static/search.js."""
    written = {
        page: Path(app.outdir, f"{page}.html").read_text("utf8")
        for page in sorted(app.env.found_docs)
    }
    rows: dict[tuple[str, str], list[str]] = {}
    for row, page, anchor in places(app):
        rows.setdefault((page, anchor), []).extend(row.words())
    sections: list[dict[str, str | float]] = []
    at: dict[tuple[str, str], int] = {}
    for page, text in written.items():
        found = [] if page == QUESTIONS else texts(text)
        for anchor, heading, inside in found:
            if not heading:
                continue
            at[page, anchor] = len(sections)
            sections.append(
                {
                    "page": page,
                    "id": anchor if (anchor, heading) != found[0][:2] else "",
                    "chapter": found[0][1],
                    "heading": heading,
                    "called": ", ".join(rows.get((page, anchor), [])),
                    "text": inside,
                    "weight": weight(page, anchor, heading),
                }
            )
    names = {
        word: {"term": row.english if LANGUAGE == "en" else row.chinese, "at": at[place]}
        for row, *where in places(app)
        if (place := tuple(where)) in at
        for word in row.words()
    }
    asked = []
    for entries, name in ((questions, QUESTIONS), (symptoms, SYMPTOMS)):
        for question, answer, address in entries(written[name]) if name in written else ():
            page, _, anchor = address.partition("#")
            place = (f"book/{page.removesuffix('.html')}", anchor)
            asked.append({"question": question, "answer": answer, "at": at[place]})
    return {
        "chinese": HAN,
        "common": COMMON,
        "names": names,
        "sections": sections,
        "questions": asked,
    }


def write_texts(app: Sphinx, exception: Exception | None) -> None:
    """Write searchtexts.js: the data, and Sphinx's English stemmer. Only for HTML."""
    if exception or app.builder.format != "html":
        return
    data = json.dumps(search_data(app), ensure_ascii=False, separators=(",", ":"))
    text = f"const BOOK_TEXTS = {data};\n{SearchEnglish.js_stemmer_code}"
    Path(app.outdir, "searchtexts.js").write_text(text, "utf8")


def leave_out_sphinx(app: Sphinx) -> None:
    """Let Sphinx write no index of its own; html_additional_pages has the search page."""
    app.builder.search = False  # type: ignore[attr-defined]


def setup(app: Sphinx) -> None:
    """Replace Sphinx's search with ours, and write the texts after all pages."""
    app.connect("builder-inited", leave_out_sphinx)
    app.connect("build-finished", write_texts)
