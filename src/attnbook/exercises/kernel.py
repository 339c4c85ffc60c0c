"""What the kernel of a notebook knows: which cell is running, and which one defines a name."""

import sys
from typing import Any


def shell() -> Any:
    """Return IPython's shell, or None outside of IPython."""
    ipython = sys.modules.get("IPython")
    return ipython.get_ipython() if ipython else None


def running_cell() -> tuple[str, int]:
    """Return the id of the running cell and the number of its run, or ("", 0) without a cell."""
    parent: dict[str, Any] = getattr(shell(), "get_parent", dict)()
    cell = parent.get("metadata", {}).get("cellId", "")
    return (cell, shell().execution_count) if cell else ("", 0)


def cell_to_run(error: BaseException) -> str:
    """Say which cell defines the name that is missing, or return "".

    Only a kernel of `make lab` can say it: tools/lab/kernel_startup.py installs the look-up.
    """
    look_up = getattr(shell(), "note_on_name_error", None)
    return look_up(error, error.__traceback__) if look_up and isinstance(error, NameError) else ""
