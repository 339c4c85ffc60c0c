"""Fixtures for the tests of exercises: a folder, and each draw of an exercise solved only once."""

import functools
import importlib

import pytest

from attnbook.exercises.catalog import ALL
from attnbook.exercises.checker import guard
from attnbook.exercises.checker.restore_state import preserved_state
from attnbook.exercises.checker.trial import solve_cases


@pytest.fixture(autouse=True)
def workplace(tmp_path, monkeypatch):
    """Keep progress and answers in the folder of the test, and print 80 columns without color."""
    monkeypatch.setenv("ATTNBOOK_PROGRESS", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.chdir(tmp_path)


@functools.cache
def solve(name, seed):
    """Return the solved cases of a draw. Hundreds of answers are tried on copies of them."""
    return solve_cases(ALL[name], seed)


@pytest.fixture
def solved_cases(monkeypatch):
    """Solve each case once, and try each known mistake on it once; return the function `solve`.

    All answers of a test run in one block of `preserved_state`, so that the functions that an
    answer may replace are listed once. They are still restored after each answer.
    """
    outcomes = {}

    def outcome(wrong, arguments):
        key = wrong, id(arguments)  # `solve` keeps the arguments, so ids stay unique
        if key not in outcomes:
            outcomes[key] = call_trusted(wrong, arguments)
        return outcomes[key]

    module = importlib.import_module("attnbook.exercises.checker.diagnose")
    monkeypatch.setattr(module, "solve_cases", lambda exercise, seed: solve(exercise.id, seed))
    call_trusted = guard.call_trusted
    monkeypatch.setattr(guard, "SECONDS", 60.0)  # even a right answer is slow on a busy machine
    monkeypatch.setattr(guard, "call_trusted", outcome)
    with preserved_state():
        yield solve
