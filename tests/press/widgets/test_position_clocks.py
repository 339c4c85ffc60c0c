"""Positions as clock hands, used as a reader would use them."""

import pytest
import torch
from playwright.sync_api import Page

from attnbook.positions.absolute import sinusoids
from tests.support.pages import FOLDER

pytestmark = pytest.mark.usefixtures("book")


def test_dial(page: Page) -> None:
    page.goto(FOLDER + "book/07_positional_encoding.html")
    figure = page.locator("attn-dial").last
    encoding = figure.evaluate("dial => [0, 7, 63, -4].map(t => dial.constructor.encoding(t, 16))")
    expected = sinusoids(torch.tensor([0, 7, 63, -4]), 16)
    torch.testing.assert_close(torch.tensor(encoding).double(), expected, atol=1e-6, rtol=0)
    hands = "line => [line.getAttribute('x2') / 30, line.getAttribute('y2') / -30]"
    slow = figure.locator("line.to").nth(7)
    figure.locator("input[type=range]").first.focus()
    page.keyboard.press("End")
    said = figure.locator(".said").inner_text()
    assert said.startswith("From 63 to 65: hand 0 turns by 115°.")
    expected = sinusoids(torch.tensor([63, 65]), 16)
    assert f"{expected[0] @ expected[1]:.4f}" in said
    assert slow.evaluate(hands) == pytest.approx(expected[1, -2:].tolist(), abs=1e-6)
    before = figure.locator("circle.dot").get_attribute("cy")
    figure.locator(".map").click(position={"x": 5, "y": 2})  # the top row
    assert figure.locator(".said").inner_text().startswith("From 0 to 2:")
    assert figure.locator("circle.dot").get_attribute("cy")[:6] == before[:6]
    figure.locator("input[type=range]").last.focus()
    page.keyboard.press("ArrowLeft")
    assert figure.locator(".said").inner_text().startswith("From 0 to 1:")
