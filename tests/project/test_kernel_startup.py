"""In a kernel of `make lab`, a NameError names the cell to run first, and nothing else changes."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from manuscript.cells import exercises_of
from manuscript.normal_form import text_of
from tests.support.chapters import BOOK
from tools.lab import kernel_startup, settings
from tools.lab.kernel_startup import unreached_check, where_defined

CELLS = [
    new_markdown_cell("# 1. Library\n\nText", id="opening"),
    new_code_cell("import json\nfrom json import dumps as check", id="imports"),
    new_markdown_cell("## 1.1 First", id="text"),
    new_code_cell("%time x = 1", id="magic"),
    new_code_cell("x = 1\ny = x", id="first"),
    new_markdown_cell("## 1.2 Second\n\n### Deeper", id="more"),
    new_code_cell("def x():\n    inner = 1\n    return inner", id="second"),
    new_code_cell("check(x)", id="stub-answer"),
    new_code_cell("class Later: pass", id="later"),
]
IMPORTS = "it starts with `import json`, below “1. Library”."
# What a reader runs, and the text below the error
TOLD = {
    "check(1)": f"First run the cell that defines `check`: {IMPORTS}",
    "def own():\n    return y\nown()": "First run the cell that defines `y`: it starts with "
    "`x = 1`, below “1.1 First”.",
    "chekc(1)": "",
    "def local():\n    print(y)\n    y = 1\nlocal()": "",  # an UnboundLocalError
    "exec('y', {})": "",  # not a name in the notebook
    "raise NameError('y')": "",
    "where_defined": "",  # the startup script leaves no names behind
    "os": "",
}


def test_the_message_is_in_the_language_of_the_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATTNBOOK_LANGUAGE", "zh_CN")
    told = where_defined("check", CELLS, "stub-answer")
    assert "`check`" in told
    assert "`import json`" in told
    assert "First run" not in told
    assert "This exercise" not in told


def test_the_cell_named_is_the_last_above_or_the_first_below() -> None:
    def place(name: str, current: str) -> str:
        return where_defined(name, CELLS, current).partition("`: ")[2]

    assert place("check", "stub-answer") == f"{IMPORTS} This exercise needs no other cell."
    assert place("check", "second") == IMPORTS
    assert place("x", "stub-answer") == "it starts with `def x():`, below “Deeper”."
    assert place("x", "second") == "it starts with `x = 1`, below “1.1 First”."
    assert place("x", "magic") == "it starts with `x = 1`, below “1.1 First”."
    assert place("Later", "stub-answer") == "it starts with `class Later: pass`, below “Deeper”."
    assert place("inner", "stub-answer") == place("chekc", "stub-answer") == ""


ANSWER = "def my_scores(query, key):\n    return query @ key.mT\n"
CHECK = 'check(my_scores, "03.scores")'


@pytest.mark.parametrize(
    ("source", "line"),
    [
        (f"{ANSWER}\n    {CHECK}\n", CHECK),
        (f"{ANSWER}\n\n{CHECK}", ""),
        (f"{ANSWER}    {CHECK}\n{CHECK}", ""),
        (f"{ANSWER}\nif True:\n    {CHECK}", ""),
        (f"{ANSWER}    {CHECK}\nmy_scores(x, x)", ""),
    ],
)
def test_a_check_inside_its_function_is_noticed(source: str, line: str) -> None:
    assert unreached_check(source) == line


def test_a_kernel_starts_without_pytorch() -> None:
    code = "import runpy, sys; runpy.run_path(sys.argv[1]); print('torch' in sys.modules)"
    command = [sys.executable, "-c", code, kernel_startup.__file__]
    assert subprocess.check_output(command, text=True).strip() == "False"


@pytest.mark.parametrize("path", sorted(BOOK.glob("*.ipynb")), ids=lambda path: path.stem)
def test_after_a_restart_each_exercise_asks_only_for_the_imports(path: Path) -> None:
    cells = json.loads(path.read_text("utf-8"))["cells"]
    for exercise in exercises_of(path):
        told = where_defined("check", cells, f"stub-{exercise.id.partition('.')[2]}")
        assert told.endswith("This exercise needs no other cell."), exercise.id


def test_every_other_error_is_shown_as_usual(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def errors(startup: str) -> list[list[str]]:
        monkeypatch.setenv("PYTHONSTARTUP", startup)
        notebook = new_notebook(cells=[new_code_cell(source) for source in TOLD])
        NotebookClient(notebook, allow_errors=True, timeout=60).execute()
        return [cell.outputs[0].traceback for cell in notebook.cells]

    chapter = tmp_path / "chapter.ipynb"
    chapter.write_text(text_of(new_notebook(cells=CELLS)), encoding="utf-8")
    monkeypatch.setenv("JPY_SESSION_NAME", str(chapter))
    monkeypatch.setenv("ATTNBOOK_PROGRESS", str(tmp_path))
    settings.arguments(tmp_path)
    plain = errors("")
    told = errors(str(tmp_path / settings.FOLDER / settings.STARTUP))
    for note, before, after in zip(TOLD.values(), plain, told, strict=True):
        assert "".join(after).replace(note, "").split() == "".join(before).split()
        assert note in "".join(after)


def test_a_reader_is_told_of_a_check_inside_its_function(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.arguments(tmp_path)
    monkeypatch.setenv("PYTHONSTARTUP", str(tmp_path / settings.FOLDER / settings.STARTUP))
    cells = [new_code_cell(f"{ANSWER}\n    {CHECK}"), new_code_cell(ANSWER)]
    NotebookClient(new_notebook(cells=cells), timeout=60).execute()
    told, nothing = ("".join(o.text for o in cell.outputs) for cell in cells)
    assert told.startswith(f"Nothing was checked: `{CHECK}` is inside the function.")
    assert nothing == ""
