"""The library outside its checkout: its wheel, in an environment with its dependencies alone.

The packages are lent by the environment at hand, so that no package index is needed: what the
wheel declares, with the dependencies of that, and what runs a notebook.
"""

import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from email import message_from_string
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from press.extension.links import published
from tools.common import ROOT
from tools.run import SANITIZE

PACKAGE = ROOT / "src" / "attnbook"
CHAPTER = "01_library.ipynb"
RUNNERS = ["ipykernel", "nbval", "pytest", "setuptools"]  # setuptools builds the package


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, made as `make wheel` makes it."""
    folder = tmp_path_factory.mktemp("dist")
    (command,) = re.findall(r"\$\(BIN\)/uv (build .*)", (ROOT / "Makefile").read_text("utf-8"))
    command = command.replace("$(BIN)/python", sys.executable).replace("_build/dist", str(folder))
    subprocess.run([sys.executable, "-m", "uv", *command.split()], cwd=ROOT, check=True)
    (path,) = folder.glob("*.whl")
    return path


def metadata_of(wheel: Path) -> tuple[set[str], str]:
    """The names of the files in a wheel, and the text of its METADATA."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        (metadata,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        return names, archive.read(metadata).decode()


def test_the_wheel_holds_the_library_whole_and_nothing_else(wheel: Path) -> None:
    names, metadata = metadata_of(wheel)
    files = {path for path in PACKAGE.rglob("*") if path.is_file() and path.suffix != ".pyc"}
    wanted = {path.relative_to(PACKAGE.parent).as_posix() for path in files}
    assert {name for name in names if ".dist-info/" not in name} == wanted
    licences = {name.partition("/licenses/")[2] for name in names if "/licenses/" in name}
    assert licences == {"LICENSE", "src/attnbook/fonts/OFL.txt"}
    assert "License-Expression: MIT AND OFL-1.1" in metadata


def dependencies(names: list[str]) -> set[str]:
    """These packages and all that they need in turn, as far as it is installed."""
    found: set[str] = set()
    while names:
        name = names.pop()
        try:
            requires = importlib.metadata.requires(name) or []
        except importlib.metadata.PackageNotFoundError:  # as on another system
            continue
        if name not in found:
            found.add(name)
            needed = [Requirement(text) for text in requires]
            names += [r.name for r in needed if not r.marker or r.marker.evaluate({"extra": ""})]
    return found


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The Python of an environment with pip and the lent packages; gone afterwards."""
    folder = tmp_path_factory.mktemp("outside")
    subprocess.run([sys.executable, "-m", "venv", folder / "env"], check=True)
    python = next(path for path in folder.glob("env/*/python*") if path.stem == "python")
    declared = message_from_string(metadata_of(wheel)[1]).get_all("Requires-Dist") or []
    lent = folder / "lent"
    lent.mkdir()
    for name in dependencies([*(Requirement(text).name for text in declared), *RUNNERS]):
        package = importlib.metadata.distribution(name)
        for top in {file.parts[0] for file in package.files or ()} - {"..", "__pycache__"}:
            source = Path(str(package.locate_file(top)))
            if not source.exists() or (lent / top).exists():  # CUDA's packages share a folder
                continue
            if os.name == "nt":  # few users may make a link
                (shutil.copytree if source.is_dir() else shutil.copy)(source, lent / top)
            else:
                (lent / top).symlink_to(source)
    install(python, "uninstall", "--yes", "setuptools")  # an old one, until Python 3.12
    where = "import sysconfig; print(sysconfig.get_path('purelib'))"
    Path(run(python, folder, "-c", where).stdout.strip(), "lent.pth").write_text(f"{lent}\n")
    yield python
    shutil.rmtree(folder)


def run(python: Path, folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run an environment's Python, with none of the packages and settings at hand."""
    ours = ("PYTHON", "PYTEST", "VIRTUAL_ENV", "COVERAGE", "PIP_", "ATTNBOOK")
    variables = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    # pip's setting is the value of build isolation, whatever its name says
    variables |= {"PIP_NO_INDEX": "1", "PIP_NO_BUILD_ISOLATION": "0", "PIP_CONFIG_FILE": os.devnull}
    variables |= {"ATTNBOOK_DEVICE": "cpu", "ATTNBOOK_PROGRESS": str(folder)}
    return subprocess.run(
        [str(python), *command], cwd=folder, env=variables, capture_output=True, encoding="utf-8"
    )


def install(python: Path, *arguments: str) -> None:
    """Let pip install or uninstall something, without a package index."""
    done = run(python, python.parent, "-m", "pip", "--quiet", *arguments)
    assert done.returncode == 0, done.stderr


def packages(python: Path) -> list[str]:
    """What is installed, with its version."""
    code = "import importlib.metadata as m; print(*(d.name + d.version for d in m.distributions()))"
    return sorted(run(python, python.parent, "-c", code).stdout.split())


def test_a_chapter_gives_the_same_outputs_there(python: Path, wheel: Path, tmp_path: Path) -> None:
    install(python, "install", str(wheel))
    shutil.copy(ROOT / "book" / CHAPTER, tmp_path)
    nbval = ["--nbval", "--nbval-current-env", f"--nbval-sanitize-with={SANITIZE}"]
    done = run(python, tmp_path, "-m", "pytest", "-q", "-p", "no:cacheprovider", *nbval, CHAPTER)
    assert done.returncode == 0, done.stdout + done.stderr
    listed = run(python, tmp_path, "-m", "attnbook", "list").stdout
    assert len(listed.splitlines()) >= 40


# --- the first cell of a notebook, where the package is missing --------------------------------


def run_first_cell(python: Path, notebook: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a notebook's first code cell as a kernel does, and say where the package is then."""
    cells = json.loads(notebook)["cells"]
    first = next("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    code = f"{first}\nimport attnbook\nprint(attnbook.__file__)"
    return run(python, folder, "-m", "IPython", "--no-banner", "--colors=nocolor", "-c", code)


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """What a clone has of the package, committed; its folder of chapters is empty."""
    shutil.copytree(PACKAGE, tmp_path / "src/attnbook", ignore=shutil.ignore_patterns("*.pyc"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / "book").mkdir()
    git = ["git", "-c", "user.name=reader", "-c", "user.email=reader@example.org"]
    for command in (["init"], ["add", "."], ["commit", "--message=all"]):
        subprocess.run([*git, *command], cwd=tmp_path, check=True, capture_output=True)
    return tmp_path


@pytest.mark.parametrize("copy", ["in a clone", "published", "without a source"])
def test_the_first_cell_installs_the_package_and_changes_no_other(
    python: Path, copy: str, clone: Path
) -> None:
    notebook = (ROOT / "book" / CHAPTER).read_text("utf-8")
    folder = clone / "book"
    if copy == "published":
        address = clone.as_uri().replace("file://", "git+file://localhost")
        notebook, folder = published(notebook, f"attnbook @ {address}"), clone.parent
    elif copy == "without a source":
        (clone / "pyproject.toml").write_text('[project]\nname = "mine"\nversion = "1"\n')
    install(python, "uninstall", "--yes", "attnbook")
    before = packages(python)
    done = run_first_cell(python, notebook, folder)
    if copy == "without a source":
        source = f"attnbook @ {clone.as_uri()}"
        said = f"UsageError: pip could not install {source!r}: see 'How to use this book'"
        assert (done.stdout + done.stderr).strip() == said
        assert packages(python) == before
    else:
        assert Path(done.stdout.strip()).is_relative_to(python.parents[1]), done.stderr
        assert sorted([*before, "attnbook" + importlib.metadata.version("attnbook")]) == packages(
            python
        )
