"""Sections that cannot be run a second time are found by the names in them, or by running them."""

import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from manuscript.common import ROOT
from manuscript.rerun_sections import minilm_cells, name_clashes

TOP = "import math"
NO_MODEL = """\
import sys, pytest
from attnbook.pretrained import minilm
minilm.minilm_archive = lambda: None
sys.exit(pytest.main(sys.argv[1:]))
"""


def chapter(*sections: str) -> nbformat.NotebookNode:
    """Make a chapter: an import cell, and sections of one cell that print nothing or '1'."""
    cells = [new_code_cell(TOP, execution_count=1)]
    for number, code in enumerate(sections, start=1):
        printed = [new_output("stream", text="1\n")] if "print" in code else []
        cell = new_code_cell(code, execution_count=number + 1, outputs=printed)
        cells += [new_markdown_cell(f"## 1.{number} Section"), cell]
    return new_notebook(cells=cells)


CLASHES = {
    "one name for two things": ("x = 1", "y = x", "x = 2"),
    "an exercise's stub": ("def f(): return 1", "f()", "def f(): pass"),
    "a loop's variable": ("for x in [1]: pass", "y = x", "for x in [2]: pass"),
    "inside a function": ("x = 1", "def f(): return [x for _ in 'ab']", "x = 2"),
}
NO_CLASHES = {
    "set where it is used": ("x = 1; y = x", "x = 2; z = x"),
    "set once": ("x = 1", "y = x", "z = math.pi"),
    "a local name of a function": ("x = 1", "x = 2", "def f(x): return [x for x in x]\nf([2])"),
}


@pytest.mark.parametrize("name", CLASHES)
def test_a_name_that_another_section_sets_too_is_a_clash(name: str) -> None:
    (line,) = name_clashes(chapter(*CLASHES[name]).cells)
    assert line.endswith("from elsewhere, but 1.1 and 1.3 set it")


@pytest.mark.parametrize("name", NO_CLASHES)
def test_names_set_by_one_section_or_used_inside_it_do_not_clash(name: str) -> None:
    assert list(name_clashes(chapter(*NO_CLASHES[name]).cells)) == []


def test_the_cells_of_a_section_that_loads_minilm_are_found() -> None:
    cells = chapter("x = 1", "model = load_minilm()[0]", "load_minilm").cells
    cells.insert(5, new_code_cell("print(model)"))
    assert [cell.source for cell in minilm_cells(cells)] == [
        "model = load_minilm()[0]",
        "print(model)",
    ]


def test_sections_run_again_and_those_that_load_minilm_are_skipped_without_it(folder: Path) -> None:
    """One section prints something else the second time, and is the only one that fails."""
    code = "def load_minilm(): print('none')\nload_minilm()"
    changed = chapter("x = [1]", "print(len(x))", "x.append(2)")  # no name is set twice
    nbformat.write(chapter("x = [1]", "print(*x)", "y = x"), folder / "good.ipynb")
    nbformat.write(changed, folder / "changed.ipynb")
    nbformat.write(chapter("print(1)", code, "print(1)"), folder / "model.ipynb")
    options = ["-p", "no:cacheprovider", "--nbval", "--rerun-sections"]
    command = [sys.executable, "-c", NO_MODEL, *options, folder]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout
    failed = [line for line in printed.splitlines() if line.startswith("FAILED")]
    assert len(failed) == 1, printed
    assert "changed.ipynb::Cell 2, again with section 1.2" in failed[0]
    assert "1 failed, 18 passed, 2 skipped" in printed
    assert "the model MiniLM is not installed: run `make model`" in printed
