"""The rules that a chapter keeps and nbval does not see. `make check` calls this.

nbval compares the outputs that are there. It passes a notebook without outputs, a picture without
a description, a warning, a path of the author's machine. This looks for such things, and for what
makes the chapters one book: their opening, their headings, one import cell, short cells, and
references that lead somewhere. The English words that it looks for are in tools/words.py.

    .venv/bin/python -m tools.rules [PAGE...]      default: the whole book
"""

import ast
import itertools
import json
import re
import sys
from collections.abc import Iterator
from difflib import SequenceMatcher
from functools import cache
from keyword import iskeyword
from pathlib import Path
from typing import Any

from tools import words
from tools.again import clashes
from tools.chapters import line_after, number_of, pages
from tools.common import ROOT, UserError
from tools.run import INSTALL_ID, read, text_of

DEFINITION = ast.FunctionDef | ast.ClassDef
LIBRARY = ROOT / "src" / "attnbook"
LONGEST_CELL = 15  # lines
LONGEST_COPY = 5  # lines in a row that may equal the library's
SHORTEST_ALT = 40  # characters
PIXELS = {"image/png", "image/jpeg"}  # pictures that nbval does not compare

# What a chapter may import: the book's package, what it computes with, and Python's own modules
# less those that reach for the network or the machine.
MACHINES = {"ftplib", "http", "os", "pathlib", "socket", "subprocess", "sys", "time", "urllib"}
IMPORTS = {"attnbook", "numpy", "sacrebleu", "torch"} | set(sys.stdlib_module_names) - MACHINES

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
NETWORK = r"sys\.path|\bpip3? install|^\s*[%!]|torch\.hub|download|urlretrieve|https?://"
RAW = {  # what a program that shows notebooks would show as it stands
    "a directive": r"^(?::::|```\{|:\w+: )",
    "a role": r"\{[\w:]+\}`",
    "a label": r"^\([\w-]+\)=$",
}
NBVAL_MARKS = r"NBVAL_\w+|PYTEST_VALIDATE_\w+"  # the same as comments
NBVAL_TAGS = {"nbval-ignore-output", "nbval-skip", "pytest-validate-ignore-output"}


def main(arguments: list[str] | None = None) -> int:
    """Print what is wrong with the pages, one complaint a line; 1 if there is any."""
    names = sys.argv[1:] if arguments is None else arguments
    paths = [Path(name) for name in names] or pages()
    found = [] if names else list(contents_rules(ROOT))
    found += itertools.chain.from_iterable(complaints(path) for path in paths)
    print(*found, f"{len(paths)} pages, {len(found)} complaints", sep="\n")
    return 1 if found else 0


def contents_rules(root: Path) -> Iterator[str]:
    """Every page is in the contents, and the chapters stand in the order of their numbers."""
    listed = pages(root)
    for path in sorted((root / "book").iterdir()):
        if path.suffix in (".ipynb", ".md") and path not in listed:
            yield f"{path}: is not in _toc.yml"
    numbers = [number for path in listed if (number := number_of(path))]
    if numbers != [*range(1, len(numbers) + 1)]:
        yield f"_toc.yml: the chapters have to be 1, 2, 3 and so on, in this order, not {numbers}"


def complaints(path: Path) -> Iterator[str]:
    """Everything wrong with one page, as lines that name the file and the cell."""
    text = path.read_text("utf-8")
    if path.suffix == ".md":
        yield from (f"{path}: {complaint}" for complaint in text_rules(text))
        return
    cells = json.loads(text)["cells"]
    for cell in cells:
        cell["source"] = "".join(cell["source"])
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    of_page = [file_rules(path), id_rules(cells), import_rules(code), name_rules(cells)]
    of_page += [chapter_rules(path, cells)]
    yield from (f"{path}: {complaint}" for complaint in itertools.chain(*of_page))
    for number, cell in enumerate(cells, start=1):
        found = cell_rules(cell, code) if cell in code else prose_rules(cell["source"])
        for complaint in found:
            yield f"{path}: cell {number} ({cell.get('id', 'no id')}): {complaint}"


def cell_rules(cell: dict[str, Any], code: list[dict[str, Any]]) -> Iterator[str]:
    """Everything wrong with one code cell among the others."""
    count = 1 + next(position for position, other in enumerate(code) if other is cell)
    if cell.get("execution_count") != count:  # nbval passes cells that never ran
        yield f"has execution count {cell.get('execution_count')} instead of {count}: run it again"
    yield from output_rules(cell)
    yield from picture_rules(cell, code[max(count - 2, 0) : count + 1])
    if cell.get("id") != INSTALL_ID:  # file_rules knows it to the letter
        yield from source_rules(cell)
        yield from copy_rules(cell["source"])
    elif cell["outputs"]:
        yield "installs the package and has outputs: run it where the package is there"


def file_rules(path: Path) -> Iterator[str]:
    """The file is what tools/run.py would write: a diff shows only what changed."""
    try:
        if text_of(read(path)) != path.read_text("utf-8"):
            yield "is not in the form in which tools/run.py writes it: run that"
    except UserError as error:
        yield str(error)


def id_rules(cells: list[dict[str, Any]]) -> Iterator[str]:
    """The id of a cell, which tools/run.py sees to, is a name: tests and links rely on it."""
    for name in (cell.get("id", "") for cell in cells):
        if re.fullmatch(r"[0-9a-f-]{8,}", name):
            yield f"the cell id {name!r} was made by a machine: give the cell a short name"


def import_rules(code: list[dict[str, Any]]) -> Iterator[str]:
    """The first cell after the one that installs imports everything, and no other does."""
    code = [cell for cell in code if cell.get("id") != INSTALL_ID]
    for position, cell in enumerate(code):
        tree = parsed(cell["source"])
        imports = [n for n in ast.walk(tree) if isinstance(n, ast.Import | ast.ImportFrom)]
        if position == 0 and len(imports) < len(tree.body):
            yield "the second code cell has to be the import cell, with nothing but imports"
        if position > 0 and imports:
            yield f"cell {cell.get('id')} imports: all imports stand in the second code cell"
        names = {getattr(n, "module", None) or a.name for n in imports for a in n.names}
        for root in sorted({name.partition(".")[0] for name in names} - IMPORTS):
            yield f"imports {root}: a chapter is made with attnbook, torch and numpy"


def name_rules(cells: list[dict[str, Any]]) -> Iterator[str]:
    """Each section can be run again, in any order: no name stands for two things."""
    try:
        yield from clashes(cells)
    except SyntaxError:  # no plain Python; parsed() passes it too
        return


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
        data = {kind: text for kind, text in output.get("data", {}).items() if kind not in PIXELS}
        texts = output.get("text", []), *data.values()
        text = "\n".join("".join(t) if isinstance(t, list | str) else json.dumps(t) for t in texts)
        for what, pattern in MACHINE.items():
            if match := re.search(pattern, text):
                yield f"prints {what}: {match[0].strip()!r}"


def picture_rules(cell: dict[str, Any], near: list[dict[str, Any]]) -> Iterator[str]:
    """A picture is SVG, which nbval compares, and says in words what it shows."""
    kinds = {kind for output in cell.get("outputs", []) for kind in output.get("data", {})}
    if not kinds & (PIXELS | {"image/svg+xml"}):
        return
    if kinds & PIXELS and not any(asserts(c["source"]) for c in near):
        yield "holds a PNG or JPEG, which nbval ignores, and no cell beside it asserts anything"
    alt = cell["metadata"].get("mystnb", {}).get("image", {}).get("alt", "")
    if len(alt) < SHORTEST_ALT or " " not in alt or re.search(r"\.(svg|png|jpe?g)$", alt):
        yield f"needs a sentence on what it shows in its metadata (mystnb.image.alt), not {alt!r}"


def asserts(source: str) -> bool:
    """Whether a cell asserts something, by `assert` or a function such as `assert_close`."""
    return bool(re.search(r"^[^#\n]*\bassert", source, re.M))


def source_rules(cell: dict[str, Any]) -> Iterator[str]:
    """A cell has one idea, needs no machine set up for it, and hides nothing from nbval."""
    source = cell["source"]
    if not source.strip():
        yield "is empty"
    if (length := len(source.splitlines())) > LONGEST_CELL:
        yield f"has {length} lines: {LONGEST_CELL} at most, one idea in a cell"
    if match := re.search(NETWORK, source, re.M):
        yield f"sets up the machine or asks the network: {match[0].strip()!r}"
    marks = re.findall(NBVAL_MARKS, source) + cell["metadata"].get("tags", [])
    for mark in NBVAL_TAGS & {mark.lower().replace("_", "-") for mark in marks}:
        yield f"switches the comparison off: {mark!r}"


def copy_rules(source: str) -> Iterator[str]:
    """What the library defines is imported and shown, not copied."""
    tree = bare(parsed(source))
    shapes, modules = library()
    for node in definitions(tree):
        if name := shapes.get(shape(node)):
            yield f"defines {node.name} just as the library defines {name}: import it"
    lines = lines_of(tree)
    for where, theirs in modules.items():
        copied = SequenceMatcher(None, lines, theirs, autojunk=False).find_longest_match()
        if copied.size > LONGEST_COPY:
            yield f"copies {copied.size} lines of {where}, from {lines[copied.a]!r} on: import them"


@cache
def library() -> tuple[dict[str, str], dict[str, list[str]]]:
    """The name of each definition of the library by its shape, and the lines of each module."""
    shapes: dict[str, str] = {}
    modules: dict[str, list[str]] = {}
    for path in sorted(LIBRARY.rglob("*.py")):
        tree = bare(ast.parse(path.read_text("utf-8")))
        shapes |= {shape(node): node.name for node in definitions(tree) if len(lines_of(node)) > 2}
        modules[path.relative_to(LIBRARY.parent).as_posix()] = lines_of(tree)
    return shapes, modules


def parsed(source: str) -> ast.Module:
    """The syntax tree of a cell; of an empty one if it is not plain Python."""
    try:
        return ast.parse(source)
    except SyntaxError:
        return ast.parse("")


def bare(tree: ast.Module) -> ast.Module:
    """The tree without docstrings, decorators and the types of arguments."""
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            node.annotation = None
        if isinstance(node, ast.FunctionDef):
            node.returns, node.decorator_list = None, []
        if isinstance(node, DEFINITION | ast.Module) and ast.get_docstring(node):
            node.body = node.body[1:] or [ast.Pass()]
    return tree


def definitions(tree: ast.Module) -> list[ast.FunctionDef | ast.ClassDef]:
    """The functions, methods and classes in a tree."""
    return [node for node in ast.walk(tree) if isinstance(node, DEFINITION)]


def shape(node: ast.AST) -> str:
    """A definition with its names numbered in order, so that a renamed copy equals its original."""
    names: dict[str, str] = {}

    def numbered(match: re.Match[str]) -> str:
        name = match[0]
        return name if iskeyword(name) else names.setdefault(name, f"v{len(names)}")

    return re.sub(r"(?<![.\w])[^\W\d]\w*", numbered, "\n".join(lines_of(node)))


def lines_of(tree: ast.AST) -> list[str]:
    """The lines of some code as Python itself would write them, without comments and indents."""
    return [line.strip() for line in ast.unparse(tree).splitlines() if line.strip()]


def chapter_rules(path: Path, cells: list[dict[str, Any]]) -> Iterator[str]:
    """A chapter opens, moves and closes as every other."""
    if not (number := number_of(path)):
        return  # an appendix has its own form
    kinds = ("markdown", "code")
    prose, code = ("\n\n".join(c["source"] for c in cells if c["cell_type"] == k) for k in kinds)
    if not re.match(rf"# {number}\. \S", prose):
        yield f"has to begin with its title, '# {number}. ...'"
    opening, *bodies = re.split(r"^## ", prose, flags=re.M)
    for word in words.OPENING:
        if not line_after(opening, word):
            yield f"needs a line '**{word}:** ...' above its first section"
    sections = [body.partition("\n")[0] for body in bodies]
    for position, section in enumerate(sections, start=1):
        if not section.startswith(f"{number}.{position} "):
            yield f"section {section!r} has to be number {number}.{position}"
    if [section.partition(" ")[2] for section in sections[-2:]] != list(words.CLOSING):
        yield f"has to close with the sections {' and '.join(map(repr, words.CLOSING))}"
    elif len(re.findall(r"^\d\. ", bodies[-2], re.M)) != 5:
        yield "its summary has to be five numbered lines"
    if not re.search(rf"^\|.*\b{words.SHAPE}\b.*\|$", prose, re.M | re.I):
        yield "needs a table of the shapes"
    if f"**{words.PREDICT}**" not in prose:
        yield f"needs a question '**{words.PREDICT}**' before its experiment"
    for call in ("show_source(", "assert_close("):
        if call not in code:
            yield f"never calls {call}): the library's function is shown, and checked"


def prose_rules(source: str) -> Iterator[str]:
    """A text cell of a notebook reads as text in every program; see press/extension/dress.py."""
    yield from text_rules(source)
    for what, pattern in RAW.items():
        if match := re.search(pattern, source, re.M):
            yield f"has {what}, {match[0]!r}, which only the built page understands"


def text_rules(source: str) -> Iterator[str]:
    """The voice of the book, no filler and no exclamation mark; and references that are right."""
    text = re.sub(r"```.*?```|`[^`]*`|\$\$.*?\$\$|\$[^$]*\$|<!--|!\[", " ", source, flags=re.S)
    for word in words.FILLERS:
        if re.search(rf"\b{word}", text, re.I):
            yield f"says {word!r}"
    if match := re.search(r".{0,30}!", text):
        yield f"exclaims: {match[0]!r}"
    for section, name in re.findall(r"\[(\d+\.\d+)\]\((\w+\.ipynb)\)", source):
        if section not in sections_of(name):
            yield f"names section {section}, which {name} does not have"
    for row, number in re.findall(rf"^\| (.+?) \|.*\b{words.OPEN}", source, re.M):
        if int(number) in map(number_of, pages()):
            yield f"row {row!r} waits for chapter {number}, which is there: name its sections"


@cache
def sections_of(name: str) -> set[str]:
    """The numbers of the sections of a notebook in book/; none if there is no such file."""
    path = ROOT / "book" / name
    return set(re.findall(r'"## (\d+\.\d+) ', path.read_text("utf-8") if path.is_file() else ""))


if __name__ == "__main__":
    sys.exit(main())
