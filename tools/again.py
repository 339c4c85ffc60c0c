"""The sections of a notebook, and what may keep one from being run again.

A reader goes back: after the whole chapter has run, each section can be run once more from its
first cell, in any order. `make nbval` does it, the last section first. `make check` reads the
names: a section may take one from elsewhere only if one place alone sets it, or it would find what
another section has put there.
"""

import re
import symtable
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any


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
    parts = [(part.number, *names(part)) for part in sections(cells)]
    for number, taken, own in parts:
        for name in sorted(taken - own) if number else ():
            places = [where or "the top" for where, _, made in parts if name in made]
            if len(places) > 1:
                where = " and ".join(places)
                yield f"section {number} takes {name!r} from elsewhere, but {where} set it"


def names(section: Section) -> tuple[set[str], set[str]]:
    """The global names that a section reads, also in its functions, and those that it sets."""
    code = "\n".join(cell["source"] for cell in section.cells)
    top, *inner = scopes(symtable.symtable(code, "cell", "exec"))
    own = {s.get_name() for s in top.get_symbols() if s.is_assigned() or s.is_imported()}
    taken = {s.get_name() for s in top.get_symbols() if s.is_referenced()}
    for scope in inner:
        taken |= {s.get_name() for s in scope.get_symbols() if s.is_referenced() and s.is_global()}
    return taken, own


def scopes(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    """A scope and all that are inside it."""
    yield table
    for child in table.get_children():
        yield from scopes(child)
