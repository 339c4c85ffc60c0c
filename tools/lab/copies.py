"""Copy the book into my/, where readers can change everything.

If several readers share an installation that they can't write to, each has copies in
~/attention-book instead.

A copy that you have changed is never overwritten. If the chapter changes after its copy was made,
the newer version is put beside the copy, as `03_single_head (new).ipynb`, with your answers in it.
An answer whose stub now has different arguments, or is no longer in the chapter, is kept in a text
cell. If you delete or rename your old copy, the newer one takes its place on the next run. There
are never more than two copies of a chapter: if you have changed both, you are asked to remove one.

The copies differ from the book's own notebooks as manuscript/readers_copy.py says. Besides,
pictures are trusted, and the kernel already has the name that JupyterLab would write into the file.
"""

import ast
import hashlib
import json
from copy import deepcopy
from pathlib import Path
from typing import NamedTuple, TypedDict

import nbformat
from ipykernel.ipkernel import IPythonKernel
from ipykernel.kernelspec import get_kernel_dict
from nbformat import NotebookNode
from nbformat.sign import NotebookNotary
from nbformat.v4 import new_markdown_cell

from attnbook.language import _
from manuscript.cells import STUB
from manuscript.chapters import chapters, drafts
from manuscript.common import ROOT, can_write
from manuscript.edition import LANGUAGE
from manuscript.normal_form import text_of
from manuscript.readers_copy import for_readers, without_directives

NOTES = ".copies.json"  # in my/: how each copy was made
KEPT = "kept-"  # the ids of cells for answers without a stub begin with this
NEWER = _(
    "**This is a newer version of the chapter**, with your answers in it. Your earlier copy stays "
    "beside it, as `{name}`, until you delete or rename it. Then this one takes its place."
)
ANSWER = """\
{why}

````python
{answer}
````"""
CHANGED = _(
    "**Your earlier answer.** The function to write has changed, so your answer is not in the cell "
    "above."
)
GONE = _("**Your earlier answer.** Its exercise is no longer in this chapter.")


class Note(TypedDict):
    """How a copy was made: a hash of its file, and the texts of the book's cells by id."""

    made: str
    texts: dict[str, str]


class Answer(NamedTuple):
    """What the reader has written into the cell of an exercise, and its original stub."""

    text: str
    stub: str


def readers_folder() -> Path:
    """Where the copies are: in my/, or in the reader's home if the installation is read-only."""
    mine = ROOT / "my"
    if not can_write(mine):
        mine = Path.home() / "attention-book"
    return mine / ("" if LANGUAGE == "en" else LANGUAGE)


def copy_book(root: Path, mine: Path) -> list[str]:
    """Add missing copies and update unchanged ones; return a line for each newer version."""
    mine.mkdir(exist_ok=True)
    copies = Copies(mine)
    entries = [f"- [{c.number}. {c.title}]({c.path.name})\n" for c in chapters(root)]
    left_out = drafts(root)
    for page in sorted((root / "book").glob("*.md")):
        if page not in left_out:
            copies.put(
                mine / page.name, without_directives(page.read_text("utf-8"), "".join(entries)), {}
            )
    notebooks = [path for path in sorted((root / "book").glob("*.ipynb")) if path not in left_out]
    lines = [copies.put_notebook(path) for path in notebooks]
    copies.save()
    return [line for line in lines if line]


class Copies:
    """The reader's folder, with notes on how its copies were made."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        file = folder / NOTES
        self.notes: dict[str, Note] = json.loads(file.read_text("utf-8")) if file.exists() else {}

    def save(self) -> None:
        """Write the notes into their file."""
        text = json.dumps(self.notes, indent=1, sort_keys=True, ensure_ascii=False)
        (self.folder / NOTES).write_text(text + "\n", encoding="utf-8", newline="\n")

    def put_notebook(self, source: Path) -> str:
        """Copy a notebook, or put a newer version beside the reader's; return a message."""
        first = self.folder / source.name
        new = newer(first)
        if new.exists() and new.name in self.notes and not first.exists():
            new.rename(first)
            self.notes[first.name] = self.notes.pop(new.name)
        notebook = nbformat.read(source, as_version=4)
        current = cell_texts(notebook)
        for_readers(notebook)
        notebook.metadata.kernelspec.display_name = get_kernel_dict()["display_name"]
        notebook.metadata.language_info = nbformat.from_dict(IPythonKernel.language_info)
        answers: dict[str, Answer] = {}
        for copy in (first, new):
            answers |= self.answers(copy)
            answered = with_answers(notebook, answers)
            if copy == new:
                notice = NEWER.format(name=first.name)
                answered.cells.insert(0, new_markdown_cell(notice, id="newer"))
            if self.put(copy, text_of(answered), current):
                NotebookNotary().sign(nbformat.read(copy, as_version=4))
                line = _("{copy}: a newer version of the chapter, with your answers in it")
                return line.format(copy=self.shown(copy)) if copy == new else ""
            if self.notes.get(copy.name, {"texts": current})["texts"] == current:
                return ""
        line = _("{copy}: there is a newer version; remove this copy or '{new}'")
        return line.format(copy=self.shown(first), new=new.name)

    def shown(self, copy: Path) -> str:
        """The name of a copy in a message, such as my/03_single_head.ipynb."""
        return f"{self.folder.name}/{copy.name}"

    def put(self, copy: Path, text: str, book: dict[str, str]) -> bool:
        """Write a copy, or return False if the reader has changed the one that is there."""
        note = self.notes.get(copy.name)
        if copy.exists() and not (note and note["made"] == digest(copy.read_bytes())):
            return False
        copy.write_text(text, encoding="utf-8", newline="\n")
        self.notes[copy.name] = {"made": digest(copy.read_bytes()), "texts": book}
        return True

    def answers(self, copy: Path) -> dict[str, Answer]:
        """Return the answers in a copy by the ids of their cells, including kept answers."""
        if not (copy.exists() and copy.name in self.notes):
            return {}
        before = self.notes[copy.name]["texts"]
        now = cell_texts(nbformat.read(copy, as_version=4))
        return {
            id: Answer(text, before.get(id, ""))
            for id, text in now.items()
            if id.startswith((STUB, KEPT)) and text != before.get(id)
        }


def newer(copy: Path) -> Path:
    """The path of a newer version beside a copy."""
    return copy.with_stem(f"{copy.stem} (new)")


def with_answers(notebook: NotebookNode, answers: dict[str, Answer]) -> NotebookNode:
    """Put answers into a chapter: in place of their stubs if they fit, else into text cells."""
    notebook = deepcopy(notebook)
    stubs = {cell.id: cell for cell in notebook.cells if cell.id.startswith(STUB)}
    for id, (text, old_stub) in answers.items():
        stub = stubs.get(id)
        if stub and functions(stub.source) == functions(old_stub):
            stub.source, stub.outputs, stub.execution_count = text, [], None
        elif id.startswith(KEPT):
            put_below(notebook, new_markdown_cell(text, id=id))
        elif (kept := f"{KEPT}{id.removeprefix(STUB)}-{digest(text.encode())[:6]}") not in answers:
            why = CHANGED if stub else GONE
            put_below(notebook, new_markdown_cell(ANSWER.format(why=why, answer=text), id=kept))
    return notebook


def functions(code: str) -> list[str]:
    """The functions that code defines, with their arguments."""
    found = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.FunctionDef)]
    return [f"{function.name}({ast.unparse(function.args)})" for function in found]


def put_below(notebook: NotebookNode, kept: NotebookNode) -> None:
    """Put a kept answer below the stub of its exercise, or at the end of the notebook."""
    ids = [cell.id for cell in notebook.cells]
    stub = STUB + kept.id.removeprefix(KEPT).rpartition("-")[0]
    notebook.cells.insert(ids.index(stub) + 1 if stub in ids else len(ids), kept)


def cell_texts(notebook: NotebookNode) -> dict[str, str]:
    """Return the text of each cell, by its id."""
    return {cell.id: cell.source for cell in notebook.cells}


def digest(content: bytes) -> str:
    """Return a hash of a file's content, or of a text."""
    return hashlib.sha256(content).hexdigest()
