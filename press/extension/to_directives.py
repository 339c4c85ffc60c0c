"""Turn the plain Markdown of notebooks into directives for the pages.

JupyterLab, VS Code, Colab and GitHub do not show directives. So cells have tags that say what they
are, and this module writes the directives when Sphinx reads a notebook:

opening                     the block quote, without its first line; each paragraph has the
                            class of its bold word: question, time, ...
danger, exercise            a box: its title is the heading, or the bold words in the first
                            line of the block quote; the rest of the quote is inside, and an
                            exercise has its questions below
answer                      answers the prediction above: a page hides this text, or a code cell's
                            output, until the reader has made a guess (answers.js)
after-answer                follows such a text, which introduces it, so it is hidden, too; no cell
                            has this tag, it is given here
caption                     the caption of the picture above it
solution                    offers hints and a solution as code to run; a page shows both, folded

A heading whose metadata has a "part", such as "Training a head", begins a part of the chapter: a
page shows its name and minutes (headings.py). A page also folds the code of the imports, and of
cells that only draw (folds.py). Some chapters begin with one of their figures.
"""

import ast
import itertools
import json
import re
from typing import Any

import nbformat
from nbformat.v4 import new_notebook
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

from attnbook import figures, widgets
from attnbook.language import _
from manuscript import markers
from manuscript.minutes import in_minutes, reading_seconds, rounded

from .section_links import exercise_anchor

BOXES = {"opening", "danger", "exercise"}
BOX = re.compile(r"(?:^### (?P<heading>.+)\n\n)?(?P<quote>(?:^>.*\n?)+)", re.M)
THREADS = re.compile(r"torch\.set_num_threads\(.*")
SECTION = re.compile(r"## (\S+\.\d+) ")
BOLD = re.compile(r"\*\*(.+)\*\*\n")
EXERCISE = re.compile(r'solution\("([\w.]+)"\)')
ASKED = re.compile(r"(\d\d\.\w+)(?:: |：)")
LABELS = {markers.label(word): word.lower().replace(" ", "-") for word in markers.OPENING}
LABEL = re.compile(rf"({'|'.join(map(re.escape, LABELS))}) ")
DRAWING = {name for name in (*dir(figures), *dir(widgets)) if not name.startswith("_")}

Cell = dict[str, Any]


def write_directives(app: Sphinx, docname: str, source: list[str]) -> None:
    """Write the directives into a notebook that Sphinx has just read."""
    if app.env.doc2path(docname).endswith(".ipynb"):
        notebook, page = json.loads(source[0]), docname.rpartition("/")[2]
        app.env.temp_data["parts"] = parts(source[0])
        app.env.temp_data["second readings"] = second_readings(notebook["cells"])
        cells: list[Cell] = []
        for cell in notebook["cells"]:
            write_cell(cell, cells, page)
        begin_with_figure(cells, page)
        source[0] = json.dumps(notebook | {"cells": cells})


def parts(source: str) -> dict[str, tuple[str, str, str, str]]:
    """Return the parts of a chapter, by the heading that begins each.

    A part is its number, its name, its sections and its minutes, each as a text. Second readings
    count only in a part that has nothing else.
    """
    begun: list[tuple[str, str, list[Cell]]] = []
    for cell in nbformat.reads(source, as_version=4).cells:
        if name := cell.metadata.get("part"):
            begun.append((cell.source.splitlines()[0].lstrip("# "), name, []))
        if begun:
            begun[-1][2].append(cell)
    found = {}
    for number, (heading, name, cells) in enumerate(begun, 1):
        of = _("Part {number} of {count}").format(number=number, count=len(begun))
        told = itertools.takewhile(lambda cell: cell["id"] != "exercises", cells)
        sections = [cell for cell in told if SECTION.match(cell["source"])]
        seconds, second = reading_seconds(new_notebook(cells=cells))
        if len(second_readings(sections)) == len(sections):
            seconds += second
        found[heading] = of, name, range_of(sections), in_minutes(rounded(seconds))
    return found


def range_of(sections: list[Cell]) -> str:
    """Return the numbers of a part's first and last section."""
    numbers = [SECTION.findall(cell["source"])[0] for cell in sections]
    if len(numbers) < 2:
        return "".join(numbers)
    return _("{first} to {last}").format(first=numbers[0], last=numbers[-1])


def second_readings(cells: list[Cell]) -> set[str]:
    """The headings of the sections that can be skipped at first."""
    return {
        "".join(cell["source"]).splitlines()[0].lstrip("# ")
        for cell in cells
        if markers.SECOND_READING_TAG in cell["metadata"].get("tags", [])
    }


def write_cell(cell: Cell, before: list[Cell], page: str) -> None:
    """Append a cell in the form that it has on the page."""
    text, tags = "".join(cell["source"]), tags_of(cell)
    picture = before[-1] if before else cell
    if "caption" in tags and picture["cell_type"] == "code":
        about = picture["metadata"].setdefault("mystnb", {})
        about["figure"] = {"caption": text[1:-1], "name": f"{page}-{picture['id']}"}
        return
    if "solution" in tags and (found := EXERCISE.search(text)):
        text = f":::{{solution}} {found[1]}\n:::"
        cell = {"cell_type": "markdown", "id": cell["id"], "metadata": {}}
    for kind in BOXES & tags:
        if quotation := BOX.search(text):
            text = text[: quotation.start()] + box(quotation, kind) + text[quotation.end() :]
    if cell["cell_type"] == "code" and THREADS.fullmatch(text) and before:
        before[-1]["source"] += f"\n{text}"  # a setting, folded together with the imports
        return
    if cell["cell_type"] == "markdown" and "answer" in tags:
        text = f"::::::{{container}} answer\n{text}\n::::::\n"
    follows = "after-answer" in tags_of(picture) or (
        picture["cell_type"] == "markdown" and "answer" in tags_of(picture)
    )
    if cell["cell_type"] == "code" and "answer" not in tags and follows:
        tags.add("after-answer")
        cell = {**cell, "metadata": {**cell["metadata"], "tags": sorted(tags)}}
    before.append({**cell, "source": text})
    if cell["cell_type"] == "code" and (cell["id"] == "imports" or only_draws(text)):
        kind = "fold-imports" if cell["id"] == "imports" else "fold-code"
        before[-1]["metadata"] = {**cell["metadata"], "tags": [*tags, kind]}


def begin_with_figure(cells: list[Cell], page: str) -> None:
    """Show the interactive figure with the tag `try-first` below the chapter's opening, too."""
    place = next((i for i, cell in enumerate(cells) if "try-first" in tags_of(cell)), None)
    if place is None:
        return
    texts = ("".join(cell["source"]) for cell in reversed(cells[:place]))
    heading = next(text for text in texts if SECTION.match(text)).partition("\n")[0]
    link = f"[{heading.split()[1]}]({page}.ipynb)"
    if heading.endswith(markers.second_reading()):
        link += markers.second_reading()
    says = _("Try this first. Section {section} explains what you see.").format(section=link)
    text = f"{{.try-first}}\n{says}\n\n:::{{output}} {page}.ipynb {cells[place]['id']}\n:::"
    after = next(i for i, cell in enumerate(cells) if cell["id"] == "imports") + 1
    cells.insert(after, {"cell_type": "markdown", "id": "first", "metadata": {}, "source": text})


def tags_of(cell: Cell) -> set[str]:
    """The tags of a cell."""
    return set(cell["metadata"].get("tags", []))


def only_draws(code: str) -> bool:
    """Whether the code consists only of calls that draw figures."""
    lines = [ast.unparse(line) for line in ast.parse(code).body]
    calls = [re.match(r"(\w+)\(", line) for line in lines]
    return bool(calls) and all(call and call[1] in DRAWING for call in calls)


def box(match: re.Match[str], kind: str) -> str:
    """A block quote as an admonition."""
    inside = re.sub(r"^> ?", "", match["quote"], flags=re.M)
    if kind == "opening":
        return opening(inside)
    title = match["heading"]
    if not title and (bold := BOLD.match(inside)):
        title, inside = bold[1], inside[bold.end() :]
    if kind == "exercise":
        asked = ASKED.search(title or "")
        if not asked and re.search(r"\d\d\.\w", title or ""):
            raise ExtensionError(
                f"an exercise needs a title such as '03.scale: ...', not {title!r}"
            )
        if asked:
            inside = f"{inside.rstrip()}\n\n:::{{practice}} {asked[1]}\n:::"
            kind += f"\n:name: {exercise_anchor(asked[1])}"
    return f"::::{{admonition}} {title}\n:class: {kind}\n{inside.rstrip()}\n::::\n"


def opening(inside: str) -> str:
    """The opening of a chapter. The question needs no label."""
    paragraphs = [part.strip() for part in inside.split("\n\n")]
    dressed = []
    for paragraph in paragraphs:
        if label := LABEL.match(paragraph):
            text = paragraph[label.end() :] if LABELS[label[1]] == "question" else paragraph
            dressed.append(f"{{.{LABELS[label[1]]}}}\n{text}")
    return "::::{container} opening\n" + "\n\n".join(dressed) + "\n::::\n"


def setup(app: Sphinx) -> None:
    """Change every notebook before it is parsed."""
    app.connect("source-read", write_directives)
