"""The search index: English words by their stem, and Chinese by pairs of characters.

Chinese is written without spaces. A dictionary would have to know where its words end, and a word
it does not know would never be found; so the index holds every character and every two
neighbours, and a query of more than one character asks for all its pairs. It is the standard way
to find any term, known or not, and it needs nothing but these few lines on either side.

A result shows the text around the words found. Sphinx's script would fetch each page for that,
which the policy of the pages refuses; so searchtexts.js has the text of every section, and
press/static/search.js shows it.
"""

import json
import re
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.search.en import SearchEnglish

HAN = r"\u3400-\u9fff"  # the blocks of Chinese characters in common use


class BookSearch(SearchEnglish):
    """Sphinx's English search, with a splitter that knows Chinese characters."""

    _pieces = re.compile(rf"[{HAN}]+|[^\W{HAN}]+")

    # The same splitter for what the reader types; Sphinx copies it into language_data.js.
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


class Sections(HTMLParser):
    """The sections of a page: the id of each, its heading, and its text without the heading.

    Left out is what a reader unfolds, the hints, the solutions and what a choice says, since an
    excerpt would give it away; what stands twice, as the drawn half of a formula beside its MathML;
    and what is no text, as the sign for a link to a heading and the links that launch a notebook.
    """

    LEFT_OUT = re.compile(r"\b(answer|choice|katex-html|headerlink|launch)\b")
    IN_LINE = frozenset("a b code em i mi mn mo mtext span strong sub sup".split())
    EMPTY = frozenset("br hr img input link meta source wbr".split())

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, list[str], list[str]]] = []
        self.open: list[str] = []  # the elements around the place at hand, inside the article
        self.left_out = 0  # how many of them there are down to the one that is left out
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Go into an element; with a section begins a new text."""
        if tag == "article" or self.open:
            values = dict(attrs)
            if tag == "section":
                self.found.append((values.get("id") or "", [], []))
            if tag not in self.EMPTY:
                self.open.append(tag)
                if not self.left_out and self.LEFT_OUT.search(values.get("class") or ""):
                    self.left_out = len(self.open)
            self.space(tag)

    def handle_endtag(self, tag: str) -> None:
        """Leave an element."""
        if self.open and tag not in self.EMPTY:
            self.open.pop()
            self.left_out = self.left_out if len(self.open) >= self.left_out else 0
            self.space(tag)

    def handle_data(self, data: str) -> None:
        """Keep text of the article."""
        if self.found and self.open and not self.left_out:
            heading = any(tag in ("h1", "h2", "h3", "h4") for tag in self.open)
            _, above, below = self.found[-1]
            (above if heading else below).append(data)

    def space(self, tag: str) -> None:
        """Keep what stands in two blocks apart."""
        if tag not in self.IN_LINE:
            self.handle_data(" ")

    def texts(self) -> list[tuple[str, str, str]]:
        """Id, heading and text of each section, in order."""
        return [
            (name, " ".join("".join(heading).split()), " ".join("".join(text).split()))
            for name, heading, text in self.found
        ]


def write_texts(app: Sphinx, exception: Exception | None) -> None:
    """Write searchtexts.js, for search.html alone. A builder of another kind writes no pages."""
    if exception or app.builder.format != "html":
        return
    pages = {
        page: Sections(Path(app.outdir, f"{page}.html").read_text("utf8")).texts()
        for page in sorted(app.env.found_docs)
    }
    texts = json.dumps(pages, ensure_ascii=False, separators=(",", ":"))
    Path(app.outdir, "searchtexts.js").write_text(f"Search.texts = {texts};\n", "utf8")


def setup(app: Sphinx) -> None:
    """Replace Sphinx's English search by ours, and write the texts once all pages stand."""
    app.add_search_language(BookSearch)
    app.connect("build-finished", write_texts)
