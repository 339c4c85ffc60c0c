"""The sections of a notebook, and the names that keep a section from being run a second time.

Readers go back: after the whole chapter has run, they can run each section again from its first
cell, in any order. `make nbval` does this, starting with the last section. `make check` checks the
names: a section may use a name from another section only if a single section sets the name.
Otherwise it could get the value that a different section has set in the meantime.
"""

import re
import symtable
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Section:
    """The code cells under a second-level heading, or (without a number) above the first one."""

    number: str
    cells: list[Any] = field(default_factory=list)


def sections(cells: list[Any]) -> list[Section]:
    """Split a notebook into its sections. The first one holds the cells above the first heading."""
    result = [Section("")]
    for cell in cells:
        if cell["cell_type"] == "markdown":
            numbers = re.findall(r"^## (\S+)", cell["source"], re.M)
            result += map(Section, numbers)
        elif cell["cell_type"] == "code":
            result[-1].cells.append(cell)
    return result


def minilm_cells(cells: list[Any]) -> list[Any]:
    """The code cells of the sections that load MiniLM, which print nothing where it is missing."""
    codes = [
        (part.cells, "".join(cell["source"] for cell in part.cells)) for part in sections(cells)
    ]
    return [cell for part, code in codes if "load_minilm(" in code for cell in part]


def name_clashes(cells: list[Any]) -> Iterator[str]:
    """Describe each name that a section uses from elsewhere and that more than one section sets."""
    parts = [(section.number, *names(section)) for section in sections(cells)]
    for number, used, own in parts:
        for name in sorted(used - own) if number else ():
            setters = [other or "the top" for other, _, assigned in parts if name in assigned]
            if len(setters) > 1:
                where = " and ".join(setters)
                yield f"section {number} uses {name!r} from elsewhere, but {where} set it"


def names(section: Section) -> tuple[set[str], set[str]]:
    """Return the global names that a section reads, even in functions, and those it sets."""
    code = "\n".join(cell["source"] for cell in section.cells)
    top, *inner = scopes(symtable.symtable(code, "cell", "exec"))
    assigned = {s.get_name() for s in top.get_symbols() if s.is_assigned() or s.is_imported()}
    used = {s.get_name() for s in top.get_symbols() if s.is_referenced()}
    for scope in inner:
        used |= {s.get_name() for s in scope.get_symbols() if s.is_referenced() and s.is_global()}
    return used, assigned


def scopes(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    """Yield a scope and all scopes inside it."""
    yield table
    for child in table.get_children():
        yield from scopes(child)
