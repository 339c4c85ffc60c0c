"""`make test` skips a notebook only while nothing that its outputs depend on has changed."""

import json
import platform
import subprocess
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
import torch
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from tools import unchanged, validate

LOCKS = ("requirements-lock.txt", "requirements-model.txt")
FILES = ("src/library.py", *LOCKS, "conftest.py", "tests/support/nbval.cfg")
ROW = [validate.device_and_system(), platform.python_version(), torch.__version__, "5 of 5"]
WHO = ("-c", "user.name=x", "-c", "user.email=x@example.org")
Checkout = tuple[Path, Callable[..., set[str]]]


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    """Commit two notebooks and what they depend on; return a function that writes a row."""
    page = tmp_path / validate.PAGE.relative_to(validate.ROOT)
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    page.parent.mkdir()
    for name in ("a", "b"):
        outputs = [new_output("stream", text="1\n")]
        cells = [new_markdown_cell("Text."), new_code_cell("print(1)", outputs=outputs)]
        nbformat.write(new_notebook(cells=cells), page.with_name(f"{name}.ipynb"))
    for command in (("init",), ("add", "."), (*WHO, "commit", "--message=x")):
        subprocess.run(["git", *command], cwd=tmp_path, check=True, capture_output=True)
    head = (unchanged.git(tmp_path, "rev-parse", "--short=7", "HEAD") or "").strip()

    def found(cells: str = "2 of 2", commit: str = head, torch: str = ROW[2]) -> set[str]:
        row = [*ROW[:2], torch, ROW[3], cells, commit]
        page.write_text(validate.TABLE.with_row("".join(validate.TABLE.ends), row))
        named, paths = unchanged.unchanged_notebooks(tmp_path)
        assert named == (commit if paths else "")
        return {path.stem for path in paths}

    return tmp_path, found


def edit(notebook: Path, cell: int, **changes: object) -> None:
    """Change a cell of a notebook."""
    contents = json.loads(notebook.read_text())
    contents["cells"][cell] |= changes
    notebook.write_text(json.dumps(contents))


def test_prose_and_scripts_of_figures_change_no_output(checkout: Checkout) -> None:
    root, found = checkout
    assert found() == {"a", "b"}
    edit(root / "book" / "a.ipynb", 0, source="Other text.")
    scripts = root / "src" / "attnbook" / "widgets" / "scripts"
    scripts.mkdir(parents=True)
    (scripts / "attn-new.js").write_text("")
    assert found() == {"a", "b"}


@pytest.mark.parametrize("changes", [{"source": "print(2)"}, {"outputs": []}])
def test_a_notebook_with_another_cell_or_output_is_run(
    checkout: Checkout, changes: dict[str, object]
) -> None:
    root, found = checkout
    edit(root / "book" / "a.ipynb", 1, **changes)
    assert found() == {"b"}


@pytest.mark.parametrize("name", [*FILES, "src/new.py"])
def test_all_notebooks_are_run_after_a_change_to_what_they_share(
    checkout: Checkout, name: str
) -> None:
    root, found = checkout
    (root / name).write_text("x = 2")
    assert found() == set()


@pytest.mark.parametrize(
    "row", [{"torch": "2.6.0"}, {"cells": "1 of 2"}, {"cells": "1 of 1"}, {"commit": "abcdef0"}]
)
def test_all_notebooks_are_run_without_a_full_row_of_these_versions(
    checkout: Checkout, row: dict[str, str]
) -> None:
    assert checkout[1](**row) == set()


@pytest.mark.parametrize(("option", "skips"), [(True, True), (False, None)])
def test_unchanged_notebooks_are_skipped_with_the_option(
    option: bool, skips: bool | None, monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config
) -> None:
    plugin = pytestconfig.pluginmanager.get_plugin(str(validate.ROOT / "conftest.py"))
    monkeypatch.setattr(plugin, "unchanged", lambda: ("abcdef0", {Path("a.ipynb")}))
    monkeypatch.setattr(pytestconfig.option, "skip_unchanged", option)
    found = [plugin.pytest_ignore_collect(Path(f"{x}.ipynb"), pytestconfig) for x in "ab"]
    assert found == [skips, None]
    assert plugin.pytest_ignore_collect(Path("a.py"), pytestconfig) is None
