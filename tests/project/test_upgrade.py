"""`make lock` and `make upgrade`: the whole way, on packages made for the purpose."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from tests.project.test_environment import make_project, make_wheel, offline
from tools import lock, upgrade
from tools.common import ROOT, UserError

REQUIREMENTS = """\
# The pins.
-c limits.txt

torch==1.0       # the tensors
needed==1.0      # an explanation that stays

-e .
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A committed checkout with a lock, a chapter, and a folder of packages."""
    folder, wheels = make_project(tmp_path / "project"), tmp_path / "wheels"
    wheels.mkdir()
    for name in ("lock.py", "upgrade.py", "run_notebooks.py"):
        shutil.copy(ROOT / "tools" / name, folder / "tools")
    (folder / "tools" / "bootstrap.py").write_text("print('installed')\n")
    (folder / "tests").mkdir()
    shutil.copy(ROOT / "tests" / "nbval.cfg", folder / "tests")
    (folder / "limits.txt").write_text("needed<3  # why\n")
    (folder / "requirements.txt").write_text(REQUIREMENTS)
    (folder / ".gitignore").write_text(".venv/\n_build/\n__pycache__/\n")
    make_wheel(wheels, "torch", "1.0", "needed>=1\nRequires-Dist: below")
    make_wheel(wheels, "needed", "1.0")
    make_wheel(wheels, "below", "1.0")
    (folder / "binder").mkdir()
    (folder / "binder" / "requirements.txt").write_text("torch==1.0+cpu\nneeded==1.0\n")
    (folder / "requirements-lock.txt").unlink()
    assert use(folder, "lock.py").returncode == 0
    write_chapter(folder / "book" / "01.ipynb")
    commit(folder)
    return folder


def write_chapter(path: Path) -> None:
    """A chapter in which one cell of three is not as stored, and a chapter that fails."""
    cells = {"same": "print(1)", "other": "print('now')", "fine": "print(3)"}
    notebook = new_notebook()
    for (name, source), stored in zip(cells.items(), ("1\n", "before\n", "3\n"), strict=True):
        cell = new_code_cell(source, id=name, execution_count=1)
        cell.outputs = [new_output("stream", text=stored)]
        notebook.cells.append(cell)
    path.parent.mkdir()
    nbformat.write(notebook, path)
    failing = new_notebook(cells=[new_code_cell("1 / 0", id="broken")])
    nbformat.write(failing, path.with_name("02.ipynb"))


def commit(folder: Path) -> None:
    who = ["-c", "user.name=reader", "-c", "user.email=reader@example.org"]
    for command in (["init"], ["add", "."], [*who, "commit", "-m", "a checkout"]):
        subprocess.run(["git", *command], cwd=folder, check=True, capture_output=True)


def use(project: Path, tool: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a tool of the project, with its own packages and no others."""
    wheels = project.parent / "wheels"
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PIP_", "UV_"))}
    uv = {"UV_OFFLINE": "1", "UV_FIND_LINKS": str(wheels), "UV_NO_CACHE": "1", "UV_NO_CONFIG": "1"}
    return subprocess.run(
        [sys.executable, str(project / "tools" / tool), *arguments],
        env={**kept, **uv, **offline(wheels), "PIP_CONFIG_FILE": os.devnull},
        capture_output=True,
        text=True,
    )


def locked_in(project: Path) -> dict[str, str]:
    text = (project / "requirements-lock.txt").read_text()
    return dict(re.findall(r"^([\w-]+)==(\S+) \\\n    --hash=sha256:[0-9a-f]{64}$", text, re.M))


def test_the_lock_keeps_what_it_can_and_leaves_torch_out(project: Path) -> None:
    assert locked_in(project) == {"needed": "1.0", "below": "1.0"}
    make_wheel(project.parent / "wheels", "below", "2.0")
    first = (project / "requirements-lock.txt").read_bytes()
    assert use(project, "lock.py").stdout == "requirements-lock.txt is as it was.\n"
    assert (project / "requirements-lock.txt").read_bytes() == first


def test_a_lock_that_cannot_be_made_leaves_the_old_one(project: Path) -> None:
    before = (project / "requirements-lock.txt").read_bytes()
    (project / "requirements.txt").write_text("-c limits.txt\nneeded==3.0\n")
    done = use(project, "lock.py")
    assert done.returncode == 1
    assert re.fullmatch(r"attention book: no versions fit together: .*\n", done.stderr)
    assert (project / "requirements-lock.txt").read_bytes() == before


def test_an_upgrade_raises_what_it_may_and_shows_what_moved(project: Path) -> None:
    wheels = project.parent / "wheels"
    for name, version in (("needed", "2.0"), ("needed", "3.0"), ("below", "2.0"), ("torch", "2.0")):
        make_wheel(wheels, name, version, "needed\nRequires-Dist: below" * (name == "torch"))
    chapters = {path: path.read_bytes() for path in (project / "book").iterdir()}

    done = use(project, "upgrade.py")
    assert (done.returncode, done.stderr) == (0, "")
    said = done.stdout
    assert said.startswith("below   1.0  2.0\nneeded  1.0  2.0\ninstalled\n")
    assert "01.ipynb: 1 cell changed\n  cell 2 (other)\n" in said
    assert re.search(r"^  -before\n  \+now$", said, re.M)
    assert re.search(r"^02.ipynb: a cell failed.*ZeroDivisionError", said, re.M | re.S)
    assert "git checkout requirements.txt requirements-lock.txt binder, then make env" in said
    assert (project / "binder/requirements.txt").read_text() == "torch==1.0+cpu\nneeded==2.0\n"

    assert (project / "requirements.txt").read_text() == REQUIREMENTS.replace(
        "needed==1.0 ", "needed==2.0 "
    )
    assert locked_in(project) == {"needed": "2.0", "below": "2.0"}
    assert use(project, "lock.py").stdout == "requirements-lock.txt is as it was.\n"
    assert {path: path.read_bytes() for path in chapters} == chapters
    shown = json.loads((project / "_build" / "upgrade" / "01.ipynb").read_text())
    assert shown["cells"][1]["outputs"][0]["text"] == ["now\n"]

    again = use(project, "upgrade.py")
    files = "binder/requirements.txt, requirements-lock.txt, requirements.txt"
    assert f"commit {files} first, so that you can go back" in again.stderr
    commit(project)
    assert use(project, "upgrade.py").stdout.startswith("Everything is as new as limits.txt")
    assert use(project, "upgrade.py", "torch").stdout.startswith("torch  1.0  2.0\n")
    assert "torch==2.0       # the tensors" in (project / "requirements.txt").read_text()
    assert (project / "binder/requirements.txt").read_text() == "torch==2.0+cpu\nneeded==2.0\n"


def test_one_package_is_raised_alone(project: Path) -> None:
    wheels = project.parent / "wheels"
    for name in ("needed", "below"):
        make_wheel(wheels, name, "2.0")
    assert use(project, "upgrade.py", "below").stdout.startswith("below  1.0  2.0\ninstalled\n")
    assert locked_in(project) == {"needed": "1.0", "below": "2.0"}


def test_what_is_not_a_package_of_the_book_is_named(project: Path) -> None:
    done = use(project, "upgrade.py", "other")
    assert done.returncode == 1
    assert "other is not among the packages in requirements-lock.txt" in done.stderr


@pytest.fixture
def files(tmp_path: Path, monkeypatch: Any) -> dict[Path, bytes]:
    """Copies of the files that an upgrade writes, in their place; and what is in them."""
    copies = [Path(shutil.copy(path, tmp_path / str(i))) for i, path in enumerate(upgrade.FILES)]
    for name, path in zip(("REQUIREMENTS", "LOCK", "BINDER"), copies, strict=True):
        monkeypatch.setattr(upgrade, name, path)
    monkeypatch.setattr(upgrade, "FILES", tuple(copies))
    monkeypatch.setattr(upgrade, "refuse_uncommitted", lambda: None)
    return {path: path.read_bytes() for path in copies}


def test_a_pin_that_one_version_cannot_satisfy_is_refused(
    files: dict[Path, bytes], monkeypatch: Any, capsys: Any
) -> None:
    """As when the newest numpy needs a newer Python than the oldest that the book supports."""
    two = "numpy==9 ; python_full_version < '3.12'\nnumpy==10 ; python_full_version >= '3.12'\n"
    monkeypatch.setattr(lock, "resolve", lambda *arguments: two)
    assert upgrade.main([]) == 1
    said = capsys.readouterr().err
    assert "numpy would need two versions for two Pythons: add it to limits.txt" in said
    assert {path: path.read_bytes() for path in files} == files


@pytest.mark.parametrize(
    ("trouble", "reason"),
    [
        (UserError("the new versions were not installed"), "were not installed"),
        (KeyboardInterrupt(), "interrupted"),
    ],
)
def test_an_upgrade_that_fails_puts_the_files_back(
    trouble: BaseException,
    reason: str,
    files: dict[Path, bytes],
    monkeypatch: Any,
    capsys: Any,
) -> None:
    six = re.search(r"^six==(\S+)", upgrade.LOCK.read_text("utf-8"), re.M)
    assert six

    def newer(requirements: str, old: str, *options: str) -> str:
        return old.replace(six.group(), "six==99") + "torch==99\n"

    def fail() -> None:
        assert {path: path.read_bytes() for path in files} != files
        raise trouble

    monkeypatch.setattr(lock, "resolve", newer)
    monkeypatch.setattr(upgrade, "make_environment", fail)
    assert upgrade.main([]) == 1
    assert {path: path.read_bytes() for path in files} == files
    out, err = capsys.readouterr()
    assert re.search(rf"^six +{six.group(1)} +99$", out, re.M)
    assert reason in err
    assert err.endswith("(no version is raised; make env brings the environment back)\n")


def test_what_uv_says_is_put_in_plain_words() -> None:
    said = "error: Failed to fetch: `https://example.org/six/`\n  cause: dns error"
    assert "reaches no package index: check the network" in lock.why(said)
    said = "warning: old\nerror: No solution found\n  cause: Because of that"
    assert (
        lock.why(said)
        == "no versions fit together: error: No solution found cause: Because of that"
    )
