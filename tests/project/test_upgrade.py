"""`make lock` and `make upgrade`: the whole way, on packages made for the purpose."""

import json
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from tests.support.wheels import make_wheel, only_wheels
from tools import lock, upgrade
from tools.common import ROOT, UserError

REQUIREMENTS = """\
-c limits.txt

torch==1.0       # the tensors
needed==1.0      # an explanation that stays
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A committed checkout with a lock, two chapters, and a folder of packages beside it."""
    root, wheels = tmp_path / "project", tmp_path / "wheels"
    for folder in ("binder", "book", "tools"):
        (root / folder).mkdir(parents=True)
    for module in (lock, upgrade):
        monkeypatch.setattr(module, "ROOT", root)
    for name in ("REQUIREMENTS", "LOCK", "BINDER"):
        path = root / getattr(lock, name).relative_to(ROOT)
        monkeypatch.setattr(lock, name, path)
        path.write_text("")
    monkeypatch.setattr(upgrade, "RESULTS", root / "_build")
    only_wheels(monkeypatch, wheels)
    make_wheel(wheels, "torch", "1.0", "needed>=1", "below")
    make_wheel(wheels, "needed", "1.0")
    make_wheel(wheels, "below", "1.0")
    (root / "tools" / "bootstrap.py").write_text("print('installed')\n")
    (root / "limits.txt").write_text("needed<3  # why\n")
    (root / "pyproject.toml").write_text("[project]\ndependencies = []\n")
    (root / ".gitignore").write_text("_build/\n")
    lock.REQUIREMENTS.write_text(REQUIREMENTS)
    lock.BINDER.write_text("--no-index\ntorch==0.1+cpu\nneeded==0.1\n")
    write_chapters(root / "book")
    use(monkeypatch, "lock")
    commit(root)
    return root


def write_chapters(folder: Path) -> None:
    """A chapter in which one cell of three is not as stored, and a chapter that fails."""
    chapter = new_notebook()
    for name, source, stored in ("same", 1, 1), ("other", 2, 0), ("fine", 3, 3):
        outputs = [new_output("stream", text=f"{stored}\n")]
        chapter.cells.append(new_code_cell(f"print({source})", id=name, outputs=outputs))
    nbformat.write(chapter, folder / "01.ipynb")
    nbformat.write(new_notebook(cells=[new_code_cell("1 / 0")]), folder / "02.ipynb")


def commit(root: Path) -> None:
    """Commit everything."""
    who = ["-c", "user.name=reader", "-c", "user.email=reader@example.org"]
    for command in (["init"], ["add", "."], [*who, "commit", "-m", "a checkout"]):
        subprocess.run(["git", *command], cwd=root, check=True, capture_output=True)


def use(monkeypatch: pytest.MonkeyPatch, tool: str, *arguments: str) -> None:
    """Run a tool with these arguments."""
    monkeypatch.setattr(sys, "argv", [tool, *arguments])
    assert {"lock": lock, "upgrade": upgrade}[tool].main() == 0


def locked() -> dict[str, str]:
    """The packages of the lock, each with one hash."""
    pattern = r"^([\w-]+)==(\S+) \\\n    --hash=sha256:[0-9a-f]{64}$"
    return dict(re.findall(pattern, lock.LOCK.read_text(), re.M))


def test_the_lock_keeps_what_it_can_and_leaves_torch_out(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert locked() == {"needed": "1.0", "below": "1.0"}
    assert lock.BINDER.read_text() == "--no-index\ntorch==1.0+cpu\nneeded==1.0\n"
    before = lock.LOCK.read_bytes()
    make_wheel(project.parent / "wheels", "below", "2.0")
    use(monkeypatch, "lock")
    assert lock.LOCK.read_bytes() == before
    lock.REQUIREMENTS.write_text("-c limits.txt\nneeded==3.0\n")
    with pytest.raises(UserError, match=r"uv found no versions that fit together: (?s:.*)needed"):
        lock.main()
    assert lock.LOCK.read_bytes() == before


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("requirements.txt", "needed==1.0", "needed==2.0"),
        ("limits.txt", "<3", "<4"),
        ("pyproject.toml", "[]", "['needed']"),
        ("requirements-lock.txt", "below==1.0", "below==2.0"),
        ("binder/requirements.txt", "needed==1.0", "needed==0.9"),
    ],
)
def test_a_lock_that_is_out_of_date_is_found(
    name: str, old: str, new: str, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, "lock", "--check")
    text = (project / name).read_text()
    (project / name).write_text(text.replace("#", "# more,"))  # a comment changes nothing
    if "requirements-lock" not in name:
        use(monkeypatch, "lock", "--check")
    (project / name).write_text(text.replace(old, new))
    with pytest.raises(UserError, match="out of date: run make lock"):
        lock.main()


def test_an_upgrade_raises_what_it_may_and_shows_what_moved(
    project: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    wheels = project.parent / "wheels"
    for name, version in ("needed", "2.0"), ("needed", "3.0"), ("below", "2.0"):
        make_wheel(wheels, name, version)
    make_wheel(wheels, "torch", "2.0", "needed", "below")
    chapters = {path: path.read_bytes() for path in (project / "book").iterdir()}
    capfd.readouterr()

    use(monkeypatch, "upgrade")
    said = capfd.readouterr().out
    assert re.match(r"below +1\.0 +2\.0\nneeded +1\.0 +2\.0\ninstalled\n", said)
    assert "01.ipynb: 1 cells changed\n  cell 2 (other)\n" in said
    assert re.search(r"^  -0\n  \+2$", said, re.M)
    assert re.search(r"^02.ipynb: a cell failed.*ZeroDivisionError", said, re.M | re.S)
    assert lock.REQUIREMENTS.read_text() == REQUIREMENTS.replace("needed==1.0 ", "needed==2.0 ")
    assert lock.BINDER.read_text() == "--no-index\ntorch==1.0+cpu\nneeded==2.0\n"
    assert locked() == {"needed": "2.0", "below": "2.0"}
    use(monkeypatch, "lock", "--check")
    assert {path: path.read_bytes() for path in chapters} == chapters
    shown = json.loads((project / "_build" / "01.ipynb").read_text())
    assert shown["cells"][1]["outputs"][0]["text"] == ["2\n"]

    with pytest.raises(UserError, match=r"commit requirements\.txt, its lock and binder/ first"):
        use(monkeypatch, "upgrade")
    commit(project)
    monkeypatch.setattr(upgrade, "show_outputs", lambda: None)
    use(monkeypatch, "upgrade")
    assert capfd.readouterr().out.startswith("Everything is as new as limits.txt")
    use(monkeypatch, "upgrade", "torch")
    assert "torch==2.0       # the tensors" in lock.REQUIREMENTS.read_text()
    assert "torch==2.0+cpu" in lock.BINDER.read_text()


def test_one_package_is_raised_alone(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("needed", "below"):
        make_wheel(project.parent / "wheels", name, "2.0")
    monkeypatch.setattr(upgrade, "show_outputs", lambda: None)
    use(monkeypatch, "upgrade", "below")
    assert locked() == {"needed": "1.0", "below": "2.0"}
    commit(project)
    with pytest.raises(UserError, match=r"other is not among the packages in requirements-lock"):
        use(monkeypatch, "upgrade", "other")


@pytest.mark.parametrize("why", ["two versions", "not installed"])
def test_an_upgrade_that_fails_changes_no_file(
    why: str, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_wheel(project.parent / "wheels", "needed", "2.0")
    (project / "tools" / "bootstrap.py").write_text("raise SystemExit(1)")
    commit(project)
    reason = "no version is raised; make env brings the environment back"
    if why == "two versions":  # the newest numpy needs a newer Python than the book's oldest
        two = "needed==1 ; python_version < '3.12'\nneeded==2 ; python_version >= '3.12'\n"
        monkeypatch.setattr(lock, "resolve", lambda *arguments: two)
        reason = r"needed would need two versions for two Pythons: add it to limits\.txt"
    files = {path: path.read_bytes() for path in (lock.REQUIREMENTS, lock.LOCK, lock.BINDER)}
    with pytest.raises(UserError, match=reason):
        use(monkeypatch, "upgrade")
    assert {path: path.read_bytes() for path in files} == files
