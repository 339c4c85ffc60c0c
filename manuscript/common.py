"""What the pages and the tools share: where the book is, and errors that the user can fix."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

ROOT = Path(__file__).resolve().parents[1]


class UserError(Exception):
    """An error that the user can fix; its message is one line."""


def can_write(path: Path) -> bool:
    """Whether this user may write a file or a folder, or create it if it does not exist."""
    existing = next(each for each in (path, *path.parents) if each.exists())
    return os.access(existing, os.W_OK)


def counted(number: int, noun: str) -> str:
    """A number with its noun, as in "1 page" and "2 pages"."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def run_tool(main: Callable[[], int]) -> NoReturn:
    """Run a tool and exit with its status, or with one line if the user can fix the error."""
    try:
        sys.exit(main())
    except (UserError, OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"attention book: {error}")
