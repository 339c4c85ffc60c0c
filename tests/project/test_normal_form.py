"""`python -m tools.run --form` writes a notebook in its normal form and runs nothing."""

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest
from jupyter_server.services.contents.largefilemanager import LargeFileManager
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook, new_output

from attnbook.exercises.catalog import ALL
from attnbook.widgets import element
from manuscript.cells import RESTART
from manuscript.common import ROOT
from manuscript.normal_form import METADATA, parse, text_of
from tools import run
from tools.rules import file_rules

NAME = "03_single_head.ipynb"
Edit = Callable[[dict[str, NotebookNode]], Any]


def git(folder: Path, *command: str) -> str:
    """Run git; return what it prints."""
    who = ("-c", "user.name=x", "-c", "user.email=x@example.org")
    done = subprocess.run(
        ["git", *who, *command], cwd=folder, check=True, capture_output=True, encoding="utf-8"
    )
    return done.stdout


@pytest.fixture
def chapter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A chapter of the book, committed in a separate repository."""
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "data"))  # for JupyterLab's signatures
    monkeypatch.setattr("manuscript.cells.ROOT", tmp_path)
    path = tmp_path / "book" / NAME
    path.parent.mkdir()
    path.write_bytes((ROOT / "book" / NAME).read_bytes())
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", "book")
    git(tmp_path, "commit", "--quiet", "--message=x")
    return path


def save_in_jupyterlab(path: Path, edit: Edit) -> None:
    """Edit the cells by their ids, and save them as JupyterLab does after some have been run."""
    manager = LargeFileManager(root_dir=str(path.parent))
    notebook = manager.get(path.name)["content"]
    notebook.metadata.kernelspec.display_name = "Python 3 (ipykernel)"
    notebook.metadata.language_info.version = "3.11.7"
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for count, cell in enumerate(code[:5], start=12):
        cell.execution_count = count
        cell.metadata["execution"] = {"iopub.execute_input": "2026-01-01T00:00:00.000000Z"}
    for cell in code[5:]:
        cell.outputs, cell.execution_count = [], None
    for cell in notebook.cells:
        cell.metadata |= {"editable": True, "slideshow": {"slide_type": ""}, "collapsed": False}
    edit({cell.id: cell for cell in notebook.cells})
    manager.save({"type": "notebook", "content": notebook}, path.name)
    path.write_bytes(path.read_bytes().rstrip(b"\n").replace(b"\n", b"\r\n"))  # as on Windows


def replaced(name: str, old: str, new: str) -> Edit:
    """Return an edit that replaces a word in a cell."""

    def edit(cells: dict[str, NotebookNode]) -> None:
        assert cells[name].source.count(old) == 1
        cells[name].source = cells[name].source.replace(old, new)

    return edit


def text_cell(path: Path) -> tuple[str, str]:
    """Return the id of a text cell, and a word that occurs in it only once."""
    cells = nbformat.read(path, as_version=4).cells
    cell = next(cell for cell in cells[3:] if cell.cell_type == "markdown")
    word = next(w for w in cell.source.split() if w.isalpha() and cell.source.count(w) == 1)
    return cell.id, word


def test_a_word_changed_in_jupyterlab_is_a_diff_of_one_line(
    chapter: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name, word = text_cell(chapter)
    save_in_jupyterlab(chapter, replaced(name, word, "another"))
    assert git(chapter.parent, "diff", "--numstat").split()[0] != "1"
    assert run.main(["--form", str(chapter)]) == 0
    assert git(chapter.parent, "diff", "--numstat").split() == ["1", "1", f"book/{NAME}"]
    printed = capsys.readouterr()
    assert printed.out.startswith(f"{chapter}: written")
    assert printed.err == ""
    assert run.main(["--form", str(chapter)]) == 0
    assert capsys.readouterr().out.startswith(f"{chapter}: unchanged")


def changed_code(cells: dict[str, NotebookNode]) -> None:
    cells["imports"].source += "\nimport math"


def new_code(cells: dict[str, NotebookNode]) -> None:
    cells["imports"].update(id="more")


@pytest.mark.parametrize(("edit", "name"), [(changed_code, "imports"), (new_code, "more")])
def test_code_that_is_new_or_changed_is_named_and_has_to_be_run(
    edit: Edit, name: str, chapter: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save_in_jupyterlab(chapter, edit)
    assert run.main(["--form", str(chapter)]) == 1
    first, second = capsys.readouterr().err.splitlines()
    assert f"the code of cell '{name}' is new or has changed, and has to be run" in first
    assert second.endswith(f"run it: .venv/bin/python -m tools.run --quick {chapter}")
    notebook = nbformat.read(chapter, as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.id for cell in code if cell.execution_count is None] == [name]

    for count, cell in enumerate(code, start=1):  # as tools/run.py does
        cell.execution_count = count
    chapter.write_text(text_of(notebook), encoding="utf-8", newline="\n")
    git(chapter.parent, "add", NAME)
    save_in_jupyterlab(chapter, replaced(*text_cell(chapter), "another"))
    assert run.main(["--form", str(chapter)]) == 0
    assert git(chapter.parent, "diff", "--numstat").split() == ["1", "1", f"book/{NAME}"]


def test_a_chapter_with_removed_code_has_to_be_run(
    chapter: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    notebook = nbformat.read(chapter, as_version=4)
    notebook.cells = [cell for cell in notebook.cells if cell.id != "imports"]
    nbformat.write(notebook, chapter)
    assert run.main(["--form", str(chapter)]) == 1
    assert "were added, moved or removed: they have run as [1, 3, 4," in capsys.readouterr().err


def test_an_exercise_that_was_changed_by_hand_is_written_from_the_library(chapter: Path) -> None:
    before = chapter.read_bytes()
    first = next(exercise for id, exercise in ALL.items() if id.startswith("03."))
    name = first.id.partition(".")[2]

    def edit(cells: dict[str, NotebookNode]) -> None:
        cells[f"stub-{name}"].source = "my answer"
        cells[f"exercise-{name}"].source = "my card"

    save_in_jupyterlab(chapter, edit)
    assert run.main(["--form", str(chapter)]) == 0
    assert chapter.read_bytes() == before


def test_a_card_that_the_library_has_changed_is_updated(chapter: Path) -> None:
    before = chapter.read_bytes()
    notebook = nbformat.read(chapter, as_version=4)
    card = next(cell for cell in notebook.cells if cell.id.startswith("exercise-"))
    card.source += "\n> As it was once."
    chapter.write_text(text_of(notebook), encoding="utf-8")
    git(chapter.parent, "commit", "--quiet", "--all", "--message=x")
    assert run.main(["--form", str(chapter)]) == 0
    assert chapter.read_bytes() == before


def test_the_line_on_restarting_and_the_run_time_are_updated_without_a_run(
    chapter: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notebook = nbformat.read(chapter, as_version=4)
    next(cell for cell in notebook.cells if cell.id == "restart").source = "an older line"
    chapter.write_text(text_of(notebook), encoding="utf-8")
    git(chapter.parent, "add", chapter.name)
    monkeypatch.setattr("manuscript.normal_form.run_times", lambda: {chapter.stem: 600})
    assert run.main(["--form", str(chapter)]) == 0
    cells = {cell.id: cell for cell in nbformat.read(chapter, as_version=4).cells}
    assert cells["restart"].source == RESTART
    assert "takes about ten minutes." in cells["opening"].source


def test_a_changed_script_is_written_into_outputs_without_a_run(
    chapter: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = chapter.read_text("utf-8")
    n_figures = before.count('"<attn-')
    scripts = chapter.parent / "scripts"
    shutil.copytree(element.SCRIPTS, scripts)
    base = scripts / "base.js"
    base.write_text(base.read_text("utf-8").replace('"use strict";', '"use strict"; // changed'))
    monkeypatch.setattr(element, "SCRIPTS", scripts)
    assert [*file_rules(chapter)] == [
        f"is not in its normal form: run .venv/bin/python -m tools.run --form {chapter}"
    ]
    assert run.main(["--form", str(chapter)]) == 0
    assert capsys.readouterr().out.startswith(f"{chapter}: written")
    changed = chapter.read_text("utf-8")
    assert changed.count("// changed") == n_figures > 1
    assert changed.replace("; // changed", ";") == before
    assert [*file_rules(chapter)] == []


def test_the_output_of_a_figure_that_has_no_script_any_more_is_kept() -> None:
    page = "<attn-old data='{}'></attn-old>\n<style></style>\n<script>\n1</script>"
    output = new_output("display_data", {"text/html": page, "text/plain": "1"})
    cell = new_code_cell("old()", id="old", outputs=[output])
    notebook = parse(text_of(new_notebook(cells=[cell])).encode())
    assert notebook.cells[0].outputs[0].data["text/html"] == page


def test_without_git_the_outputs_stay_as_they_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "n.ipynb"
    cells = [new_code_cell(str(n), id=f"cell-{n}", execution_count=n) for n in (1, 2)]
    nbformat.write(new_notebook(cells=cells, metadata=METADATA), path)
    assert run.main(["--form", str(path)]) == 0
    notebook = nbformat.read(path, as_version=4)
    assert [cell.execution_count for cell in notebook.cells] == [1, 2]
    notebook.cells[1].execution_count = None
    path.write_text(text_of(notebook))
    assert run.main(["--form", str(path)]) == 1
    assert "the code of cell 'cell-2' is new" in capsys.readouterr().err


BAD = {
    "no JSON": "{",
    "a merge conflict": '{\n<<<<<<< ours\n "cells": []\n=======\n "cells": [ ]\n>>>>>>> theirs\n}',
    "a list": "[]",
    "cells of no list": '{"cells": 5, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}',
    "a cell of no kind": '{"cells": [{}], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}',
    "an older format": '{"worksheets": [], "metadata": {}, "nbformat": 3, "nbformat_minor": 0}',
    "a number for a text": json.dumps(
        {"cells": [{"cell_type": "markdown", "id": "a", "metadata": {}, "source": 5}]}
        | {"metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    ),
    "another encoding": '"é"',
    "nothing": "",
}


@pytest.mark.parametrize("kind", BAD)
def test_a_file_that_is_not_a_notebook_is_refused_and_unchanged(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "n.ipynb"
    path.write_text(BAD[kind], encoding="latin-1")
    before = path.read_bytes()
    assert run.main(["--form", str(path)]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"{path}: is not a readable notebook (")
    assert path.read_bytes() == before
    assert [*tmp_path.iterdir()] == [path]


def test_a_file_that_is_not_there_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run.main(["--form", str(tmp_path / "n.ipynb")]) == 1
    assert "No such file" in capsys.readouterr().err
    assert [*tmp_path.iterdir()] == []


def test_a_full_disk_leaves_the_file_unchanged(
    chapter: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    save_in_jupyterlab(chapter, changed_code)
    before = chapter.read_bytes()

    def write_half(path: Path, content: bytes) -> int:
        with path.open("wb") as file:
            file.write(content[: len(content) // 2])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", write_half)
    assert run.main(["--form", str(chapter)]) == 1
    assert "No space left on device" in capsys.readouterr().err
    assert chapter.read_bytes() == before
    assert [path.name for path in chapter.parent.iterdir() if path.is_file()] == [NAME]
