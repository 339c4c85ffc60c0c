"""Find the notebooks that are still what `make validate` compared, so that `make test` skips them.

A row of book/validation.md names a commit at which every cell printed and drew its stored output.
While nothing that a notebook's outputs depend on has changed since then, and the device, Python and
PyTorch are those of the row, running it again repeats that comparison. `make nbval` runs all.
"""

import json
import platform
import subprocess
from pathlib import Path
from typing import Any

import torch

from manuscript.common import ROOT
from tools.validate import PAGE, TABLE, device_and_system

# What all notebooks depend on: the library with its stored models, the locked packages, MiniLM, and
# how outputs are compared. Scripts of figures compute nothing, and the normal form writes them.
SHARED = (
    *("src", ":!src/attnbook/widgets/scripts", "requirements-lock.txt", "requirements-model.txt"),
    *("conftest.py", "tests/support/nbval.cfg"),
)
COMPARED = ("source", "outputs", "metadata")  # of a cell: without its number and id


def unchanged_notebooks(root: Path = ROOT) -> tuple[str, set[Path]]:
    """Return the commit of this machine's row, or "", and the notebooks unchanged since then."""
    rows = TABLE.rows((root / PAGE.relative_to(ROOT)).read_text("utf-8"))
    here = [device_and_system(), platform.python_version(), torch.__version__]
    commit, cells = next(((row[5], row[4]) for row in rows if row[:3] == here), ("", ""))
    differs = git(root, "diff", "--quiet", commit, "--", *SHARED) is None
    if not commit or differs or git(root, "ls-files", "--others", "--exclude-standard", *SHARED):
        return "", set()
    now = {path: path.read_text("utf-8") for path in sorted(root.glob("book/*.ipynb"))}
    then = {path: git(root, "show", f"{commit}:book/{path.name}") or "" for path in now}
    compared = {path: code_cells(notebook) for path, notebook in then.items()}
    total = f"{sum(map(len, compared.values())):,}"
    if cells != f"{total} of {total}":  # a cell failed, or was skipped because a model was missing
        return "", set()
    return commit, {
        path for path, notebook in now.items() if code_cells(notebook) == compared[path]
    }


def code_cells(notebook: str) -> list[dict[str, Any]]:
    """Return what a run of a notebook compares."""
    cells = json.loads(notebook or '{"cells": []}')["cells"]
    return [{key: c[key] for key in COMPARED} for c in cells if c["cell_type"] == "code"]


def git(root: Path, *command: str) -> str | None:
    """Return what git prints, or None if it fails, as for a commit that a shallow clone lacks."""
    done = subprocess.run(
        ["git", *command], cwd=root, capture_output=True, text=True, encoding="utf-8", check=False
    )
    return None if done.returncode else done.stdout
