"""Notebooks hold Markdown that every program shows; here it becomes what a page has more.

JupyterLab, VS Code, Colab and GitHub know no directive. So a chapter says by the tags of its cells
what they are, and this writes the directives for Sphinx when it reads the notebook:

opening, danger, exercise   a box: its title is the heading, or the bold words of the quotation's
                            first line; what is quoted is inside, and below an exercise its
                            questions
caption                     stands under a picture, in the emphasis of a caption
solution                    offers hints as code to run; a page folds them, and the solution
"""

import json
import re
from typing import Any

from sphinx.application import Sphinx

BOXES = {"opening", "danger", "exercise"}
BOX = re.compile(r"(?:^### (?P<heading>.+)\n\n)?(?P<quote>(?:^>.*\n?)+)", re.M)
BOLD = re.compile(r"\*\*(.+)\*\*\n")
EXERCISE = re.compile(r'solution\("([\w.]+)"\)')
ASKED = re.compile(r"(\d\d\.\w+): ")

Cell = dict[str, Any]


def write_directives(app: Sphinx, docname: str, source: list[str]) -> None:
    """Write the directives into a notebook that Sphinx has just read."""
    if app.env.doc2path(docname).endswith(".ipynb"):
        notebook = json.loads(source[0])
        cells: list[Cell] = []
        for cell in notebook["cells"]:
            write_cell(cell, cells, docname.rpartition("/")[2])
        source[0] = json.dumps(notebook | {"cells": cells})


def write_cell(cell: Cell, before: list[Cell], page: str) -> None:
    """Put a cell behind those before it, in the form that it has on this page."""
    text, tags = "".join(cell["source"]), set(cell["metadata"].get("tags", []))
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
    before.append({**cell, "source": text})


def box(match: re.Match[str], kind: str) -> str:
    """A quotation as an admonition."""
    inside = re.sub(r"^> ?", "", match["quote"], flags=re.M)
    title = match["heading"]
    if not title and (bold := BOLD.match(inside)):
        title, inside = bold[1], inside[bold.end() :]
    if kind == "exercise" and (asked := ASKED.search(title or "")):
        inside = f"{inside.rstrip()}\n\n:::{{practice}} {asked[1]}\n:::"
    return f"::::{{admonition}} {title}\n:class: {kind}\n{inside.rstrip()}\n::::\n"


def setup(app: Sphinx) -> None:
    """Look at every notebook before it is parsed."""
    app.connect("source-read", write_directives)
