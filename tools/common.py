"""What the tools share: where the book is, and the error that its reader mends."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


class UserError(Exception):
    """Something that whoever runs the command has to mend, said in one line."""
