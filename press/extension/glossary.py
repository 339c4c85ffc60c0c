"""Use the rows of the glossary (book/notation.md) on other pages, too.

A row is written once: English, the Chinese word with its pinyin, its other names in both languages,
a link to the section that introduces it, and an explanation. When the pages are written, this
module puts

- the Chinese words of a section at its end, in small type
- the rows, sorted by pinyin, into a second table, `:::{by-pinyin}`

The search (search.py) knows the words of each row, so that each of them finds the section. In the
Chinese edition, the pinyin only sorts the second table; no page shows it.

The pinyin is written by hand, because libraries only guess which of several readings is right:
pypinyin 0.55 read the 差 of 残差 and 标准差 as *chà*, and the 子 of 子空间 as *zi*.
"""

import re
import unicodedata
from pathlib import Path
from typing import NamedTuple

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from manuscript.edition import LANGUAGE
from manuscript.readers_copy import GLOSSARY, without_pinyin

from .chinese import in_chinese
from .section_links import sections

CODE = str.maketrans("", "", "`")
TONES = "\u0304\u0301\u030c\u0300"  # the marks of tones 1 to 4; ü keeps its dots

logger = logging.getLogger(__name__)


class Row(NamedTuple):
    """A row of the glossary."""

    english: str
    chinese: str
    pinyin: str  # empty where the Chinese word is written in Latin letters
    called: str  # other names, in both languages, and names in code
    link: str  # in Markdown: [6.3](06_masked_attention.ipynb)
    number: str  # of the section, such as 6.3; empty if the link has an anchor
    page: str  # without suffix
    anchor: str

    def words(self) -> list[str]:
        """The words that readers may search for, in lower case."""
        every = f"{self.english},{self.chinese},{self.called}"
        typed = re.split("[,、()]", every.lower().translate(CODE))
        return [word.strip() for word in typed if word.strip()]


ROW = re.compile(
    r"\| (?P<english>[^|]+) \| (?P<chinese>[^|*]+?)(?: \*(?P<pinyin>[^|*]+)\*)? \| "
    r"(?:(?P<called>[^|]+) )?\| "
    r"(?P<link>\[(?P<number>[\d.]*)[\w ]*\]\((?P<page>\w+)\.ipynb(?:#(?P<anchor>[\w-]+))?\)) \| "
    r".+ \|"
)


def lines(app: Sphinx) -> list[str]:
    """The lines of the glossary's table, without its header; none if the book has no glossary."""
    page = Path(app.srcdir, app.config.glossary_page + ".md")
    text = page.read_text("utf8") if page.exists() else ""
    table = GLOSSARY.search(text)
    return table[0].splitlines()[2:] if table else []


def glossary(app: Sphinx) -> list[Row]:
    """The rows of the glossary."""
    matches = map(ROW.fullmatch, lines(app))
    return [Row(**match.groupdict(default="")) for match in matches if match]


def sound(row: Row) -> tuple[str, list[int]]:
    """The key for sorting by pinyin: first the letters, with ü right after u, then the tones."""
    marked = unicodedata.normalize("NFD", row.pinyin.lower())
    tones = [TONES.index(mark) for mark in marked if mark in TONES]
    letters = unicodedata.normalize("NFC", re.sub(f"[{TONES}]", "", marked))
    return re.sub(r"\W", "", letters).replace("ü", "v"), tones


class ByPinyin(SphinxDirective):
    """The glossary, sorted by pinyin."""

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        rows = sorted((row for row in glossary(self.env.app) if row.pinyin), key=sound)
        first, last = ("pinyin, 中文", "where") if LANGUAGE == "en" else ("中文", "出处")
        words = [f"*{r.pinyin}* {r.chinese}" if LANGUAGE == "en" else r.chinese for r in rows]
        table = [f"| {first} | English | {last} |", "|:--|:--|:--|"]
        pairs = zip(words, rows, strict=True)
        table += [f"| {word} | {row.english} | {row.link} |" for word, row in pairs]
        box = nodes.container()
        self.state.nested_parse(StringList(table, source=self.env.docname), 0, box)
        return box.children


def hide_pinyin(app: Sphinx, docname: str, source: list[str]) -> None:
    """Remove the pinyin from the page that a Chinese reader sees."""
    source[0] = without_pinyin(source[0])


def places(app: Sphinx) -> list[tuple[Row, str, str]]:
    """Return each row whose link names a section or has an anchor, with the page and the id."""
    numbered = sections(app.env)
    folder = app.config.glossary_page.rpartition("/")[0]
    found = []
    for row in glossary(app):
        beside = f"{folder}/{row.page}".strip("/")
        page, anchor = numbered.get(row.number, (beside, row.anchor))
        if anchor and page == beside:
            found.append((row, page, anchor))
    return found


def put_words(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Put the Chinese words of each section of a page at its end.

    In the Chinese edition, the line is below the heading, because there it gives the English terms.
    """
    taught: dict[str, list[Row]] = {}
    for row, page, anchor in places(app):
        if page == docname and row.pinyin:
            taught.setdefault(anchor, []).append(row)
    for section in doctree.findall(nodes.section):
        if rows := [row for anchor in section["ids"] for row in taught.get(anchor, ())]:
            inner = (i for i, child in enumerate(section) if isinstance(child, nodes.section))
            end = next(inner, len(section))
            section.insert(end if LANGUAGE == "en" else 1, small_line(rows))


def small_line(rows: list[Row]) -> nodes.paragraph:
    """The line of Chinese words, each with its English term."""
    line = nodes.paragraph(classes=["in-chinese"])
    for row in rows:
        line += [nodes.Text(" · " if len(line) else ""), *in_chinese(row.chinese)]
        line += nodes.Text(f" {row.english}")
    return line


def rewrite(app: Sphinx, env: BuildEnvironment) -> set[str]:
    """Write all pages again if the glossary has changed. Warn about lines that are not rows."""
    for line in lines(app):
        if not ROW.fullmatch(line):
            logger.warning("not a row of the glossary: %s", line, location=app.config.glossary_page)
    before, now = getattr(env, "glossary", None), glossary(app)
    env.glossary = now  # type: ignore[attr-defined]
    return set(env.found_docs) if now != before else set()


def setup(app: Sphinx) -> None:
    """Register the parts. Each reads the rows of the glossary again, since they are few."""
    app.add_config_value("glossary_page", "book/notation", "env")
    app.add_directive("by-pinyin", ByPinyin)
    app.connect("source-read", hide_pinyin)
    app.connect("env-updated", rewrite)
    app.connect("doctree-resolved", put_words)
