"""Folders and modules import in one direction only, as ARCHITECTURE.md says."""

import ast
import json
import os
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools.common import ROOT
from tools.rules import lines_of, without_docstrings

# Our folders, and what each may import. Tests may import every folder; book/ has no modules.
FOLDERS = {
    "src/attnbook": {"attnbook"},
    "benchmarks": {"attnbook", "benchmarks"},
    "tools": {"attnbook", "tools"},
    "press": {"attnbook", "tools", "press"},
}
OURS = {"attnbook", "tools", "press", "tests", "benchmarks", "conftest"}

# Every module may import these modules, which import none of ours.
BASE = {"checks", "colors", "language"}
# The core, layer by layer: a module imports only modules of earlier layers.
CORE = (
    {"attention", "masks", "cache", "loading"},
    {"heads", "chunked"},
    {"efficient", "blocked", "linear", "multi_head", "positions", "alibi", "interventions"},
    {"relative", "rotary", "layers"},
    {"grouped_query", "transformer"},
    {"decoding", "language_model"},
    {"sampling"},
)
# These do not depend on attention.
PLAIN = {"show", "figures", "sentence", "cost"}
# These use the core and one another; the core uses none of them.
AROUND = {
    *("training", "trained", "grammar", "user_corpus", "translation", "widgets", "exercises"),
}

LONGEST_MODULE = 170  # lines, as `ast.unparse` writes them; the goal is about 150


def allowed() -> dict[str, set[str]]:
    """Map each module or folder of the library to the modules and folders that it may import."""
    known = set(BASE)
    may: dict[str, set[str]] = {name: set() for name in BASE}
    for layer in CORE:
        may |= {name: set(known) for name in layer}
        known |= layer
    may |= {name: set(BASE) for name in PLAIN}
    everything = known | PLAIN | AROUND
    may |= {name: everything - {name} for name in AROUND}
    return may


def modules(root: Path) -> Iterator[tuple[str, Path]]:
    """Yield the library's modules, each with the top-level module or folder it belongs to.

    `__init__.py` and `__main__.py` of the package are left out.
    """
    package = root / "src" / "attnbook"
    for path in sorted(package.rglob("*.py")):
        if path not in (package / "__init__.py", package / "__main__.py"):
            yield path.relative_to(package).parts[0].removesuffix(".py"), path


def imports(path: Path) -> Iterator[str]:
    """Yield the full names of what a module imports, even inside its functions."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        if isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            yield from (f"{base}.{alias.name}" for alias in node.names)


def violations(root: Path) -> Iterator[str]:
    """Describe each import in the wrong direction."""
    for folder, may in FOLDERS.items():
        for path in sorted((root / folder).rglob("*.py")):
            for other in sorted({full.partition(".")[0] for full in imports(path)} & OURS - may):
                yield f"{folder}/ imports {other}"
    may_import, core = allowed(), BASE.union(*CORE)
    for name, path in modules(root):
        if name not in may_import:
            yield f"{name} has no place yet: give it one in tests/project/test_architecture.py"
            continue
        for full in imports(path):
            package, _, rest = full.partition(".")
            target = rest.partition(".")[0]
            if not package:
                yield f"{name} imports {full}: name the package"
            elif package == "attnbook" and target != name and target not in may_import[name]:
                yield f"{name} imports {target}"
            elif package not in {"attnbook", "torch", *sys.stdlib_module_names} and name in core:
                yield f"{name} imports {package}, and the core needs nothing but torch"


def test_every_import_points_the_right_way() -> None:
    lines = list(violations(ROOT))
    assert not lines, "\n".join(["imports that point the wrong way (see ARCHITECTURE.md):", *lines])
    modules_in_book = list((ROOT / "book").rglob("*.py"))
    assert not modules_in_book, f"move modules from book/ to src/: {modules_in_book}"


def test_library_and_chapters_need_exactly_the_declared_packages() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    declared = {re.match(r"[\w-]+", text)[0] for text in project["dependencies"]}
    used = {full.partition(".")[0] for _, path in modules(ROOT) for full in imports(path)}
    for path in (ROOT / "book").glob("*.ipynb"):
        for cell in json.loads(path.read_text("utf-8"))["cells"]:
            used |= set(re.findall(r"(?m)^(?:from|import) (\w+)", "".join(cell["source"])))
    needed = {name.lower() for name in used - sys.stdlib_module_names - {"attnbook"}}
    assert needed == declared, "imports and dependencies in pyproject.toml differ"


def test_a_module_of_the_core_has_150_lines_or_says_why_not() -> None:
    for name in BASE.union(*CORE) - {"colors"}:
        text = (ROOT / "src" / "attnbook" / f"{name}.py").read_text("utf-8")
        first_words = ast.get_docstring(ast.parse(text))
        assert len(text.splitlines()) <= 150 or "longer than" in first_words, f"{name} is too long"


def test_every_module_is_short_enough_to_read() -> None:
    lines = {
        path.name: lines_of(without_docstrings(path.read_text("utf-8")))
        for _, path in modules(ROOT)
    }
    # The exercises of a chapter are a list of texts, so their length does not count.
    long = {
        name: len(lines[name])
        for name in lines
        if len(lines[name]) > LONGEST_MODULE and not re.match(r"ch\d\d_", name)
    }
    assert not long, f"longer than {LONGEST_MODULE} lines of code; split them: {long}"


@pytest.mark.parametrize(
    ("module", "source", "complaint"),
    [
        ("attention.py", "from attnbook.figures import plot_weights", "attention imports figures"),
        ("attention.py", "def f():\n    import attnbook.heads", "attention imports heads"),
        ("heads.py", "from .masks import causal_mask", "heads imports .masks.causal_mask: name"),
        ("heads.py", "import numpy", "heads imports numpy, and the core needs nothing but torch"),
        ("other.py", "", "other has no place yet"),
        ("decoding.py", "import math\nfrom attnbook.heads import SelfAttention", ""),
        ("training.py", "from tools.common import ROOT", "src/attnbook/ imports tools"),
    ],
)
def test_an_import_that_points_the_wrong_way_is_named(
    module: str, source: str, complaint: str, tmp_path: Path
) -> None:
    path = Path(os.path.normpath(tmp_path / "src" / "attnbook" / module))
    path.parent.mkdir(parents=True)
    path.write_text(source)
    found = list(violations(tmp_path))
    assert len(found) == bool(complaint)
    assert not complaint or found[0].startswith(complaint)
