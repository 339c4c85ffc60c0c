"""The search index: English words by their stem, and Chinese by pairs of characters.

Chinese is written without spaces. A dictionary could split a text, but words that the dictionary
lacks would never be found. So the index contains every character and every pair of neighbors, and a
query of several characters looks for all its pairs. Indexing such bigrams is a standard method. It
finds any term, and needs only a few lines, both here and in the browser.

A result shows the text around the matches. Sphinx's script would fetch each page for this,
which the policy of the pages forbids. So searchtexts.js has the text of every section, and
press/static/search.js shows it.
"""

import json
import re
from itertools import pairwise
from pathlib import Path

from lxml import html
from sphinx.application import Sphinx
from sphinx.search.en import SearchEnglish

from attnbook.language import HAN

# Left out of the texts: what is folded, because an excerpt would give it away; the visible half of
# a formula, which has its MathML beside it; and everything that is not text.
LEFT_OUT = frozenset(
    "answer choice katex-html headerlink launch to-run part second-reading".split()
)
# In plain text, the k of √d_k is written as a Unicode subscript, ₖ.
SUBSCRIPTS = str.maketrans("aehijklmnoprstuvx", "ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ")
IN_LINE = frozenset("a b code em i mi mn mo mtext span strong sub sup".split())


class BookSearch(SearchEnglish):
    """Sphinx's English search, with a splitter that handles Chinese characters."""

    _pieces = re.compile(rf"[{HAN}]+|[^\W{HAN}]+")

    # The same splitter for the words that a reader types; Sphinx copies it into language_data.js.
    js_splitter_code = rf"""
var CHINESE = /[{HAN}]/;
var PIECES = /[{HAN}]+|(?:(?![{HAN}])[\p{{Letter}}\p{{Number}}_])+/gu;
var splitQuery = (query) =>
  (query.match(PIECES) || []).flatMap((piece) =>
    CHINESE.test(piece) && piece.length > 1
      ? [...piece].slice(1).map((character, i) => piece[i] + character)
      : [piece]);
"""

    def split(self, text: str) -> list[str]:
        """The words, single characters and pairs of characters of a text."""
        words = []
        for piece in self._pieces.findall(text):
            if re.match(f"[{HAN}]", piece):
                words += [*piece, *(a + b for a, b in pairwise(piece))]
            else:
                words.append(piece)
        return words


def texts(page: str) -> list[tuple[str, str, str]]:
    """The id, the heading and the remaining text of each section of a page, in order."""
    (article,) = html.fromstring(page).iter("article")
    for element in list(article.iter("*")):
        if LEFT_OUT & set(element.get("class", "").split()):
            element.drop_tree()
        elif element.tag == "sub":
            element.text = (element.text or "").translate(SUBSCRIPTS)
        elif element.tag not in IN_LINE:  # keep the texts of two blocks apart
            element.text = f" {element.text or ''}"
            element.tail = f" {element.tail or ''}"
    found = []
    for section in reversed(list(article.iter("section"))):  # inner sections come out first
        heading = next(section.iter("h1", "h2", "h3", "h4"), None)
        above = taken_out(heading) if heading is not None else ""
        found.append((str(section.get("id")), above, taken_out(section)))
    return found[::-1]


def taken_out(element: html.HtmlElement) -> str:
    """Take an element out of its page; return its text."""
    element.drop_tree()
    return " ".join(element.text_content().split())


def write_texts(app: Sphinx, exception: Exception | None) -> None:
    """Write searchtexts.js for search.html, and the headings for the search box of every page.

    Builders that write no HTML need neither.
    """
    if exception or app.builder.format != "html":
        return
    pages = {
        page: texts(Path(app.outdir, f"{page}.html").read_text("utf8"))
        for page in sorted(app.env.found_docs)
    }
    data = json.dumps(pages, ensure_ascii=False, separators=(",", ":"))
    Path(app.outdir, "searchtexts.js").write_text(f"Search.texts = {data};\n", "utf8")
    headings = [
        [page, anchor, heading]
        for page, found in pages.items()
        for anchor, heading, _ in found
        if heading
    ]
    data = json.dumps(headings, ensure_ascii=False, separators=(",", ":"))
    Path(app.outdir, "searchheadings.js").write_text(f"BOOK_HEADINGS = {data};\n", "utf8")


def setup(app: Sphinx) -> None:
    """Replace Sphinx's English search with ours, and write the texts after all pages."""
    app.add_search_language(BookSearch)
    app.connect("build-finished", write_texts)
