"""Maps of weights, used as a reader would."""

import pytest
from playwright.sync_api import Page

from tests.support.pages import FOLDER

pytestmark = pytest.mark.usefixtures("book")


def test_looks(page: Page) -> None:
    page.goto(FOLDER + "book/05_cross_attention.html")
    figure = page.locator("attn-look")
    queries = figure.get_by_role("option")
    said = figure.locator(".said")
    assert said.inner_text().startswith("red looks most at 红 red: weight 1.00. It writes red.")
    figure.get_by_role("radio", name="seed 3").check(force=True)
    assert "With 红 covered it writes red." in said.inner_text()
    numbers = figure.locator(".right .number")
    assert float(numbers.first.inner_text()) < 0.1
    queries.nth(1).hover()
    assert said.inner_text().startswith("sweet looks most at 甜 sweet")
    figure.get_by_role("listbox").focus()
    page.keyboard.press("ArrowDown")
    assert said.inner_text().startswith("apple looks most at 苹果 apple")
    assert sum(float(text) for text in numbers.all_inner_texts()) == pytest.approx(1, abs=0.05)
    thick = figure.locator("line").evaluate_all(
        "lines => lines.map(line => parseFloat(line.style.opacity)).indexOf(1)"
    )
    assert thick == 2 * 8 + 7  # from the third word to the eighth
