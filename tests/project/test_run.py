"""tools/run.py writes the outputs of notebooks."""

import os
import re
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from nbval.plugin import get_sanitize_patterns

from attnbook.figures import plot_lines
from manuscript import minutes
from manuscript.common import ROOT
from manuscript.normal_form import METADATA
from tools import run

SANITIZE = ROOT / "tests" / "support" / "nbval.cfg"


def write(path: Path, *sources: str) -> Path:
    """Write a notebook with these code cells."""
    nbformat.write(new_notebook(cells=[new_code_cell(source) for source in sources]), path)
    return path


def test_a_second_run_changes_no_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "keep_run_time", None)  # called only for notebooks of the book
    path = write(tmp_path / "n.ipynb", "from pathlib import Path", "print(Path.cwd().name, '苹果')")
    notebook = nbformat.read(path, as_version=4)
    notebook.cells.insert(0, new_markdown_cell("# 苹果"))
    notebook.cells[2].metadata = {"collapsed": True, "tags": ["hide-input"], "scrolled": False}
    notebook.metadata = {"kernelspec": {"name": "other", "display_name": "Other"}, "toc": {}}
    ids = [cell.id for cell in notebook.cells]
    nbformat.write(notebook, path)

    assert run.main(["--quick", str(path)]) == 0
    first = path.read_bytes()
    assert run.main(["--quick", str(path)]) == 0
    assert path.read_bytes() == first

    text = first.decode()
    assert text.endswith("}\n")
    assert '\n "cells": [' in text  # indented by one space
    assert f'"{tmp_path.name} 苹果\\n"' in text  # ran in its own folder; no \u escapes
    after = nbformat.reads(text, as_version=4)
    assert [cell.id for cell in after.cells] == ids
    assert [cell.get("execution_count") for cell in after.cells] == [None, 1, 2]
    assert after.cells[2].metadata == {"tags": ["hide-input"]}
    assert after.metadata == METADATA
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(os.name == "nt", reason="Windows does not tell the time of other processes")
def test_the_run_time_of_a_notebook_of_the_book_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "ROOT", tmp_path)
    monkeypatch.setattr(minutes, "RUN_TIMES", tmp_path / "times.json")
    minutes.RUN_TIMES.write_text("{}")
    (tmp_path / "book").mkdir()
    assert run.main(["--quick", str(write(tmp_path / "book" / "n.ipynb", "1"))]) == 0
    assert minutes.run_times() == {"n": 30}


def test_a_cell_that_fails_is_shown_and_leaves_the_file_unchanged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "n.ipynb", "print('fine')", "x = 1\nx.shape")
    before = path.read_bytes()
    assert run.main(["--quick", str(path)]) == 1
    assert path.read_bytes() == before
    assert re.search(r"x\.shape(?s:.*)'int' object has no attribute", capsys.readouterr().err)


def test_a_notebook_that_reads_minilm_is_not_run_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(run, "minilm_archive", lambda: None)
    path = write(tmp_path / "n.ipynb", "def load_minilm(): pass\nload_minilm()")
    before = path.read_bytes()
    assert run.main(["--quick", str(path)]) == 1
    assert path.read_bytes() == before
    assert "the model MiniLM, which is not installed: run make model" in capsys.readouterr().err


def test_outputs_that_depend_on_the_setting_are_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = "print(os.environ['OMP_NUM_THREADS'], os.environ['ATEN_CPU_CAPABILITY'])"
    path = write(folder / "n.ipynb", "import os", shown)
    before = path.read_bytes()
    assert run.main([str(path)]) == 1
    assert path.read_bytes() == before
    printed = capsys.readouterr().err
    assert re.search(r"n\.ipynb: does not give the same output with [12] threads, default", printed)
    assert re.search(r"FAILED .*n\.ipynb::Cell 1", printed)


def test_the_settings_are_one_and_two_threads_with_and_without_avx2(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for machine, levels in ("AMD64", {"avx2", "default"}), ("arm64", {"default"}):
        monkeypatch.setattr("platform.machine", lambda machine=machine: machine)
        found = {(s["OMP_NUM_THREADS"], s["ATEN_CPU_CAPABILITY"]) for s in run.settings().values()}
        assert found == {(threads, level) for threads in "12" for level in levels}


def test_nbval_notices_a_moved_point_but_not_a_difference_of_a_tenth(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    drawn: list[Any] = []
    canvas = sys.modules["attnbook.figures.canvas"]
    monkeypatch.setattr(canvas, "display", lambda data, **_: drawn.append(data))
    plot_lines([1.0, 2.0, 3.0], {"y": [0.0, 0.52, 1.0]}, "x", "y")
    svg = drawn[0]["image/svg+xml"]
    curve = re.search(r'(d="M [\d.]+ [\d.]+ \nL [\d.]+ )([\d.]+)( \nL)', svg)
    assert curve, "the curve is no longer drawn as a path of three points"
    assert re.search(r"\.[1-8]$", curve[2]), "choose a point whose last digit can change by one"
    marked, marks = re.subn(r"(part\d+-)[0-9a-f]{6}", r"\g<1>0a1b2c", svg)
    assert marks, "the ids no longer contain a hash of the picture"

    def compared(picture: str) -> str:
        for pattern, replacement in get_sanitize_patterns(SANITIZE.read_text("utf-8")):
            picture = re.sub(pattern, replacement, picture)
        return picture

    def redrawn(by: float) -> str:
        """Return the picture as another machine draws it, with one point of a curve lower."""
        return marked.replace(curve[0], f"{curve[1]}{float(curve[2]) + by:.1f}{curve[3]}")

    assert compared(redrawn(by=0.1)) == compared(svg)
    assert compared(redrawn(by=1)) != compared(svg)
    assert compared("0.4917") == "0.4917"
