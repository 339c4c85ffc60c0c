"""The normal form of a notebook: the same content always gives the same bytes.

Editors change metadata, kernels and line endings. The normal form has fixed ones, so a diff shows
only what an author has changed. It also contains what nobody should write by hand: the cell that
installs the package, the cells of the exercises, the minutes, each picture's plain-text output, and
the script of each interactive figure.

`normalize_file` writes it without running anything: `python -m tools.run --form`. To be fast, this
module imports nothing that runs cells, and imports PyTorch only for exercises and for interactive
figures.
"""

import os
import re
import subprocess
import warnings
from collections.abc import Iterator
from contextlib import suppress
from copy import deepcopy
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from manuscript import markers
from manuscript.cells import RESTART, exercises_of, write_exercises
from manuscript.common import UserError
from manuscript.minutes import reading_minutes, run_times, time_line

METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {
        "codemirror_mode": {"name": "ipython", "version": 3},
        "file_extension": ".py",
        "mimetype": "text/x-python",
        "name": "python",
        "nbconvert_exporter": "python",
        "pygments_lexer": "ipython3",
    },
}
# The first code cell of every notebook, which pages do not show. It imports none of our code. It
# names the parent folder as the source, so that pip installs no other package of the same name.
INSTALL = """\
# Where the book's package is missing, as on Colab, install it. Published copies name its address.
import importlib.util, pathlib, subprocess, sys
from IPython.core.error import UsageError
SOURCE = "attnbook @ " + pathlib.Path("..").resolve().as_uri()
if importlib.util.find_spec("attnbook") is None:
    pip = [sys.executable, "-m", "pip", "install", "--quiet", SOURCE]
    if subprocess.run(pip, capture_output=True).returncode:
        raise UsageError(f"pip could not install {SOURCE!r}: see 'How to use this book'")"""
INSTALL_ID = "install"
NOT_INSTALLED = INSTALL.split('f"')[1].removesuffix('")')  # its message, for translators

KEPT_METADATA = ("mystnb",)  # what an author may set for a notebook
KEPT_CELL_METADATA = ("minutes", "mystnb", "part", "tags")  # and for a cell


def read(path: Path) -> NotebookNode:
    """Read a notebook in its normal form, with the library's text in the cells of its exercises.

    Raises:  UserError if the file is not a notebook, or has no place for exercises
    """
    notebook = parse(path.read_bytes())
    write_exercises(notebook, exercises_of(path))
    write_minutes(path, notebook)
    return notebook


def parse(content: bytes) -> NotebookNode:
    """Read the content of a file as a notebook in its normal form.

    Raises:  UserError if it is not a notebook
    """
    try:
        notebook = normalized(nbformat.v4.reads_json(content.decode()))
        nbformat.validate(notebook)
    except (ValueError, KeyError, AttributeError, TypeError, nbformat.ValidationError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise UserError(f"is not a readable notebook ({reason})") from None
    return notebook


def normalized(notebook: NotebookNode) -> NotebookNode:
    """Give the notebook fixed metadata, an id for every cell, and the install cell."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", nbformat.warnings.MissingIDFieldWarning)
        warnings.simplefilter("ignore", nbformat.warnings.DuplicateCellId)
        _, notebook = nbformat.validator.normalize(notebook)
    kept = {key: notebook.metadata[key] for key in KEPT_METADATA if key in notebook.metadata}
    notebook.metadata = nbformat.from_dict({**METADATA, **kept})
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    for cell in notebook.cells:
        cell.metadata = nbformat.from_dict(
            {key: cell.metadata[key] for key in KEPT_CELL_METADATA if cell.metadata.get(key)}
        )
        if cell.id == "restart":
            cell.source = RESTART
    write_install_cell(notebook)
    describe_pictures(notebook)
    write_scripts(notebook)
    return notebook


def write_install_cell(notebook: NotebookNode) -> None:
    """Put the cell that installs the package above the code that imports it."""
    cells = notebook.cells
    if not any(cell.id == INSTALL_ID for cell in cells):
        uses = (i for i, c in enumerate(cells) if c.cell_type == "code" and "attnbook" in c.source)
        if (first := next(uses, None)) is None:
            return
        cells.insert(first, nbformat.v4.new_code_cell(id=INSTALL_ID))
    install = next(cell for cell in cells if cell.id == INSTALL_ID)
    install.source, install.metadata = INSTALL, nbformat.from_dict({"tags": ["remove-cell"]})


def write_minutes(path: Path, notebook: NotebookNode) -> None:
    """Write how long the page takes into the **Time:** line of the opening, if there is one."""
    exercise_minutes = [exercise.minutes for exercise in exercises_of(path)]
    line = time_line(notebook, exercise_minutes, run_times().get(path.stem, 0))
    label = f"{markers.label(markers.TIME)} "
    for cell in notebook.cells[:1]:
        if label in cell.source:
            cell.metadata["minutes"] = list(reading_minutes(notebook))
            cell.source = re.sub(rf"(?<={re.escape(label)}).*", line, cell.source, count=1)


def describe_pictures(notebook: NotebookNode) -> None:
    """Store each picture's description as its plain text, for programs that show no pictures."""
    for cell in notebook.cells:
        image = cell.metadata.get("mystnb", {}).get("image", {})
        for output in cell.get("outputs", []):
            if "alt" in image and {"image/svg+xml", "text/plain"} <= set(output.get("data", {})):
                output.data["text/plain"] = image["alt"]


def write_scripts(notebook: NotebookNode) -> None:
    """Give each interactive figure the library's present script and colors."""
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            figure, style, _ = output.get("data", {}).get("text/html", "").partition("\n<style>")
            if style and (name := re.match("<(attn-[a-z]+) ", figure)):
                from attnbook.widgets.element import colors_and_script  # it imports PyTorch

                with suppress(FileNotFoundError):  # a figure that has been renamed needs a run
                    output.data["text/html"] = figure + colors_and_script(name[1])


def text_of(notebook: NotebookNode) -> str:
    """Return the notebook as the text of its file."""
    return nbformat.writes(notebook).rstrip("\n") + "\n"


# --- without running a notebook -----------------------------------------------------------------


def normalize_file(path: Path) -> tuple[bool, list[str]]:
    """Write a file in its normal form; return whether it changed, and which cells have to be run.

    Raises:  UserError if the file is not a notebook, or OSError; both leave the file unchanged
    """
    before = path.read_bytes()
    notebook = normalized_file(path)
    after = text_of(notebook).encode()
    if after != before:
        write_whole(path, after)
    return after != before, list(left_to_run(notebook))


def normalized_file(path: Path) -> NotebookNode:
    """Read a notebook in its normal form, with the outputs that git has for unchanged cells.

    An editor may have cleared, renumbered or split the outputs in the file. Code that git does not
    have loses its execution count, so that `make check` asks for a run.
    """
    notebook = parse(path.read_bytes())
    stored = stored_version(path) or notebook
    write_exercises(notebook, exercises_of(path))
    if stored is not notebook:
        restore_outputs(notebook, {cell.id: cell for cell in stored.cells})
    describe_pictures(notebook)
    write_minutes(path, notebook)
    return notebook


def stored_version(path: Path) -> NotebookNode | None:
    """Return the notebook as it was last added or committed in git, or None if it never was."""
    try:
        command = ["git", "show", f":./{path.name}"]
        shown = subprocess.run(command, cwd=path.resolve().parent, capture_output=True)
        return None if shown.returncode else parse(shown.stdout)
    except (OSError, UserError):  # git is missing, or its version is not a notebook
        return None


def restore_outputs(notebook: NotebookNode, stored: dict[str, NotebookNode]) -> None:
    """Give unchanged code its stored outputs; remove other code's execution counts."""
    for cell in notebook.cells:
        old = stored.get(cell.id)
        if (
            cell.cell_type == "code"
            and old
            and (old.cell_type, old.source) == ("code", cell.source)
        ):
            cell.outputs, cell.execution_count = deepcopy(old.outputs), old.execution_count
        elif cell.cell_type == "code":
            cell.execution_count = None


def left_to_run(notebook: NotebookNode) -> Iterator[str]:
    """Name the cells that have not been run in their current form or order."""
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    waiting = [cell.id for cell in code if cell.execution_count is None]
    counts = [cell.execution_count for cell in code if cell.execution_count is not None]
    for name in waiting:
        yield f"the code of cell {name!r} is new or has changed, and has to be run"
    if not waiting and counts != [*range(1, len(code) + 1)]:
        yield f"code cells were added, moved or removed: they have run as {counts}"


def write_whole(path: Path, content: bytes) -> None:
    """Write a file atomically: it always has either the old content or the new one."""
    unfinished = path.with_name(f"{path.name}.unfinished")
    try:
        unfinished.write_bytes(content)
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)
