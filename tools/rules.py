"""Check the rules for pages that nbval cannot check. `make check` calls this.

nbval compares stored outputs. It accepts missing outputs, warnings, pictures without descriptions,
and cells that switch the comparison off. This module finds all of these. It also checks what the
chapters have in common: their opening, their headings, one import cell, short cells, and valid
references. The words that it looks for are in manuscript/markers.py.

    .venv/bin/python -m tools.rules [PAGE or FOLDER...]      default: the whole book
"""

import ast
import itertools
import json
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from manuscript import markers
from manuscript.chapters import drafts, line_after, number_of, pages
from manuscript.common import ROOT, UserError, counted, run_tool
from manuscript.normal_form import INSTALL_ID, parse, read, text_of
from manuscript.rerun_sections import name_clashes

LIBRARY = ROOT / "src" / "attnbook"
LONGEST_CELL = 15  # lines
LONGEST_LINE = 84  # characters; longer ones are cut off on a tablet or on a page 1,200 pixels wide
LONGEST_COPY = 5  # consecutive lines that may match the library's
SHORTEST_ALT = 40  # characters
RUN = ".venv/bin/python -m tools.run"
PIXELS = {"image/png", "image/jpeg"}  # pictures that nbval does not compare

NETWORK = r"sys\.path|\bpip3? install|torch\.hub|download|urlretrieve|https?://"
RAW = {  # what programs other than Sphinx would show as raw text
    "a directive": r"^(?::::|```\{|:\w+: )",
    "a role": r"\{[\w:]+\}`",
    "a label": r"^\([\w-]+\)=$",
}


def main(arguments: list[str] | None = None) -> int:
    """Print what is wrong with the pages, one complaint per line; return 1 if there are any."""
    names = sys.argv[1:] if arguments is None else arguments
    being_written = drafts()
    paths = [path for name in names for path in pages_in(Path(name).resolve())]
    paths = paths or [*pages(), *being_written]
    lines = [] if names else list(contents_rules(ROOT))
    for path in paths:
        lines += complaints(path, draft=path in being_written)
    total = f"{counted(len(paths), 'page')}, {counted(len(lines), 'complaint')}"
    print(*lines, total, sep="\n")
    return 1 if lines else 0


def pages_in(path: Path) -> list[Path]:
    """The pages in a folder, or the page itself."""
    if not path.is_dir():
        return [path]
    if found := sorted([*path.glob("*.ipynb"), *path.glob("*.md")]):
        return found
    raise UserError(f"{path} contains no pages")


def contents_rules(root: Path) -> Iterator[str]:
    """Every page is in the contents or is a draft: other pages are neither built nor checked."""
    built, being_written = pages(root), drafts(root)
    for path in sorted({*(root / "book").glob("*.ipynb"), *(root / "book").glob("*.md")}):
        if path not in built + being_written:
            yield f"{path}: is not in _toc.yml: add it to the chapters, or to meta: drafts:"
        if path in built and path in being_written:
            yield f"{path}: is in _toc.yml twice, as a page and as a draft"


def complaints(path: Path, draft: bool = False) -> Iterator[str]:
    """Describe everything wrong with one page, in lines that name the file and the cell."""
    text = path.read_text("utf-8")
    if path.suffix == ".md":
        yield from (f"{path}: {complaint}" for complaint in text_rules(text))
        return
    try:
        parse(text.encode())
    except UserError as error:
        yield f"{path}: {error}"
        return
    cells = json.loads(text)["cells"]
    for cell in cells:
        cell["source"] = "".join(cell["source"])
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    try:
        yield from (
            f"{path}: {complaint}"
            for complaint in itertools.chain(
                file_rules(path),
                code_rules(path, cells, code),
                chapter_rules(path, cells),
                prediction_rules(cells),
                second_reading_rules(cells),
                () if draft else form_rules(path, cells),
            )
        )
    except SyntaxError as error:
        yield f"{path}: {(error.text or '').strip()!r} is not plain Python"
        return
    for cell in cells:
        lines = prose_rules(cell["source"]) if cell not in code else cell_rules(cell, code)
        yield from (f"{path}: cell {cell.get('id')}: {complaint}" for complaint in lines)


def file_rules(path: Path) -> Iterator[str]:
    """The file is in its normal form: a diff shows only what an author has changed."""
    try:
        notebook = read(path)
        if text_of(notebook) != path.read_text("utf-8"):
            yield f"is not in its normal form: run {RUN} --form {path}"
    except UserError as error:
        yield str(error)


def code_rules(
    path: Path, cells: list[dict[str, Any]], code: list[dict[str, Any]]
) -> Iterator[str]:
    """The cells have names and ran in order, and the second code cell imports everything."""
    for name in (cell.get("id", "") for cell in cells):
        if re.fullmatch(r"[0-9a-f-]{8,}", name):
            yield f"the cell id {name!r} was made by a machine: give the cell a short name"
    counts = [cell.get("execution_count") for cell in code]
    if counts != [*range(1, len(code) + 1)]:  # nbval accepts cells that never ran
        yield f"its cells have run as {counts}: run {RUN} --quick {path}"
    trees = [ast.parse(cell["source"]) for cell in code if cell.get("id") != INSTALL_ID]
    for position, tree in enumerate(trees):
        imports = [n for n in ast.walk(tree) if isinstance(n, ast.Import | ast.ImportFrom)]
        if position == 0 and len(imports) < len(tree.body):
            yield "the second code cell has to be the import cell, with nothing but imports"
        if position > 0 and imports:
            yield f"imports in a later cell, {ast.unparse(imports[0])!r}: put it in the import cell"
    yield from name_clashes(cells)


def cell_rules(cell: dict[str, Any], code: list[dict[str, Any]]) -> Iterator[str]:
    """A cell is short, does not touch the machine or the network, and hides nothing from nbval."""
    source, tags = cell["source"], cell["metadata"].get("tags", [])
    if any(output.get("name") == "stderr" for output in cell["outputs"]):
        yield "prints to stderr"
    if re.search(r"nbval|pytest.validate", source + " ".join(tags), re.I):
        yield "switches the comparison off"
    yield from picture_rules(cell, code)
    if cell.get("id") == INSTALL_ID:
        return
    if (length := len(source.splitlines())) > LONGEST_CELL:
        yield f"has {length} lines: {LONGEST_CELL} at most, one idea per cell"
    for number, line in enumerate(source.splitlines(), start=1):
        if (length := len(line)) > LONGEST_LINE:
            yield f"line {number} has {length} characters: {LONGEST_LINE} at most, or it is cut off"
    if match := re.search(NETWORK, source):
        yield f"sets up the machine or uses the network: {match[0]!r}"
    for piece in pieces(source) & library().keys():
        yield f"copies {library()[piece]}, from {piece[0]!r} on: import it"


def picture_rules(cell: dict[str, Any], code: list[dict[str, Any]]) -> Iterator[str]:
    """A picture is an SVG, or a cell beside it asserts what it shows; and it has a description."""
    kinds = {kind for output in cell["outputs"] for kind in output.get("data", {})}
    if not kinds & (PIXELS | {"image/svg+xml"}):
        return
    position = code.index(cell)
    neighbors = code[max(position - 1, 0) : position + 2]
    if kinds & PIXELS and not any(asserts(c["source"]) for c in neighbors):
        yield "holds a PNG or JPEG, which nbval ignores, and no cell beside it asserts anything"
    alt = cell["metadata"].get("mystnb", {}).get("image", {}).get("alt", "")
    if len(alt) < SHORTEST_ALT or " " not in alt or re.search(r"\.(svg|png|jpe?g)$", alt):
        yield f"needs a sentence on what it shows in its metadata (mystnb.image.alt), not {alt!r}"


def asserts(source: str) -> bool:
    """Whether a cell asserts something, with `assert` or a function such as `assert_close`."""
    return bool(re.search(r"^[^#\n]*\bassert", source, re.M))


@cache
def library() -> dict[tuple[str, ...], str]:
    """Map each piece of the library's code to its module."""
    files = {path: path.read_text("utf-8") for path in LIBRARY.rglob("*.py")}
    return {piece: path.name for path, text in sorted(files.items()) for piece in pieces(text)}


def pieces(source: str) -> set[tuple[str, ...]]:
    """Return the pieces of code that count as copied if they also appear elsewhere.

    These are the bodies of functions and all runs of LONGEST_COPY + 1 lines.
    """
    tree = without_docstrings(source)
    lines = lines_of(tree)
    size = LONGEST_COPY + 1
    in_a_row = {tuple(lines[start : start + size]) for start in range(len(lines) - LONGEST_COPY)}
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    bodies = [tuple(lines_of(ast.Module(node.body, []))) for node in functions]
    return in_a_row | {body for body in bodies if len(body) > 1}


def without_docstrings(source: str) -> ast.Module:
    """Parse code and drop its docstrings."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        kind = ast.FunctionDef | ast.ClassDef | ast.Module
        if isinstance(node, kind) and ast.get_docstring(node):
            node.body = node.body[1:] or [ast.Pass()]
    return tree


def lines_of(tree: ast.AST) -> list[str]:
    """Return the lines of code as `ast.unparse` writes them, without comments and indentation."""
    return [line.strip() for line in ast.unparse(tree).splitlines() if line.strip()]


def chapter_rules(path: Path, cells: list[dict[str, Any]]) -> Iterator[str]:
    """A chapter, even a draft, has its number in its title and section headings."""
    if not (number := number_of(path)):
        return  # an appendix has its own form
    text = text_cells(cells)
    if not re.match(rf"# {number}\. \S", text):
        yield f"has to begin with its title, '# {number}. ...'"
    for position, section in enumerate(re.findall(r"^## (.*)", text, re.M), start=1):
        if not section.startswith(f"{number}.{position} "):
            yield f"section {section!r} has to be number {number}.{position}"


def form_rules(path: Path, cells: list[dict[str, Any]]) -> Iterator[str]:
    """A finished chapter has the same parts as every other."""
    if not (number := number_of(path)):
        return
    opening, *sections = re.split(r"^## ", text_cells(cells), flags=re.M)
    for word in markers.OPENING:
        if not line_after(opening, markers.label(word)):
            yield f"needs a line '**{word}:** ...' above its first section"
    if [cell.get("id") for cell in cells[1:2]] != [markers.CARD]:
        yield f"needs a cell {markers.CARD!r} below its opening: the chapter in two minutes, folded"
    titles = [section.partition("\n")[0].partition(" ")[2] for section in sections]
    if titles[-1:] != [markers.SUMMARY]:
        yield f"has to close with the section {markers.SUMMARY!r}"
    elif len(re.findall(r"^\d\. ", sections[-1], re.M)) != 5:
        yield "its summary has to be five numbered lines"
    elif (link := markers.SOURCES.format(number=number)) not in sections[-1]:
        yield f"has to close with a line that links to its part of the appendix, {link[1:-1]}"
    code = "\n".join(cell["source"] for cell in cells if cell["cell_type"] == "code")
    for call in ("show_source(", "assert_close("):
        if call not in code:
            yield (
                f"never calls {call}): show the library's function, and compare the chapter's "
                "results with it"
            )


def prediction_rules(cells: list[dict[str, Any]]) -> Iterator[str]:
    """Exactly the cells that answer a prediction have the tag "answer": a page hides them at first.

    These are the code cells with an output, up to the next text cell, and that cell. An interactive
    figure does not count, because it shows no answer before it is used. A page also hides the code
    right below such a text, so the text after this code is an answer, too, or not about the code.
    """
    asked = shown = False  # a prediction is open; a cell has shown its answer
    told = hidden = False  # the last text is an answer; code right below it is hidden, too
    for cell in cells:
        source, tags = cell["source"], set(cell["metadata"].get("tags", []))
        if "caption" in tags:
            continue
        if cell["cell_type"] == "code":
            interactive = "<attn-" in json.dumps(cell["outputs"])
            answers = allowed = asked and bool(cell["outputs"]) and not interactive
            shown = (shown or answers) and not interactive
            hidden = hidden or told
        else:
            predicts = f"**{markers.PREDICT}**" in source
            heads = re.search(r"^#", source, re.M)
            allowed = (asked or hidden) and not predicts and not heads
            other = predicts or heads or re.match(r"\*\*|On the short road", source)
            if hidden and not other and "answer" not in tags:
                yield (
                    f"cell {cell.get('id')}: is about code that is hidden with an answer: put what "
                    "introduces the code into a cell without the tag, or give this one the tag"
                )
            told, hidden = "answer" in tags, False
            answers = shown and not re.match(r"#|\*\*" + re.escape(markers.PREDICT), source)
            answers = answers and tags <= {"answer"}
            asked, shown = predicts, False
        if answers and "answer" not in tags:
            yield f"cell {cell.get('id')}: answers a prediction: give it the tag 'answer'"
        if "answer" in tags and not allowed:
            yield f"cell {cell.get('id')}: has the tag 'answer' but is not only an answer"


def second_reading_rules(cells: list[dict[str, Any]]) -> Iterator[str]:
    """A second reading has a tag for the tools and is labeled as one in its heading for readers."""
    for cell in cells:
        heading = cell["source"].partition("\n")[0]
        told = heading.startswith("## ") and heading.endswith(markers.second_reading())
        tagged = markers.SECOND_READING_TAG in cell["metadata"].get("tags", [])
        if told != tagged:
            yield (
                f"cell {cell.get('id')}: has to have both the tag "
                f"{markers.SECOND_READING_TAG!r} and{markers.second_reading()} at the end of its "
                "heading, or neither"
            )


def text_cells(cells: list[dict[str, Any]]) -> str:
    """Join the text cells of a notebook."""
    return "\n\n".join(cell["source"] for cell in cells if cell["cell_type"] == "markdown")


def prose_rules(source: str) -> Iterator[str]:
    """A text cell of a notebook holds plain Markdown, which every program shows."""
    yield from text_rules(source)
    for what, pattern in RAW.items():
        if match := re.search(pattern, source, re.M):
            yield f"has {what}, {match[0]!r}, which only the built pages support"


def text_rules(source: str) -> Iterator[str]:
    """A text has no filler words and no exclamation marks, and names only sections that exist."""
    text = re.sub(r"```.*?```|`[^`]*`|\$\$.*?\$\$|\$[^$]*\$|<!--|!\[", " ", source, flags=re.S)
    for word in markers.FILLERS:
        if re.search(rf"\b{word}", text, re.I):
            yield f"says {word!r}"
    if match := re.search(r".{0,30}!", text):
        yield f"exclaims: {match[0]!r}"
    for section, name in re.findall(r"\[(\d+\.\d+)\]\((\w+\.ipynb)\)", source):
        if section not in sections_of(name):
            yield f"names section {section}, which {name} does not have"


@cache
def sections_of(name: str) -> set[str]:
    """Return the section numbers of a notebook in book/, or none if there is no such file."""
    path = ROOT / "book" / name
    return set(re.findall(r'"## (\d+\.\d+) ', path.read_text("utf-8") if path.is_file() else ""))


if __name__ == "__main__":
    run_tool(main)
