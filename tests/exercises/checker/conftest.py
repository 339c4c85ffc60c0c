"""The tests' own exercises, which can be found by their ids."""

import pytest

from attnbook.exercises.catalog import ALL
from tests.exercises.checker.example import CHOICE, TRY


@pytest.fixture(autouse=True)
def listed(monkeypatch):
    for exercise in (TRY, CHOICE):
        monkeypatch.setitem(ALL, exercise.id, exercise)
