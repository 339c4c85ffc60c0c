"""Folders import in one direction only, no imports form a circle, and files stay short."""

import ast
import json
import re
import sys
import tomllib
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from manuscript.common import ROOT

# Our folders, and which of them each may import. Tests may import every folder; book/ has no code.
FOLDERS = {
    "src/attnbook": {"attnbook"},
    "manuscript": {"attnbook", "manuscript"},
    "tools": {"attnbook", "manuscript", "tools"},
    "press": {"attnbook", "manuscript", "press"},
}
OURS = {"attnbook", "manuscript", "tools", "press", "tests", "conftest"}

# The folders and single modules of the library: each may import itself and those before it.
BASE = ("language", "colors", "checks", "mistakes")
CORE = ("attention", "positions", "efficient", "models")  # these need nothing but PyTorch
PLAIN = ("notebook", "figures")  # these take plain tensors, and import only BASE
ROOMS = ("exercises.cards", "exercises.checker", "exercises.terminal", "exercises.chapters")
AROUND = ("corpus", "training", "pretrained", "widgets", *ROOMS, "exercises", "__main__")
EXAMINE = "examination"  # beside the core, which it does not import: any code is examined
ORDER = (*BASE, *CORE, EXAMINE, "public", "__init__", *PLAIN, *AROUND)

LONGEST = {"core": 150, "": 400}  # lines of a file
WRITTEN = {".py", ".css", ".js", ".html"}  # the endings of files that people write and read
COPIED = (
    "press/static/katex",
    "press/static/minisearch",
    "tests/support/vendor",
)  # files of others


def modules(root: Path) -> Iterator[tuple[str, str, Path]]:
    """Yield the modules of our folders, each with its folder and its full name."""
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*.py")):
            parts = path.relative_to(root / folder).with_suffix("").parts
            top = folder.rpartition("/")[2]
            yield folder, ".".join((top, *parts)), path


def imports(path: Path, name: str) -> Iterator[str]:
    """Yield the full names of what a module with this name imports, even inside its functions."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        if isinstance(node, ast.ImportFrom):
            base = (node.module or "").split(".") if node.module else []
            if node.level:
                base = [*name.split(".")[: -node.level], *base]
            yield from (".".join((*base, alias.name)) for alias in node.names)


def part_of(full: str) -> str:
    """Return the part of the library that a full name belongs to."""
    names = full.split(".")[1:3]
    return ".".join(names) if ".".join(names) in ROOMS else names[0] if names else ""


def allowed(part: str) -> tuple[str, ...]:
    """Name the parts of the library that this part may import."""
    if part in (*BASE, *PLAIN):
        return (*(BASE if part in PLAIN else ()), part)
    if part == EXAMINE:
        return (*BASE, EXAMINE)
    if part in CORE:
        return (*BASE, *CORE[: CORE.index(part) + 1])
    if part == "public":
        return (*BASE, *CORE, EXAMINE, "notebook", part)
    shared = ("exercises",) if part in ROOMS else ()  # what an exercise is, and the catalog
    return (*ORDER[: ORDER.index(part) + 1], *shared)


def violations(root: Path) -> Iterator[str]:
    """Describe each import in the wrong direction."""
    for folder, name, path in modules(root):
        part = part_of(name)
        if folder == "src/attnbook" and part not in ORDER:
            yield f"{part} has no place yet: give it one in tests/project/test_architecture.py"
            continue
        for full in sorted(set(imports(path, name))):
            package = full.partition(".")[0]
            target = part_of(full)
            if package in OURS - FOLDERS[folder]:
                yield f"{folder}/ imports {package}"
            elif folder != "src/attnbook":
                continue
            elif package == "attnbook" and target in ORDER and target not in allowed(part):
                yield f"{name} imports {target}"
            elif (
                package not in {"attnbook", "torch", *sys.stdlib_module_names}
                and part in BASE + CORE
            ):
                yield f"{name} imports {package}, and the core needs nothing but torch"


def circles(root: Path) -> Iterator[str]:
    """Describe the first circle of imports, if there is one."""
    known = {name.removesuffix(".__init__") for _, name, _ in modules(root)}
    graph = {}
    for _, name, path in modules(root):
        found = {full if full in known else full.rpartition(".")[0] for full in imports(path, name)}
        graph[name.removesuffix(".__init__")] = (found & known) - {name.removesuffix(".__init__")}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        yield " → ".join(reversed(error.args[1]))


def test_every_import_points_the_right_way() -> None:
    lines = [*violations(ROOT), *circles(ROOT)]
    assert not lines, "\n".join(["imports that point the wrong way (see ARCHITECTURE.md):", *lines])
    modules_in_book = list((ROOT / "book").rglob("*.py"))
    assert not modules_in_book, f"move modules from book/ to src/: {modules_in_book}"


def test_library_and_chapters_need_exactly_the_declared_packages() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    declared = {re.match(r"[\w-]+", text)[0] for text in project["dependencies"]}
    library = [found[1:] for found in modules(ROOT) if found[0] == "src/attnbook"]
    used = {full.partition(".")[0] for name, path in library for full in imports(path, name)}
    for path in (ROOT / "book").glob("*.ipynb"):
        for cell in json.loads(path.read_text("utf-8"))["cells"]:
            used |= set(re.findall(r"(?m)^(?:from|import) (\w+)", "".join(cell["source"])))
    needed = {name.lower() for name in used - sys.stdlib_module_names - {"attnbook"}}
    assert needed == declared, "imports and dependencies in pyproject.toml differ"


def test_files_are_short_enough_to_read() -> None:
    long = {}
    for path in sorted(
        path for folder in (*FOLDERS, "tests") for path in (ROOT / folder).rglob("*")
    ):
        name = path.relative_to(ROOT).as_posix()
        if path.suffix in WRITTEN and not name.startswith(COPIED):
            core = name.startswith(tuple(f"src/attnbook/{part}/" for part in ("checks", *CORE)))
            n_lines = len(path.read_text("utf-8").splitlines())
            if n_lines > LONGEST["core" if core else ""]:
                long[name] = n_lines
    assert not long, f"longer than {LONGEST['']} lines, or {LONGEST['core']} in the core: {long}"


@pytest.mark.parametrize(
    ("module", "source", "complaint"),
    [
        (
            "attention/masks.py",
            "from attnbook.figures import plot_weights",
            "attnbook.attention.masks imports figures",
        ),
        (
            "positions/alibi.py",
            "def f():\n    import attnbook.models.layers",
            "attnbook.positions.alibi imports models",
        ),
        (
            "attention/heads.py",
            "from ..figures import bars",
            "attnbook.attention.heads imports figures",
        ),
        (
            "attention/heads.py",
            "import numpy",
            "attnbook.attention.heads imports numpy, and the core needs nothing but torch",
        ),
        (
            "figures/bars.py",
            "from attnbook.attention import masks",
            "attnbook.figures.bars imports",
        ),
        (
            "exercises/cards/console.py",
            "from attnbook.exercises.checker import guard",
            "attnbook.exercises.cards.console imports exercises.checker",
        ),
        (
            "corpus/sentence.py",
            "import attnbook.widgets",
            "attnbook.corpus.sentence imports widgets",
        ),
        ("other.py", "", "other has no place yet"),
        ("models/decoding.py", "import math\nfrom attnbook.attention.heads import f", ""),
        ("training/loop.py", "from tools.run import main", "src/attnbook/ imports tools"),
    ],
)
def test_an_import_that_points_the_wrong_way_is_named(
    module: str, source: str, complaint: str, tmp_path: Path
) -> None:
    path = tmp_path / "src" / "attnbook" / module
    path.parent.mkdir(parents=True)
    path.write_text(source)
    found = list(violations(tmp_path))
    assert len(found) == bool(complaint)
    assert not complaint or found[0].startswith(complaint)


def test_a_circle_is_named(tmp_path: Path) -> None:
    for name, other in ("one", "two"), ("two", "one"):
        path = tmp_path / "press" / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"def f():\n    from press.{other} import g")
    assert list(circles(tmp_path)) in (
        ["press.one → press.two → press.one"],
        ["press.two → press.one → press.two"],
    )


INDEXES = ("manuscript", "press/extension", "press/pdf", "src/attnbook/examination")


@pytest.mark.parametrize("folder", INDEXES)
def test_a_folder_with_an_index_lists_every_module(folder: str) -> None:
    index = ast.get_docstring(ast.parse((ROOT / folder / "__init__.py").read_text("utf-8"))) or ""
    names = {path.stem for path in (ROOT / folder).glob("[!_]*.py")}
    assert names - {*re.findall(r"\w+", index)} == set()
    begun = {*re.findall(r"(?m)^(\w+) {2,}", index)}
    assert begun
    assert begun - {path.stem for path in (ROOT / folder).iterdir()} == set()
