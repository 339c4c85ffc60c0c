"""The figure of beam search, used as a reader would use it."""

import re

import pytest
from playwright.sync_api import Page

from tests.support.pages import FOLDER

pytestmark = pytest.mark.usefixtures("book")


def test_beam(page: Page) -> None:
    page.goto(FOLDER + "book/09_translation.html")
    figure = page.locator("attn-beam")
    said, slider = figure.locator(".said"), figure.locator("input[type=range]")
    # the table has the sums and scores that beam_search found
    found = figure.locator("td").all_text_contents()
    trees = figure.evaluate("beam => beam.data.trees.map(beam.constructor.grow)")
    for tree, row in zip(trees, (found[:4], found[4:]), strict=True):
        best = tree[-1][0]
        assert [best["total"], best["score"]] == pytest.approx(
            [float(x) for x in row[2:]], abs=0.006
        )
    slider.focus()
    page.keyboard.press("End")
    for name, row in (("1 (greedy)", found[:4]), ("3", found[4:])):
        figure.get_by_role("radio", name=name, exact=True).check(force=True)
        slider.press("End")
        assert said.inner_text().startswith(
            f"{row[1]} END: words {len(row[1].split()) + 1}, log-probability −{row[2][1:]}"
        )
    slider.press("Home")
    cells = figure.get_by_role("gridcell")
    first, second = (cells.nth(i).inner_text().split()[0] for i in range(2))
    assert said.inner_text().startswith(f"{first}: ")
    cells.nth(1).hover()
    assert said.inner_text().startswith(f"{second}: ")
    cells.nth(3).tap()
    assert "Dropped: the beam keeps 3." in said.inner_text()
    figure.locator(".heard", has_text=said.inner_text()).wait_for(state="attached")
    cells.nth(3).press("ArrowDown")  # one step further
    assert slider.get_attribute("aria-valuetext") == "2"
    assert cells.nth(2 * 5).inner_text() == ""  # step 3 is not shown yet
    for key in ("ArrowLeft", "ArrowLeft", "ArrowLeft"):
        page.keyboard.press(key)
    assert re.match(rf"{first} \w+: ", said.inner_text())
    assert figure.locator(".cell.chosen").count() == 2
