"""The library outside its checkout: its wheel, and an environment with its dependencies alone.

The packages are lent by the environment at hand, so that no package index is needed: what the
library declares, with the dependencies of that, and what runs a notebook.
"""

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tools.common import ROOT
from tools.run import SANITIZE

PACKAGE = ROOT / "src" / "attnbook"
CHAPTER = "01_library.ipynb"
RUNNERS = ["ipykernel", "nbval", "pytest", "setuptools"]  # setuptools builds the package


def test_the_wheel_holds_the_library_whole_and_nothing_else(tmp_path: Path) -> None:
    (command,) = re.findall(r"\$\(BIN\)/uv (build .*)", (ROOT / "Makefile").read_text("utf-8"))
    command = command.replace("$(BIN)/python", sys.executable).replace("_build/dist", str(tmp_path))
    subprocess.run([sys.executable, "-m", "uv", *command.split()], cwd=ROOT, check=True)
    (path,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(path) as wheel:
        names = set(wheel.namelist())
        metadata = next(wheel.read(name).decode() for name in names if name.endswith("/METADATA"))
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


@pytest.fixture
def python(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The Python of an environment with pip and the lent packages; gone afterwards."""
    folder = tmp_path_factory.mktemp("outside")
    subprocess.run([sys.executable, "-m", "venv", folder / "env"], check=True)
    python = next(path for path in folder.glob("env/*/python*") if path.stem == "python")
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"][
        "dependencies"
    ]
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
    run(python, folder, "-m", "pip", "uninstall", "--yes", "setuptools")  # Python 3.11's is old
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


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """What a clone has of the package, and one chapter."""
    shutil.copytree(PACKAGE, tmp_path / "src/attnbook", ignore=shutil.ignore_patterns("*.pyc"))
    for name in ("pyproject.toml", "README.md", "LICENSE", f"book/{CHAPTER}"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def test_a_chapter_installs_the_package_and_gives_the_same_outputs(
    python: Path, clone: Path
) -> None:
    nbval = ["--nbval", "--nbval-current-env", f"--nbval-sanitize-with={SANITIZE}"]
    pytest = ["-m", "pytest", "-q", "-p", "no:cacheprovider", *nbval, f"book/{CHAPTER}"]
    (clone / "pytest.ini").touch()
    done = run(python, clone, *pytest)
    assert done.returncode == 0, done.stdout + done.stderr
    where = "import attnbook; print(attnbook.__file__)"
    assert Path(run(python, clone, "-c", where).stdout.strip()).is_relative_to(python.parents[1])
    listed = run(python, clone, "-m", "attnbook", "list").stdout
    assert len(listed.splitlines()) >= 40
