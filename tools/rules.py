"""The rules that a chapter keeps and nbval does not see. `make check` calls this.

nbval compares the outputs that are there. It passes a notebook without outputs, a picture without
a description, a warning, a path of the author's machine. This looks for such things, and for what
makes the chapters one book: their opening, their headings, the cell that installs the package, one
import cell, short cells.

    .venv/bin/python -m tools.rules [PAGE...]      default: all in book/
"""

import ast
import itertools
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from difflib import SequenceMatcher
from functools import cache
from pathlib import Path
from typing import Any

from tools.common import ROOT, UserError
from tools.run import read, text_of

LIBRARY = ROOT / "src" / "attnbook"
LONGEST_CELL = 15  # lines
LONGEST_COPY = 5  # lines in a row that may equal the library's
SHORTEST_ALT = 40  # characters
PICTURES = ("image/svg+xml", "image/png", "image/jpeg")

# What a chapter may import: the book's package, what it computes with, and Python's own modules
# less those that reach for the network or the machine.
IMPORTS = {"attnbook", "numpy", "torch"} | set(sys.stdlib_module_names)
NO_IMPORTS = {"ftplib", "http", "os", "pathlib", "socket", "subprocess", "sys", "time", "urllib"}

# The first code cell of every notebook, which pages do not show. It imports nothing of ours, and
# names the folder above as a package of this name, so that pip installs no other one lying there.
INSTALL = """\
# Where the book's package is missing, as on Colab, install it. Published copies name its address.
import importlib.util, pathlib, subprocess, sys
from IPython.core.error import UsageError
SOURCE = "attnbook @ " + pathlib.Path("..").resolve().as_uri()
if importlib.util.find_spec("attnbook") is None:
    pip = [sys.executable, "-m", "pip", "install", "--quiet", SOURCE]
    if subprocess.run(pip, capture_output=True).returncode:
        raise UsageError(f"pip could not install {SOURCE!r}: see 'How to use this book'")"""
INSTALL_TAGS = ["remove-cell"]

MACHINE = {
    "a path of this machine": r"(?<![\w./])/(?:home|root|Users|tmp|usr|opt|var|mnt|private)/|"
    r"\b[A-Z]:\\|site-packages|ipykernel_\d",
    "a memory address": r"\b0x[0-9a-fA-F]{6,}\b",
    "a date or a time of day": r"\b20\d\d-\d\d-\d\d\b|\b\d\d:\d\d:\d\d\b|<dc:date>",
    "a timing": r"\b\d+(?:\.\d+)?\s?(?:ns|µs|us|ms|seconds|secs?|it/s)\b|(?:Wall|CPU) times?:",
    "a progress bar": r"\d%\s*\|",
    "a device": r"\bcuda(?::\d)?\b|device='",
    "a warning": r"\b\w*Warning:",
    "a request to the network": r"""(?:src|href)\s*=\s*["']?(?:https?:)?//""",
}
FILLERS = ("simply", "obviously", "let's dive", "crucial", "powerful", "delve")
NETWORK = r"sys\.path|\bpip3? install|^\s*[%!]|torch\.hub|download|urlretrieve|https?://"
OPENING = ("Time", "You need", "Recap")
CLOSING = ("Summary", "Where the sources say it")
NBVAL_MARKS = r"NBVAL_(?:IGNORE_OUTPUT|SKIP)|PYTEST_VALIDATE_IGNORE_OUTPUT"
NBVAL_TAGS = {"nbval-ignore-output", "nbval-skip", "pytest-validate-ignore-output"}


def main(arguments: list[str] | None = None) -> int:
    """Print what is wrong with the pages, one complaint a line; 1 if there is any."""
    names = sys.argv[1:] if arguments is None else arguments
    paths = [Path(name) for name in names] or pages()
    found = list(itertools.chain.from_iterable(complaints(path) for path in paths))
    for line in found:
        print(line)
    print(f"{len(paths)} pages, {len(found)} complaints")
    return 1 if found else 0


def pages() -> list[Path]:
    """The book's pages: the notebooks, and those without code."""
    return sorted(p for p in (ROOT / "book").iterdir() if p.suffix in (".ipynb", ".md"))


def complaints(path: Path) -> Iterator[str]:
    """Everything wrong with one page, as lines that name the file and the cell."""
    if path.suffix == ".md":
        yield from (f"{path}: {complaint}" for complaint in prose_rules(path.read_text("utf-8")))
        return
    raw = json.loads(path.read_text("utf-8"))
    cells = raw["cells"]
    for cell in cells:
        cell["source"] = "".join(cell["source"])
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    for found in (
        file_rules(path),
        id_rules(cells),
        install_rules(code),
        import_rules(code[1:]),
        chapter_rules(path, cells),
    ):
        for complaint in found:
            yield f"{path}: {complaint}"
    for number, cell in enumerate(cells, start=1):
        rules = (
            cell_rules(cell, code) if cell["cell_type"] == "code" else prose_rules(cell["source"])
        )
        for complaint in rules:
            yield f"{path}: cell {number} ({cell.get('id', 'no id')}): {complaint}"


def cell_rules(cell: dict[str, Any], code: list[dict[str, Any]]) -> Iterator[str]:
    """Everything wrong with one code cell among the others."""
    count = 1 + next(position for position, other in enumerate(code) if other is cell)
    yield from count_rules(cell, count)
    yield from output_rules(cell)
    yield from picture_rules(cell, code[max(count - 2, 0) : count + 1])
    if count == 1:
        return  # install_rules knows it to the letter
    yield from source_rules(cell)
    yield from copy_rules(cell["source"])


def file_rules(path: Path) -> Iterator[str]:
    """The file is what tools/run.py would write: a diff shows only what changed."""
    try:
        if text_of(read(path)) != path.read_text("utf-8"):
            yield "is not in the form in which tools/run.py writes it: run that"
    except UserError as error:
        yield str(error)


def id_rules(cells: list[dict[str, Any]]) -> Iterator[str]:
    """Each cell has its own id, a name and not a random number: tests and links rely on it."""
    ids = [cell.get("id") for cell in cells]
    for name, times in Counter(ids).items():
        if name is None:
            yield f"cells without an id: {times}"
        elif times > 1:
            yield f"the cell id {name!r} stands {times} times"
        elif re.fullmatch(r"[0-9a-f-]{8,}", name):
            yield f"the cell id {name!r} was made by a machine: give the cell a short name"


def install_rules(code: list[dict[str, Any]]) -> Iterator[str]:
    """The first code cell installs the package where it is missing: the same in every notebook."""
    first = code[0] if code else {}
    if first.get("source") != INSTALL or first["metadata"].get("tags") != INSTALL_TAGS:
        yield (
            "the first code cell has to install the package where it is missing: copy the cell "
            "and its tag from another notebook"
        )
    elif first["outputs"]:
        yield "the cell that installs the package has outputs: run it where the package is there"


def import_rules(code: list[dict[str, Any]]) -> Iterator[str]:
    """The first cell after the one that installs imports everything, and no other does."""
    for position, cell in enumerate(code):
        nodes = parsed(cell["source"]).body
        inside = [n for node in nodes for n in ast.walk(node)]
        imports = [n for n in inside if isinstance(n, ast.Import | ast.ImportFrom)]
        if position == 0 and len(imports) < len(nodes):
            yield "the second code cell has to be the import cell, with nothing but imports"
        if position > 0 and imports:
            yield f"cell {cell.get('id')} imports: all imports stand in the second code cell"
        for node in imports:
            names = [a.name for a in node.names]
            modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else names
            for root in sorted({module.partition(".")[0] for module in modules}):
                if root not in IMPORTS or root in NO_IMPORTS:
                    yield f"imports {root}: a chapter is made with attnbook, torch and numpy"
            if "*" in names:
                yield "imports *: name what the chapter uses"


def count_rules(cell: dict[str, Any], count: int) -> Iterator[str]:
    """Every code cell has run, in order, in a fresh kernel: nbval passes cells that never ran."""
    if cell.get("execution_count") != count:
        yield f"has execution count {cell.get('execution_count')} instead of {count}: run it again"


def output_rules(cell: dict[str, Any]) -> Iterator[str]:
    """No output that only this machine can give, and none that says something went wrong."""
    for output in cell.get("outputs", []):
        if output["output_type"] == "error":
            yield f"shows an error ({output.get('ename')}): catch it and print what it says"
        if output.get("name") == "stderr":
            yield "prints to stderr"
        for kind in output.get("data", {}):
            if "widget" in kind or "javascript" in kind:
                yield f"holds {kind}, which a page without a kernel does not show"
        for text in shown(output):
            for what, pattern in MACHINE.items():
                match = re.search(pattern, text)
                if match:
                    yield f"prints {what}: {match.group().strip()!r}"


def shown(output: dict[str, Any]) -> Iterator[str]:
    """The texts of an output, less pictures in binary form."""
    yield "".join(output.get("text", []))
    for kind, text in output.get("data", {}).items():
        if kind not in ("image/png", "image/jpeg"):
            yield "".join(text) if isinstance(text, list | str) else json.dumps(text)


def picture_rules(cell: dict[str, Any], near: list[dict[str, Any]]) -> Iterator[str]:
    """A picture is SVG, which nbval compares, and says in words what it shows."""
    kinds = {kind for output in cell.get("outputs", []) for kind in output.get("data", {})}
    if not kinds & set(PICTURES):
        return
    if kinds & {"image/png", "image/jpeg"} and not any(asserts(c["source"]) for c in near):
        yield "holds a PNG or JPEG, which nbval ignores, and no cell beside it asserts anything"
    alt = cell["metadata"].get("mystnb", {}).get("image", {}).get("alt", "")
    if len(alt) < SHORTEST_ALT or " " not in alt or re.search(r"\.(svg|png|jpe?g)$", alt):
        yield (
            f"needs a sentence on what the picture shows, {SHORTEST_ALT} characters or more, "
            f"in its metadata (mystnb.image.alt); it has {alt!r}"
        )


def asserts(source: str) -> bool:
    """Whether a cell asserts something, by `assert` or a function such as `assert_close`."""
    for node in ast.walk(parsed(source)):
        if isinstance(node, ast.Assert):
            return True
        if isinstance(node, ast.Call) and "assert" in ast.unparse(node.func):
            return True
    return False


def source_rules(cell: dict[str, Any]) -> Iterator[str]:
    """A cell has one idea, needs no machine set up for it, and hides nothing from nbval."""
    source = cell["source"]
    lines = source.splitlines()
    if not source.strip():
        yield "is empty"
    if len(lines) > LONGEST_CELL:
        yield f"has {len(lines)} lines: {LONGEST_CELL} at most, one idea in a cell"
    for line in lines:
        if re.search(NETWORK, line):
            yield f"sets up the machine or asks the network: {line.strip()!r}"
        if re.search(NBVAL_MARKS, line):
            yield f"switches the comparison off: {line.strip()!r}"
    for tag in sorted(NBVAL_TAGS & set(cell["metadata"].get("tags", []))):
        yield f"switches the comparison off with the tag {tag!r}"


def copy_rules(source: str) -> Iterator[str]:
    """What the library defines is imported and shown, not copied."""
    tree = parsed(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            name = library_shapes().get(shape(node))
            if name:
                yield f"defines {node.name} just as the library defines {name}: import it"
    lines = lines_of(without_docstrings(tree))
    for where, theirs in library_lines().items():
        matcher = SequenceMatcher(None, lines, theirs, autojunk=False)
        copied = matcher.find_longest_match()
        if copied.size > LONGEST_COPY:
            yield f"copies {copied.size} lines of {where}, from {lines[copied.a]!r} on: import them"


def parsed(source: str) -> ast.Module:
    """The syntax tree of a cell; of an empty one if it is not plain Python."""
    try:
        return ast.parse(source)
    except SyntaxError:
        return ast.parse("")


class Anonymous(ast.NodeTransformer):
    """Numbers all names in order, so that a renamed copy equals its original."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(self.renamed(node.id), node.ctx)

    def visit_arg(self, node: ast.arg) -> ast.arg:
        return ast.arg(self.renamed(node.arg))

    def renamed(self, name: str) -> str:
        """The name's number, by first appearance."""
        return self.names.setdefault(name, f"v{len(self.names)}")


def shape(node: ast.FunctionDef | ast.ClassDef) -> str:
    """A definition without its name, docstring, types and comments, and with its names numbered."""
    bare = without_docstrings(ast.parse(ast.unparse(node)))
    definition = bare.body[0]
    if isinstance(definition, ast.FunctionDef):
        definition.returns = None
        definition.decorator_list = []
    if isinstance(definition, ast.FunctionDef | ast.ClassDef):
        definition.name = "it"
    return ast.dump(Anonymous().visit(bare))


def without_docstrings(tree: ast.Module) -> ast.Module:
    """The tree with the docstring of each function and class taken out."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module) and ast.get_docstring(
            node
        ):
            node.body = node.body[1:] or [ast.Pass()]
    return tree


@cache
def library_trees() -> dict[str, ast.Module]:
    """The library's modules by name, parsed, without docstrings."""
    return {
        str(path.relative_to(LIBRARY.parent)): without_docstrings(
            ast.parse(path.read_text("utf-8"))
        )
        for path in sorted(LIBRARY.rglob("*.py"))
    }


@cache
def library_shapes() -> dict[str, str]:
    """The library's definitions that are long enough to be a copy: shape and name."""
    return {
        shape(node): node.name
        for tree in library_trees().values()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and len(lines_of(node)) > 2
    }


@cache
def library_lines() -> dict[str, list[str]]:
    """The library's lines by module."""
    return {name: lines_of(tree) for name, tree in library_trees().items()}


def lines_of(tree: ast.AST) -> list[str]:
    """The lines of some code as Python itself would write them, without comments and indents."""
    return [line.strip() for line in ast.unparse(tree).splitlines() if line.strip()]


def chapter_rules(path: Path, cells: list[dict[str, Any]]) -> Iterator[str]:
    """A chapter opens, moves and closes as every other."""
    match = re.match(r"(\d\d)_\w+\.ipynb$", path.name)
    if not match:
        return  # an appendix has its own form
    number = int(match.group(1))
    texts = [cell["source"] for cell in cells if cell["cell_type"] == "markdown"]
    code = [cell["source"] for cell in cells if cell["cell_type"] == "code"]
    prose = "\n\n".join(texts)
    if not re.match(rf"# {number}\. \S", texts[0] if texts else ""):
        yield f"has to begin with its title, '# {number}. ...'"
    opening = prose.partition("\n## ")[0]
    for word in OPENING:
        if not re.search(rf"^\*\*{word}:\*\* +\S", opening, re.M):
            yield f"needs a line '**{word}:** ...' above its first section"
    if not re.search(r"^\*\*Time:\*\* +(about )?\d+ minutes", opening, re.M):
        yield "has to say in its opening how many minutes it takes: '**Time:** 35 minutes'"
    sections = re.findall(r"^## (.*)$", prose, re.M)
    for position, section in enumerate(sections, start=1):
        if not section.startswith(f"{number}.{position} "):
            yield f"section {section!r} has to be number {number}.{position}"
    titles = [section.partition(" ")[2] for section in sections]
    if titles[-2:] != list(CLOSING):
        yield f"has to close with the sections {' and '.join(map(repr, CLOSING))}"
    elif len(re.findall(r"^\d\. ", prose.rpartition("\n## ")[0].rpartition("\n## ")[2], re.M)) != 5:
        yield "its summary has to be five numbered lines"
    if not re.search(r"^\|.*\bshape\b.*\|$", prose, re.M | re.I):
        yield "needs a table of the shapes"
    if "**Predict before you run.**" not in prose:
        yield "needs a question '**Predict before you run.**' before its experiment"
    for word in ("show_source(", "assert_close("):
        if not any(word in source for source in code):
            yield f"never calls {word}): the library's function is shown, and checked"


def prose_rules(source: str) -> Iterator[str]:
    """The voice of the book: no filler, no exclamation mark."""
    text = re.sub(r"```.*?```|`[^`]*`|\$\$.*?\$\$|\$[^$]*\$|<!--|!\[", " ", source, flags=re.S)
    for word in FILLERS:
        if re.search(rf"\b{word}", text, re.I):
            yield f"says {word!r}"
    match = re.search(r".{0,30}!", text)
    if match:
        yield f"exclaims: {match.group()!r}"


if __name__ == "__main__":
    sys.exit(main())
