"""What the tools share: where the book is, and the error that its reader mends."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

ROOT = Path(__file__).resolve().parents[1]


class UserError(Exception):
    """Something that whoever runs the command has to mend, said in one line."""


def run_tool(main: Callable[[], int]) -> NoReturn:
    """Run a tool and exit with its status, or with one line after what its user can mend."""
    try:
        sys.exit(main())
    except (UserError, OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"attention book: {error}")
