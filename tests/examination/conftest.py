"""What all tests of `examine` share."""

import pytest

from attnbook.examination import pace


@pytest.fixture(autouse=True)
def _patient(monkeypatch):
    """Give the experiments time on a busy machine; how long they take is tested by itself."""
    monkeypatch.setattr(pace, "SECONDS", 300.0)
