"""The rows of the glossary in book/notation.md, in the other places where they are of use.

A row is written once: English, the Chinese word with its pinyin, a link to the section that
introduces it, and a line. When the pages are written, this puts

- the Chinese words of a section below its heading, in small type
- both words into the search index, so that a search for one leads to that section first
- the rows in the order of their pinyin into a second table, `:::{by-pinyin}`

The pinyin is typed. A library that knows the readings of characters guesses where one has several:
pypinyin 0.55 took the 差 of 残差, 标准差 for *chà* and the 子 of 子空间 for *zi*.
"""

import re
import unicodedata
from pathlib import Path
from typing import NamedTuple

from docutils import nodes
from docutils.statemachine import StringList
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from .chinese import in_chinese
from .sections import sections

HEADING = "## Glossary, English and Chinese\n"
TONES = dict.fromkeys(map(ord, "\u0300\u0301\u0304\u030c"))  # the marks over vowels, apart from ü's

logger = logging.getLogger(__name__)


class Row(NamedTuple):
    """A row of the glossary."""

    english: str
    chinese: str
    pinyin: str  # empty where the Chinese word is written in Latin letters
    link: str  # in Markdown: [6.3](06_masked_attention.ipynb)
    number: str  # of the section, such as 6.3; empty if the link has an anchor
    page: str  # without suffix
    anchor: str

    def words(self) -> list[str]:
        """What somebody may search for."""
        return [word for word in re.split("[,、()]", self.english + "," + self.chinese) if word]


ROW = re.compile(
    r"\| (?P<english>[^|]+) \| (?P<chinese>[^|*]+?)(?: \*(?P<pinyin>[^|*]+)\*)? \| "
    r"(?P<link>\[(?P<number>[\d.]*)[\w ]*\]\((?P<page>\w+)\.ipynb(?:#(?P<anchor>[\w-]+))?\)) \| "
    r".+ \|"
)


def lines(app: Sphinx) -> list[str]:
    """The lines of the glossary's table, without its head; none if the book has no glossary."""
    page = Path(app.srcdir, app.config.glossary_page + ".md")
    text = page.read_text("utf8") if page.exists() else ""
    table = re.search(r"(?:^\|.*\n)+", text.partition(HEADING)[2], re.M)
    return table[0].splitlines()[2:] if table else []


def glossary(app: Sphinx) -> list[Row]:
    """The rows of the glossary."""
    matches = map(ROW.fullmatch, lines(app))
    return [Row(**match.groupdict(default="")) for match in matches if match]


def sound(row: Row) -> tuple[str, str]:
    """What sorts by pinyin: the letters, and then the tones."""
    marked = unicodedata.normalize("NFD", row.pinyin.lower())
    letters = unicodedata.normalize("NFC", marked.translate(TONES))
    return re.sub(r"\W", "", letters).replace("ü", "v"), marked


class ByPinyin(SphinxDirective):
    """The table in the order of the pinyin."""

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        rows = sorted((row for row in glossary(self.env.app) if row.pinyin), key=sound)
        table = ["| pinyin, 中文 | English | where |", "|:--|:--|:--|"]
        table += [f"| *{r.pinyin}* {r.chinese} | {r.english} | {r.link} |" for r in rows]
        box = nodes.container()
        self.state.nested_parse(StringList(table, source=self.env.docname), 0, box)
        return box.children


def put_words(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Put the words of each section of a page below its heading, and into the index."""
    numbered = sections(app.env)
    folder, _, name = docname.rpartition("/")
    taught: dict[str, list[Row]] = {}
    for row in glossary(app):
        page, anchor = numbered.get(row.number, (f"{folder}/{row.page}".strip("/"), row.anchor))
        if page == docname and row.page == name and anchor:
            taught.setdefault(anchor, []).append(row)
    for section in doctree.findall(nodes.section):
        rows = [row for anchor in section["ids"] for row in taught.get(anchor, ())]
        if rows:
            section.insert(1, [entries(rows, section["ids"][0]), *small_line(rows)])


def entries(rows: list[Row], anchor: str) -> addnodes.index:
    """The words for the index of the search; nothing of them is seen."""
    words = [word.strip() for row in rows for word in row.words()]
    return addnodes.index(entries=[("single", word, anchor, "main", None) for word in words])


def small_line(rows: list[Row]) -> list[nodes.Node]:
    """The Chinese words of the rows, each with the English; nothing if all are Latin."""
    line = nodes.paragraph(classes=["in-chinese"])
    for row in rows:
        if row.pinyin:
            line += [nodes.Text(" · " if len(line) else ""), *in_chinese(row.chinese)]
            line += nodes.Text(f" {row.english}")
    return [line] if len(line) else []


def rewrite(app: Sphinx, env: BuildEnvironment) -> set[str]:
    """Write all pages again when the glossary has changed. A line that is no row is a warning."""
    for line in lines(app):
        if not ROW.fullmatch(line):
            logger.warning("no row of the glossary: %s", line, location=app.config.glossary_page)
    before, now = getattr(env, "glossary", None), glossary(app)
    env.glossary = now  # type: ignore[attr-defined]
    return set(env.found_docs) if now != before else set()


def setup(app: Sphinx) -> None:
    """Read the rows anew for each page, since they are few."""
    app.add_config_value("glossary_page", "book/notation", "env")
    app.add_directive("by-pinyin", ByPinyin)
    app.connect("env-updated", rewrite)
    app.connect("doctree-resolved", put_words)
