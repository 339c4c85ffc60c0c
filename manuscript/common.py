"""What the pages and the tools share: where the book is, and errors that the user can fix."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

ROOT = Path(__file__).resolve().parents[1]


class UserError(Exception):
    """An error that the user can fix; its message is one line."""


def counted(number: int, noun: str) -> str:
    """A number with its noun, as in "1 page" and "2 pages"."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def run_tool(main: Callable[[], int]) -> NoReturn:
    """Run a tool and exit with its status, or with one line if the user can fix the error."""
    try:
        sys.exit(main())
    except (UserError, OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"attention book: {error}")
