"""The library outside its checkout: its wheel, and the cell of a chapter that installs it."""

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

from manuscript.common import ROOT

PACKAGE = ROOT / "src" / "attnbook"


def test_the_wheel_contains_the_whole_library_and_nothing_else(tmp_path: Path) -> None:
    (command,) = re.findall(r"\$\(BIN\)/uv (build .*)", (ROOT / "Makefile").read_text("utf-8"))
    command = command.replace("$(BIN)/python", sys.executable).replace("_build/dist", str(tmp_path))
    subprocess.run([sys.executable, "-m", "uv", *command.split()], cwd=ROOT, check=True)
    (path,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(path) as wheel:
        names = set(wheel.namelist())
        metadata = next(wheel.read(name).decode() for name in names if name.endswith("/METADATA"))
    files = {path for path in PACKAGE.rglob("*") if path.is_file() and path.suffix != ".pyc"}
    wanted = {path.relative_to(PACKAGE.parent).as_posix() for path in files}
    assert "attnbook/locale/zh_CN/LC_MESSAGES/attnbook.mo" in wanted
    assert {name for name in names if ".dist-info/" not in name} == wanted
    licenses = {name.partition("/licenses/")[2] for name in names if "/licenses/" in name}
    assert licenses == {"LICENSE", "src/attnbook/fonts/OFL.txt"}
    assert "License-Expression: MIT AND OFL-1.1" in metadata
    version = re.findall(r"^Version: (.+)", metadata, re.M)  # compared with two other files
    assert (
        re.findall(r"^version: (.+)", (ROOT / "CITATION.cff").read_text("utf-8"), re.M) == version
    )
    assert (
        re.findall(r"^## ([\d.]+)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M)[:1] == version
    )


def test_the_first_cell_of_a_chapter_installs_the_library_from_its_clone(tmp_path: Path) -> None:
    """The new environment finds every installed package except the library.

    Our environment finds the library through a file that the new environment does not read. The
    clone has no compiled catalog, and one of its translations has been edited.
    """
    clone, env = tmp_path / "clone", tmp_path / "env"
    shutil.copytree(PACKAGE, clone / "src/attnbook", ignore=shutil.ignore_patterns("*.pyc", "*.mo"))
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, clone)
    catalog = Path("translations", "zh_CN", "attnbook.po")
    (clone / catalog).parent.mkdir(parents=True)
    text = (ROOT / catalog).read_text("utf-8")
    edited = re.sub(r'(?<=^msgid "Solution"\nmsgstr ")[^"]+', "edited", text, flags=re.M)
    (clone / catalog).write_text(edited, "utf-8")
    (clone / "book").mkdir()
    cells = json.loads((ROOT / "book" / "01_library.ipynb").read_text("utf-8"))["cells"]
    first = next("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")

    subprocess.run([sys.executable, "-m", "venv", "--without-pip", env], check=True)
    python = next(path for path in env.glob("*/python*") if path.stem == "python")
    where = run(python, env, "import sysconfig; print(sysconfig.get_path('purelib'))")
    Path(where, "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    found = run(python, clone / "book", f"{first}\nimport attnbook\nprint(attnbook.__file__)")
    assert Path(found).is_relative_to(env)
    code = "import os; os.environ['ATTNBOOK_LANGUAGE'] = 'zh_CN'; import attnbook.language as l"
    assert run(python, clone / "book", f"{code}\nprint(l._('Solution'))") == "edited"


def run(python: Path, folder: Path, code: str) -> str:
    """Run code in an environment, without our settings or a package index; return the output."""
    ours = ("PYTHON", "PYTEST", "VIRTUAL_ENV", "COVERAGE", "PIP_", "ATTNBOOK")
    variables = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    # Despite the name of pip's setting, 0 means no build isolation.
    variables |= {"PIP_NO_INDEX": "1", "PIP_NO_BUILD_ISOLATION": "0", "PIP_CONFIG_FILE": os.devnull}
    done = subprocess.run(
        [python, "-c", code], cwd=folder, env=variables, capture_output=True, encoding="utf-8"
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
