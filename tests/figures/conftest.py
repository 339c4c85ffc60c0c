"""Figures, caught before they become pictures."""

import pytest

from attnbook.figures import canvas


@pytest.fixture
def drawn(monkeypatch):
    """The figures that were drawn, caught before they become SVG."""
    seen = []
    monkeypatch.setattr(canvas, "svg", lambda figure: seen.append(figure) or "<svg/>")
    monkeypatch.setattr(canvas, "png", lambda figure: seen.append(figure) or "")
    monkeypatch.setattr(canvas, "display", lambda picture, raw: None)
    return seen
