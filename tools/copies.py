"""Copy the book into my/, where you may try and change everything. `make lab` calls this.

Nothing that you changed is written to again. When a chapter has changed since its copy was made,
the newer version is put beside it, as `03_single_head (new).ipynb`, with your answers in it. Delete
your old copy, or give it another name, and the newer one takes its place the next time.

What is the matter of readers and not of authors is done here and not in the book's own notebooks:
the cell that installs is folded, what follows a prediction has yet to be run, pictures are trusted,
and the kernel has the name that opening a notebook would write into it.
"""

import itertools
import re
from collections.abc import Iterator
from pathlib import Path

import nbformat
from ipykernel.ipkernel import IPythonKernel
from ipykernel.kernelspec import get_kernel_dict
from nbformat import NotebookNode
from nbformat.sign import NotebookNotary

from tools import words
from tools.cells import STUB
from tools.chapters import chapters
from tools.run import INSTALL_ID, text_of

MADE = ".made"  # the folder in my/ where each copy lies once more, as it was made
BLOCK = re.compile(r"^(:::|```)\{(\w+)\} *([^\n]*)\n(.*?)^\1\n?", re.M | re.S)
LABEL = re.compile(r"^\([\w-]+\)=\n", re.M)


def copy_book(root: Path, mine: Path) -> list[str]:
    """Copy what is missing, renew what was left as it was; return a line for each newer version."""
    (mine / MADE).mkdir(parents=True, exist_ok=True)
    entries = [f"- [{c.number}. {c.title}]({c.path.name})\n" for c in chapters(root)]
    for page in sorted((root / "book").glob("*.md")):
        put(mine / page.name, plain(page.read_text("utf-8"), "".join(entries)))
    lines = [copy_notebook(path, mine) for path in sorted((root / "book").glob("*.ipynb"))]
    return [line for line in lines if line]


def copy_notebook(source: Path, mine: Path) -> str:
    """Copy a notebook, or put its newer version beside the reader's; return a line about that."""
    take_place(mine / source.name)
    notebook = read(source)
    current = texts(notebook)
    for_readers(notebook)
    notebook.metadata.kernelspec.display_name = get_kernel_dict()["display_name"]
    notebook.metadata.language_info = nbformat.from_dict(IPythonKernel.language_info)
    for copy in versions(mine / source.name):
        if put(copy, text_of(notebook)):
            NotebookNotary().sign(read(copy))
            is_newer = copy.name != source.name
            return f"my/{copy.name}: a newer version, with your answers in it" if is_newer else ""
        if not made(copy).exists() or texts(read(made(copy))) == current:
            break
        answers = answers_in(copy)
        for cell in notebook.cells:
            if cell.id in answers:
                cell.source, cell.outputs, cell.execution_count = answers[cell.id], [], None
    return ""


def for_readers(notebook: NotebookNode) -> None:
    """Fold the cell that installs, and clear the outputs that would give a prediction away."""
    asked = False
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and "caption" not in cell.metadata.get("tags", []):
            asked = f"**{words.PREDICT}**" in cell.source
        elif cell.cell_type == "code" and asked:
            cell.outputs, cell.execution_count = [], None
        if cell.id == INSTALL_ID:
            cell.metadata.jupyter = {"source_hidden": True}


def plain(page: str, contents: str) -> str:
    """The text of a page as JupyterLab can show it: without what only the built page understands."""

    def resolved(block: re.Match[str]) -> str:
        _, name, argument, body = block.groups()
        if name == "chapters":
            return contents
        return body if (name, argument) == ("only", "not repository") else ""

    return LABEL.sub("", BLOCK.sub(resolved, page))


def versions(copy: Path) -> Iterator[Path]:
    """Where the versions of a copy lie, from the oldest on."""
    yield copy
    for mark in itertools.chain(["new"], (f"new {n}" for n in itertools.count(2))):
        yield copy.with_name(f"{copy.stem} ({mark}){copy.suffix}")


def take_place(copy: Path) -> None:
    """If the reader's old copy is gone, let its newest version have the name."""
    newer = list(itertools.takewhile(Path.exists, itertools.islice(versions(copy), 1, None)))
    if newer and not copy.exists():
        made(newer[-1]).replace(made(copy))
        newer[-1].rename(copy)


def made(copy: Path) -> Path:
    """Where a copy lies as it was made."""
    return copy.parent / MADE / copy.name


def put(copy: Path, text: str) -> bool:
    """Write a copy; False if the reader has changed what is there, which then stays."""
    if copy.exists() and not (made(copy).exists() and copy.read_bytes() == made(copy).read_bytes()):
        return False
    for path in (copy, made(copy)):
        path.write_text(text, encoding="utf-8", newline="\n")
    return True


def read(path: Path) -> NotebookNode:
    """A notebook."""
    return nbformat.read(path, as_version=4)


def texts(notebook: NotebookNode) -> dict[str, str]:
    """The text of each cell, by its id."""
    return {cell.id: cell.source for cell in notebook.cells}


def answers_in(copy: Path) -> dict[str, str]:
    """What the reader has written into the cells of exercises, by their ids."""
    before = texts(read(made(copy)))
    now = texts(read(copy))
    return {id: now[id] for id in now if id.startswith(STUB) and now[id] != before.get(id)}
