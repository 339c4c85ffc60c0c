"""What a translator translates: the messages of the pages, of their code, and of the library.

A message of a page is a line of its Markdown, because each paragraph of the book is one line. The
marks of a line, such as `## 3.4 `, `- ` or `**Question:** `, are removed and later put back around
the translation, so a translator cannot lose them. Directives are not translated; of code only the
comments are, and of a displayed formula only the words in it.
"""

import gettext
import html
import itertools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from unittest import mock

import nbformat
import yaml
from babel.messages import Catalog, Message
from babel.messages.extract import extract_from_dir

from attnbook.language import NAMES, as_message
from manuscript import markers
from manuscript.cells import GENERATED
from manuscript.chapters import pages, read_contents
from manuscript.comments import block_remarks, remarks
from manuscript.common import ROOT
from manuscript.labels import SVG, figures, labels
from manuscript.normal_form import NOT_INSTALLED

if TYPE_CHECKING:
    from attnbook.exercises.exercise import Exercise

RAW = re.compile(  # formulas and code on lines of their own
    r"(^(?:> ?)?\$\$.*?\$\$ *$|^(?:> )?```(?!\{image).*?^(?:> )?``` *$)", re.M | re.S
)
IN_FORMULA = re.compile(  # words in a displayed formula, but not names
    r"(?<=\\text\{)(?!(?:attention|bias|head|key|query|softmax|value|weights)\})"
    r"[^{}]*[A-Za-z]{2}[^{}]*(?=\})"
)
LABELS = "|".join(f"{word}:" for word in markers.OPENING) + "|" + re.escape(markers.PREDICT)
MARKS = re.compile(
    r"(?P<before>(?:> ?| *(?:[-*]|\d+\.) |#+ (?:\d+\. |(?:\d+|[A-Z])\.\d+ )?|:alt: |:(?!:) *"
    rf"|<summary>(?:[A-Z]\. )?|\*\*(?:{LABELS})\*\* |\*(?!\*)(?=.*[^*]\*$))*)"
    rf"(?P<text>.*?)(?P<after> \({markers.SECOND_READING}\)|</summary>|(?<=[^*])\*)?"
)
NO_WORDS = re.compile(r"`[^`]*`|\$[^$]*\$|\]\([^)]*\)")
WORD = re.compile(r"[A-Za-z]{2}")
MARKUP = re.compile(  # the last is a row written by `make validate`, ending with a commit
    r"</|<(?!summary)\w|[> ]*\|[-:| ]+$|\([\w-]+\)=$|:::|```|\{[.#][\w-]+\}$|:(?!alt)\w+:"
    r"|\|.*\| [\da-f]{7} \|$"
)

NAMES_ONLY = re.compile(  # case notes that contain only code names or letters
    r'\w+\(".*"\)|.* = \[.*|(?:\w )+\w|(?!.*`).*\w_\w.*|'
)
FIGURE = re.compile(r'<attn-[^>]* data="([^"]*)"')
MARK = "\0"  # see `constant_notes`

SOURCES = (  # where the library's messages are
    ("src", "**.py", "python"),
    ("manuscript", "**.py", "python"),
    ("tools", "**.py", "python"),
    ("press", "**.py", "python"),
    ("press/templates", "**.html", "jinja2"),
    ("press/pdf", "**.html", "jinja2"),
    ("press/static", "*.js", "javascript"),
)
ARGPARSE = (  # what Python's argparse says in the terminal
    "usage: ",
    "options",
    "positional arguments",
    "show this help message and exit",
    "argument %(argument_name)s: %(message)s",
    "invalid choice: %(value)r (choose from %(choices)s)",
    "unrecognized arguments: %s",
    "the following arguments are required: %s",
    "expected one argument",
)
KEYWORDS = {"_": None, "say": None, "ngettext": (1, 2)}


class Line(NamedTuple):
    """A line of Markdown: a message and the markup around it, or only `before`."""

    before: str
    message: str = ""
    after: str = ""


def lines_of(markdown: str) -> Iterator[Line]:
    """Split a text into lines and line breaks; joined together, they give the text again."""
    for part in RAW.split(markdown):
        if RAW.fullmatch(part):
            yield Line(part)
            continue
        for n, line in enumerate(part.split("\n")):
            if n:
                yield Line("\n")
            yield split_line(line)


def split_line(line: str) -> Line:
    """Split a line into its message and the marks before and after the message."""
    match = MARKS.fullmatch(line)
    if not match or MARKUP.match(line):
        return Line(line)
    before, message, after = match["before"], match["text"], match["after"] or ""
    if after == "*" and not before.endswith("*"):
        message, after = message + after, ""
    if not WORD.search(NO_WORDS.sub("", message)):
        return Line(line)
    return Line(before, message, after)


class Text(NamedTuple):
    """A text of a page: where it is, and the object and the key that hold it."""

    place: str
    holder: Any
    key: str


def read_page(path: Path) -> tuple[Any, list[Text]]:
    """Read a page and list its texts; to change one in the page, assign to `holder[key]`."""
    if path.suffix == ".md":
        page = {"text": path.read_text("utf-8")}
        return page, [Text("", page, "text")]
    notebook = nbformat.read(path, as_version=4)
    found = []
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and not GENERATED.match(cell.id):
            found.append(Text(cell.id, cell, "source"))
        if "part" in cell.metadata:
            found.append(Text(cell.id, cell.metadata, "part"))
        image = cell.metadata.get("mystnb", {}).get("image", {})
        if "alt" in image:
            found.append(Text(cell.id, image, "alt"))
    return notebook, found


def page_messages(path: Path) -> Catalog:
    """Return the messages of a page, with the cells that they are in."""
    catalog = Catalog(charset="utf-8", fuzzy=False)
    for place, holder, key in read_page(path)[1]:
        for line in lines_of(holder[key]):
            where = f"{path.name}#{place}" if place else path.name
            if line.message and not line.before.endswith(f"**{markers.TIME}:** "):
                catalog.add(line.message, locations=[(where, 0)])
            for words in IN_FORMULA.findall(line.before):
                catalog.add(words, locations=[(where, 0)])
    return catalog


def code_cells(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    """Return the code cells of a notebook, without those of exercises."""
    return [c for c in notebook.cells if c.cell_type == "code" and not GENERATED.match(c.id)]


def comment_messages() -> Catalog:
    """Return the comments and docstrings in text, in cells and below them, with their places."""
    catalog = Catalog(charset="utf-8", fuzzy=False)
    for path in pages():
        for place, holder, key in read_page(path)[1]:
            where = f"{path.name}#{place}" if place else path.name
            for block in RAW.findall(holder[key]):
                for start, end in block_remarks(block):
                    catalog.add(block[start:end], locations=[(where, 0)])
        if path.suffix == ".ipynb":
            for cell in code_cells(nbformat.read(path, as_version=4)):
                where = f"{path.name}#{cell.id}"
                for code in (cell.source, *(data["text/plain"] for data in shown_source(cell))):
                    for start, end in remarks(code):
                        catalog.add(code[start:end], locations=[(where, 0)])
    return catalog


def shown_source(cell: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    """Return what `show_source` displayed below a cell: code of the library, in two formats."""
    shown = [output.get("data", {}) for output in cell.get("outputs", [])]
    return [data for data in shown if "text/markdown" in data]


def library_messages() -> Catalog:
    """Return the messages of the library, of all other code, and of the pages' templates.

    Most are arguments of `_`, `ngettext` or, in a template, `say`. Those of an exercise are in its
    fields, the words that mark parts of a page are in manuscript/markers.py, and the names in
    interactive figures and the labels of others are in the notebooks' outputs.
    """
    catalog = Catalog(charset="utf-8", fuzzy=False)
    for folder, files, kind in SOURCES:
        found = extract_from_dir(ROOT / folder, [(files, kind)], keywords=KEYWORDS)
        for file, _line, message, _comments, _context in sorted(found, key=lambda f: f[:2]):
            catalog.add(message, locations=[(f"{folder}/{file}", 0)])
    for word in (*markers.OPENING, markers.PREDICT, markers.SECOND_READING):
        catalog.add(word, locations=[("manuscript/markers.py", 0)])
    catalog.add(NOT_INSTALLED, locations=[("manuscript/normal_form.py", 0)])
    for part in read_contents(ROOT)["parts"]:
        catalog.add(part["caption"], locations=[("_toc.yml", 0)])
    config = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))
    description = config["sphinx"]["config"]["html_context"]["description"]
    for text in (config["title"], config["author"], description):
        catalog.add(text, locations=[("_config.yml", 0)])
    for where, message in (*exercise_messages(), *name_messages()):
        catalog.add(message, locations=[(where, 0)])
    for where, message in label_messages():
        catalog.add(message, locations=[(where, 0)])
    return catalog


def name_messages() -> Iterator[tuple[str, str]]:
    """Yield the names that cells give to parts of interactive figures, and the cells.

    Words of a sentence and names in code are left alone.
    """
    for path in pages():
        if path.suffix == ".ipynb":
            for cell in code_cells(nbformat.read(path, as_version=4)):
                for output in cell.outputs:
                    figure = FIGURE.search(output.get("data", {}).get("text/html", ""))
                    for name in names(json.loads(html.unescape(figure[1]))) if figure else ():
                        yield f"book/{path.name}#{cell.id}", as_message(name)


def names(data: Any, key: str = "") -> Iterator[str]:
    """Yield the names in the data of an interactive figure, which `named` translates."""
    if isinstance(data, dict):
        for inner, value in data.items():
            if inner == "words" and isinstance(value, dict):
                # the library's messages, except for two that a cell gives
                yield from (value[key] for key in ("maps", "outcome") if value.get(key))
            elif inner not in ("words", "labels", "parts"):
                yield from names(value, inner)
    elif isinstance(data, list):
        for value in data:
            yield from names(value, key)
    elif key in NAMES and isinstance(data, str) and WORD.search(data) and "_" not in data:
        yield data


def label_messages() -> Iterator[tuple[str, str]]:
    """Yield the labels of the figures in the notebooks, with the cells that they are in."""
    for path in pages():
        if path.suffix == ".ipynb":
            for cell, data in figures(nbformat.read(path, as_version=4)):
                for label in labels(data[SVG]):
                    if WORD.search(label):
                        yield f"book/{path.name}#{cell}", as_message(label)


def is_label(message: Message) -> bool:
    """Return whether a message is a label of a figure in a notebook."""
    return any(where.startswith("book/") for where, _line in message.locations)


def script_messages() -> list[str]:
    """Return the messages of the pages' scripts: the arguments of `_` in press/static."""
    found = extract_from_dir(ROOT / "press" / "static", [("*.js", "javascript")], keywords=KEYWORDS)
    return [str(message) for _line, _file, message, *_rest in found]


def exercise_messages() -> Iterator[tuple[str, str]]:
    """Yield each message of the exercises and their commands, with the place it comes from."""
    from attnbook.examination.facts import meanings
    from attnbook.exercises.catalog import ALL, CHAPTERS
    from attnbook.exercises.exercise import STUB_COMMENT
    from attnbook.exercises.source import comments_of
    from attnbook.exercises.terminal import commands as terminal

    for described in (terminal, *(run for run, argument in terminal.COMMANDS.values())):
        yield "commands", str(described.__doc__)
    for meaning in meanings().values():
        yield "commands", meaning
    for words in ARGPARSE:
        yield "argparse", words
    for chapter in CHAPTERS:
        yield "chapters", chapter
    for exercise in ALL.values():
        for note in constant_notes(exercise):
            yield exercise.id, note
        mistakes = [m for m in (*exercise.mistakes, *exercise.common_mistakes) if m.single]
        for text in (
            exercise.title,
            exercise.prompt.strip(),
            *exercise.hints,
            exercise.insight,
            exercise.comes_back,
            *(mistake.message for mistake in mistakes),
            *(wanted.message for wanted in exercise.properties),
            *STUB_COMMENT.findall(exercise.stub),
            *itertools.chain(*map(comments_of, (exercise.reference, *exercise.others))),
        ):
            if text:
                yield exercise.id, text


class Marks(gettext.NullTranslations):
    """A catalog that marks what `_` returns, to distinguish it from other texts."""

    def gettext(self, message: str) -> str:
        """Return the message with a mark."""
        return f"{MARK}{message}"


def constant_notes(exercise: "Exercise") -> Iterator[str]:
    """Yield the notes of an exercise's cases, except those that `_` has translated."""
    from torch import Generator

    from attnbook import language

    with mock.patch.object(language, "catalog", Marks):
        cases = exercise.cases(Generator().manual_seed(0))
    for case in cases:
        is_name = any(isinstance(x, str) and x == case.note for x in case.arguments)
        if not (is_name or MARK in case.note or NAMES_ONLY.fullmatch(case.note)):
            yield case.note
