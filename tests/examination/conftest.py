"""What all tests of `examine` share."""

from typing import NoReturn

import pytest

from attnbook.examination import examine, pace


@pytest.fixture(autouse=True)
def _patient(monkeypatch):
    """Give the experiments time on a busy machine; how long they take is tested by itself."""
    monkeypatch.setattr(pace, "SECONDS", 300.0)


@pytest.fixture(autouse=True)
def _own_errors(monkeypatch):
    """Let a test fail that meets an error of `examine` itself, of which a reader is only told."""

    def fail(error: Exception) -> NoReturn:
        raise error

    monkeypatch.setattr(examine, "raised_by_us", fail)
