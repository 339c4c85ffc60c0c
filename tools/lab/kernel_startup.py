"""Help readers of `make lab` with their cells. Kernels run this file on startup.

A NameError names the cell to run first, and a check inside a function, which never runs, is told.

IPython runs the file named by PYTHONSTARTUP in the reader's own namespace. So `make lab` sets this
variable to a one-line file, which runs this file and leaves no names behind. Of the library, it
imports only what needs no PyTorch, because a kernel has to start quickly.
"""

import functools
import json
import os
import re
import symtable
import traceback
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from IPython import get_ipython

from attnbook.language import _


def install() -> None:
    """Make IPython call `show_error` for each NameError, and look at each cell that has run.

    `check`, which catches the errors of an answer, finds the look-up in the shell.
    """
    if shell := get_ipython():
        shell.set_custom_exc((NameError,), show_error)
        shell.note_on_name_error = functools.partial(note_on_name_error, shell)
        shell.events.register("post_run_cell", show_unreached_check)


def show_unreached_check(result: Any) -> None:
    """Print a note if a cell's only check is inside its last function."""
    if line := unreached_check(result.info.raw_cell):
        note = _("Nothing was checked: `{line}` is inside the function. Remove its indentation.")
        print(note.format(line=line))


def unreached_check(source: str) -> str:
    """Return the line of a check that is inside the function with which a cell ends, or ""."""
    if re.search(r"^check\(", source, re.M):
        return ""
    last = re.split(r"^(?=\S)", source.rstrip(), flags=re.M)[-1]
    found = re.search(r'^def (\w+)\(.*^\s+(check\(\1, "[\w.]+"\))$', last, re.M | re.S)
    return found[2] if found else ""


def show_error(
    shell: Any, kind: type, error: NameError, trace: TracebackType, tb_offset: int | None = None
) -> None:
    """Show the error as usual, and below it the cell that defines the name, if there is one."""
    if note := note_on_name_error(shell, error, trace):
        error.add_note(note)
    shell.showtraceback((kind, error, trace), tb_offset=tb_offset)


def note_on_name_error(shell: Any, error: NameError, trace: TracebackType) -> str:
    """Say which cell of the notebook defines the name, or return ""."""
    *_, (frame, _) = traceback.walk_tb(trace)
    if frame.f_globals is shell.user_global_ns:
        with suppress(OSError, ValueError, KeyError):  # no session, no notebook
            notebook = json.loads(Path(os.environ["JPY_SESSION_NAME"]).read_text("utf-8"))
            current = shell.get_parent()["metadata"].get("cellId", "")
            return where_defined(error.name or "", notebook["cells"], current)
    return ""


def where_defined(name: str, cells: list[dict[str, Any]], current: str) -> str:
    """Say which cell defines a name: the last one above the current cell, or the first below it."""
    heading, found, above = "", "", True
    for cell in cells:
        source = "".join(cell["source"])
        if cell["id"] == current:
            above = False
        elif cell["cell_type"] == "markdown":
            heading = [heading, *re.findall(r"^#+ (.*)", source, re.M)][-1]
        elif cell["cell_type"] == "code" and (above or not found) and defines(source, name):
            found = _(
                "First run the cell that defines `{name}`: it starts with `{line}`, below "
                "“{heading}”."
            ).format(name=name, line=source.strip().partition("\n")[0], heading=heading)
            if cell["id"] == "imports" and current.startswith(("stub-", "solution-")):
                found += " " + _("This exercise needs no other cell.")
    return found


def defines(source: str, name: str) -> bool:
    """Whether code defines a name outside its functions."""
    try:
        symbol = symtable.symtable(source, "cell", "exec").lookup(name)
    except (SyntaxError, KeyError):
        return False
    return symbol.is_assigned() or symbol.is_imported()
