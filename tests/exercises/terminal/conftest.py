"""A folder for answers, and the commands as a reader types them."""

import sys

import pytest

from attnbook import exercises
from attnbook.exercises.terminal.commands import main


@pytest.fixture
def typed(capsys):
    """Run a command line; return its standard output, its standard error and its exit code."""

    def typed(line: str) -> tuple[str, str, int]:
        code = main(line.split())
        output = capsys.readouterr()
        return output.out, output.err, code

    return typed


@pytest.fixture
def as_main(monkeypatch):
    """Undo the changes that running a file makes."""
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    monkeypatch.setattr(sys, "argv", [])
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    monkeypatch.setattr(exercises, "diagnose", exercises.diagnose)
