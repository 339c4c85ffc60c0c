"""The sections of a notebook, and what may keep one from being run again.

A reader goes back: after the whole chapter has run, each section can be run once more from its
first cell, in any order. `make nbval` does it, the last section first. `make check` reads the code:
a section may take a name from elsewhere only if one place alone sets it, or it would find what
another section has put there.
"""

import ast
import builtins
import dis
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

READ = {"LOAD_NAME", "LOAD_GLOBAL", "LOAD_FROM_DICT_OR_GLOBALS"}
SET = {"STORE_NAME", "STORE_GLOBAL"}
Uses = dict[str, set[str]]  # what a function reads when it is called, by its name


@dataclass
class Section:
    """The code cells under a heading of the second level, or, without a number, above the first."""

    number: str
    cells: list[Any] = field(default_factory=list)


def sections(cells: list[Any]) -> list[Section]:
    """The sections of a notebook in order. What stands above the first heading has no number."""
    found = [Section("")]
    for cell in cells:
        if cell["cell_type"] == "markdown":
            headings = re.findall(r"^## (\S+)", cell["source"], re.M)
            found += map(Section, headings)
        elif cell["cell_type"] == "code":
            found[-1].cells.append(cell)
    return found


def clashes(cells: list[Any]) -> Iterator[str]:
    """Each name that a section takes from elsewhere although more than one place sets it."""
    parts = sections(cells)
    trees = [ast.parse("\n".join(cell["source"] for cell in part.cells)) for part in parts]
    functions: Uses = {}
    for tree in trees:
        for node in tree.body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                functions.setdefault(node.name, set()).update(loads(node))
    names = [taken_and_set(tree, functions) for tree in trees]
    for part, (taken, _) in zip(parts, names, strict=True):
        for name in sorted(taken - set(dir(builtins))) if part.number else ():
            pairs = zip(parts, names, strict=True)
            places = [p.number or "the top" for p, (_, made) in pairs if name in made]
            if len(places) > 1:
                where = " and ".join(places)
                yield f"section {part.number} takes {name!r} from elsewhere, but {where} set it"


def taken_and_set(tree: ast.Module, functions: Uses) -> tuple[set[str], set[str]]:
    """The names that a section reads before it sets them, and those that it sets."""
    taken: set[str] = set()
    own: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            own.add(node.name)  # what it reads, it reads when it is called
            continue
        for kind, name in steps(code_of(node)):
            if kind == "set":
                own.add(name)
            else:
                taken |= reach(name, functions) - own
    return taken, own


def reach(name: str, functions: Uses) -> set[str]:
    """A name and, if it is a function's, all that calling it reads."""
    found: set[str] = set()
    waiting = {name}
    while waiting:
        found |= waiting
        waiting = set().union(*(functions.get(name, set()) for name in waiting)) - found
    return found


def loads(node: ast.stmt) -> set[str]:
    """The names that a statement reads, if it is a definition when it is called."""
    return {name for kind, name in steps(code_of(node)) if kind == "read"}


def code_of(node: ast.stmt) -> CodeType:
    """A statement, compiled."""
    return compile(ast.Module([node], []), "cell", "exec")


def steps(code: CodeType) -> Iterator[tuple[str, str]]:
    """The global names that some code reads and sets, in order; what is inside it reads only."""
    for step in dis.get_instructions(code):
        if step.opname in READ:
            yield "read", step.argval
        elif step.opname in SET:
            yield "set", step.argval
        elif isinstance(step.argval, CodeType):
            yield from (inner for inner in steps(step.argval) if inner[0] == "read")
