"""Where the book runs without its checkout: from the wheel, on Binder, in a container.

The wheel is installed where nothing else is, outside the repository, and notebooks are run there.
That needs a package index; without one these tests are skipped, unless ATTNBOOK_REQUIRE_BROWSER=1
says that nothing may be. Binder and the container cannot be started by a test: what they read is
checked.
"""

import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from press.extension.links import published
from tools import bootstrap
from tools.common import ROOT
from tools.run import SANITIZE

PACKAGE = ROOT / "src" / "attnbook"
BUILD = "build --quiet --no-build-isolation --python {python} --out-dir {folder}"  # make wheel
CHAPTERS = ("01_library.ipynb", "02_embeddings.ipynb", "06_masked_attention.ipynb")
NO_INDEX = r"error sending request|dns error|Failed to fetch|Connection refused|timed out"
APART = re.compile(r"^(triton|cuda|nvidia)|extra ==")  # what only some builds of PyTorch bring
LIST = """
import importlib.metadata, json
print(json.dumps({d.name.lower(): d.version for d in importlib.metadata.distributions()}))"""

# Nothing of the environment at hand may help: neither its packages nor its settings.
OUTSIDE = {
    name: value
    for name, value in os.environ.items()
    if not name.startswith(("PYTHON", "PYTEST", "VIRTUAL_ENV", "COVERAGE"))
}


def uv(*arguments: str | Path, cwd: Path = ROOT) -> str:
    """Run uv; without a package index skip, or fail where nothing may be skipped."""
    command = [sys.executable, "-m", "uv", *map(str, arguments)]
    done = subprocess.run(command, cwd=cwd, env=OUTSIDE, capture_output=True, text=True)
    if done.returncode and re.search(NO_INDEX, done.stderr):
        required = os.environ.get("ATTNBOOK_REQUIRE_BROWSER") == "1"
        reason = "no package index answers, so nothing can be installed"
        pytest.fail(reason) if required else pytest.skip(reason)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, made as `make wheel` makes it."""
    folder = tmp_path_factory.mktemp("dist")
    uv(*BUILD.format(python=sys.executable, folder=folder).split())
    (path,) = folder.glob("*.whl")
    return path


def test_the_wheel_holds_the_library_whole_and_nothing_else(wheel: Path) -> None:
    assert BUILD.format(python="$(BIN)/python", folder="_build/dist") in read("Makefile")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        (info,) = {name.split("/")[0] for name in names if ".dist-info/" in name}
        metadata = archive.read(f"{info}/METADATA").decode()
    files = {path for path in PACKAGE.rglob("*") if path.is_file() and path.suffix != ".pyc"}
    wanted = {path.relative_to(PACKAGE.parent).as_posix() for path in files}
    assert {"attnbook/py.typed", "attnbook/fonts/OFL.txt", "attnbook/__main__.py"} <= wanted
    assert {name for name in names if not name.startswith(info)} == wanted
    assert f"{info}/licenses/LICENSE" in names
    assert f"{info}/licenses/src/attnbook/fonts/OFL.txt" in names
    assert "License-Expression: MIT AND OFL-1.1" in metadata


def read(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


@dataclass
class Empty:
    """An environment outside the repository that holds the wheel and what runs a notebook."""

    python: Path
    folder: Path  # where to work in it

    def run(self, *arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Run this environment's Python; the reader's own progress is not touched."""
        return subprocess.run(
            [str(self.python), *arguments],
            cwd=cwd or self.folder,
            env=OUTSIDE | {"ATTNBOOK_PROGRESS": str(self.folder), "ATTNBOOK_DEVICE": "cpu"},
            capture_output=True,
            encoding="utf-8",
        )

    def packages(self) -> dict[str, str]:
        """What is installed, by name."""
        done = self.run("-c", LIST)
        assert done.returncode == 0, done.stderr
        return dict(json.loads(done.stdout))


@pytest.fixture(scope="module")
def empty(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Empty]:
    """The environment, gone after the tests. All but PyTorch comes from the package index."""
    folder = tmp_path_factory.mktemp("outside")
    uv("venv", "--seed", "--python", sys.executable, folder / "env", cwd=folder)
    python = next(path for path in folder.glob("env/*/python*") if path.stem == "python")
    (folder / "work").mkdir()
    environment = Empty(python, folder / "work")
    assert not {"attnbook", "torch", "numpy"} & set(environment.packages())
    lend_torch(environment, folder / "torch")

    at_hand = {d.name: d.version for d in importlib.metadata.distributions()}
    pins = [f"{name}=={at_hand[name]}" for name in at_hand.keys() - {"attnbook", "torch"}]
    (folder / "pins.txt").write_text("\n".join(pins), "utf-8")
    (folder / "lent.txt").write_text("torch ; sys_platform == 'none'", "utf-8")
    given = ["--python", python, "-c", folder / "pins.txt", "--override", folder / "lent.txt"]
    needed = [r for r in importlib.metadata.requires("torch") or () if not APART.search(r)]
    uv("pip", "install", *given, wheel, "ipykernel", "nbval", "pytest", *needed, cwd=folder)
    yield environment
    shutil.rmtree(folder)


def lend_torch(environment: Empty, folder: Path) -> None:
    """Let an environment see the PyTorch at hand: another would be up to three gigabytes to load.

    It lies in a folder of its own, where no installer writes: some would write through a link.
    """
    folder.mkdir()
    for package in importlib.metadata.distributions():
        if package.name != "torch" and not APART.match(package.name):
            continue
        for name in {file.parts[0] for file in package.files or ()} - {"..", "__pycache__"}:
            there = Path(str(package.locate_file(name)))
            if (folder / name).exists():  # the packages of CUDA share a folder
                continue
            if os.name == "nt":  # few users may make a link
                shutil.copytree(there, folder / name)
            else:
                (folder / name).symlink_to(there)
    ask = "import sysconfig; print(sysconfig.get_path('purelib'))"
    site = Path(environment.run("-c", ask).stdout.strip())
    (site / "lent.pth").write_text(f"{folder}\n", "utf-8")


def test_the_package_comes_from_the_wheel_with_all_that_it_needs(empty: Empty) -> None:
    where = empty.run("-c", "import attnbook; print(attnbook.__file__)").stdout.strip()
    assert Path(where).is_relative_to(empty.python.parents[1])
    there = empty.packages()
    assert {"attnbook", "torch", "numpy", "matplotlib", "ipython", "platformdirs"} <= set(there)
    assert there["torch"] == importlib.metadata.version("torch")
    assert not {"jupyter-book", "transformers", "playwright"} & set(there)


def test_the_exercises_are_listed_in_a_terminal(empty: Empty) -> None:
    here = subprocess.run(
        [sys.executable, "-m", "attnbook", "list"],
        env={**os.environ, "PYTHONIOENCODING": "cp1252"},  # as a pipe has it on Windows
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    there = empty.run("-m", "attnbook", "list")
    assert there.stdout == here.stdout
    assert len(there.stdout.splitlines()) > 40


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_notebook_gives_the_same_outputs_there(empty: Empty, name: str) -> None:
    shutil.copy(ROOT / "book" / name, empty.folder)
    nbval = ["--nbval", "--nbval-current-env", "--nbval-cell-timeout=600"]
    done = empty.run(
        *("-m", "pytest", "-q", "-p", "no:cacheprovider"),
        *(*nbval, f"--nbval-sanitize-with={SANITIZE}", name),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    cells = json.loads((ROOT / "book" / name).read_text("utf-8"))["cells"]
    assert f"{sum(cell['cell_type'] == 'code' for cell in cells)} passed" in done.stdout


# --- the first cell of a notebook, where the package is missing --------------------------------


@pytest.fixture
def bare(empty: Empty) -> Empty:
    """The environment without the package."""
    uv("pip", "uninstall", "--quiet", "--python", empty.python, "attnbook")
    return empty


def run_first_cell(empty: Empty, notebook: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a notebook's first code cell as a kernel does, and say where the package lies then."""
    cells = json.loads(notebook)["cells"]
    first = next("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    code = f"{first}\nimport attnbook\nprint(attnbook.__file__)"
    return empty.run("-m", "IPython", "--no-banner", "--colors=nocolor", "-c", code, cwd=folder)


def checkout(folder: Path) -> Path:
    """What a clone has of the package, committed; its folder of chapters is empty."""
    shutil.copytree(PACKAGE, folder / "src" / "attnbook", ignore=shutil.ignore_patterns("*.pyc"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    (folder / "book").mkdir()
    git = ["git", "-c", "user.name=reader", "-c", "user.email=reader@example.org"]
    for command in (["init"], ["add", "."], ["commit", "--message=all"]):
        subprocess.run([*git, *command], cwd=folder, check=True, capture_output=True)
    return folder


@pytest.mark.parametrize("copy", ["in a clone", "published"])
def test_the_first_cell_installs_the_package_and_changes_no_other(
    bare: Empty, copy: str, tmp_path: Path
) -> None:
    clone = checkout(tmp_path)
    notebook, folder = read(f"book/{CHAPTERS[0]}"), clone / "book"
    if copy == "published":
        notebook, folder = published(notebook, f"attnbook @ git+{clone.as_uri()}"), bare.folder
    before = bare.packages()
    done = run_first_cell(bare, notebook, folder)
    assert done.returncode == 0, done.stdout + done.stderr
    assert Path(done.stdout.strip()).is_relative_to(bare.python.parents[1])
    assert bare.packages() == before | {"attnbook": bare.packages()["attnbook"]}
    again = run_first_cell(bare, notebook, Path(tmp_path.anchor))  # no source is needed any more
    assert again.stdout == done.stdout


@pytest.mark.parametrize("beside", ["nothing", "another package"])
def test_a_notebook_without_a_source_says_so_in_one_sentence(
    bare: Empty, beside: str, tmp_path: Path
) -> None:
    if beside == "another package":
        project = '[project]\nname = "mine"\nversion = "1"\n[tool.setuptools]\npy-modules = []\n'
        (tmp_path / "pyproject.toml").write_text(project)
    (tmp_path / "downloads").mkdir()
    before = bare.packages()
    done = run_first_cell(bare, read(f"book/{CHAPTERS[0]}"), tmp_path / "downloads")
    said = (done.stdout + done.stderr).strip()
    source = f"attnbook @ {tmp_path.as_uri()}"
    assert said == f"UsageError: pip could not install {source!r}: see 'How to use this book'"
    assert bare.packages() == before


# --- Binder and the container: what can be checked without starting them -----------------------


def test_binder_installs_what_the_chapters_need_as_the_book_pins_it() -> None:
    lines = [
        line.partition("#")[0].strip() for line in read("binder/requirements.txt").splitlines()
    ]
    assert f"--extra-index-url {bootstrap.CPU_TORCH}" in lines
    assert lines[-1] == "-e ."
    asked = dict(line.split("==") for line in lines if "==" in line)
    pins = dict(re.findall(r"^([\w-]+)==(\S+)", read("requirements.txt"), re.M))
    assert asked == {name: pins[name] + "+cpu" * (name == "torch") for name in asked}
    project = tomllib.loads(read("pyproject.toml"))["project"]
    needs = {Requirement(line).name for line in project["dependencies"]}
    assert set(asked) == needs | {"ipykernel", "jupyterlab"}
    assert fits(read("binder/runtime.txt").strip().removeprefix("python-"))


def fits(version: str) -> bool:
    """Whether the book supports a Python."""
    return bootstrap.OLDEST <= tuple(map(int, version.split("."))) <= bootstrap.NEWEST


def test_the_container_makes_the_environment_and_shows_what_make_serves() -> None:
    container = json.loads(read(".devcontainer/devcontainer.json"))
    assert set(container) == {  # all of them keys of the public schema
        *("name", "image", "hostRequirements", "postCreateCommand"),
        *("forwardPorts", "portsAttributes", "customizations"),
    }
    image = re.fullmatch(
        r"mcr\.microsoft\.com/devcontainers/python:(3\.\d+)-bookworm", container["image"]
    )
    assert image
    assert fits(image[1])
    assert container["postCreateCommand"] == "make env"
    makefile = read("Makefile")
    assert "\nenv:\n" in makefile
    port = re.search(r"^PORT \?= (\d+)$", makefile, re.M)
    assert port
    assert container["forwardPorts"] == [8888, int(port[1])]
    assert set(container["portsAttributes"]) == {str(p) for p in container["forwardPorts"]}
    vscode = container["customizations"]["vscode"]
    assert "ms-toolsai.jupyter" in vscode["extensions"]
    python = vscode["settings"]["python.defaultInterpreterPath"]
    assert python == "${containerWorkspaceFolder}/.venv/bin/python"
    gigabytes = {
        name: int(container["hostRequirements"][name][:-2]) for name in ("memory", "storage")
    }
    assert gigabytes["storage"] > bootstrap.GIGABYTES["gpu"]
