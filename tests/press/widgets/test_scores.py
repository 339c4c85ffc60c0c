"""Rows of scores and masks, used as a reader would: by pointer, finger and keys."""

import pytest
from playwright.sync_api import Page

from tests.support.pages import FOLDER

pytestmark = pytest.mark.usefixtures("book")


def weights(page: Page) -> list[float]:
    """What stands in the column of weights of the first softmax on the page."""
    return [
        float(text)
        for text in page.locator("attn-softmax >> nth=0 >> .row .weight").all_inner_texts()
    ]


def test_temperature(page: Page) -> None:
    page.goto(FOLDER + "book/01_library.html")
    figure = page.locator("attn-softmax").first
    before = weights(page)
    assert sum(before) == pytest.approx(1, abs=0.01)
    slider = figure.locator("input[type=range]")
    slider.focus()
    page.keyboard.press("Home")  # times 0: all alike
    assert weights(page) == pytest.approx([0.1] * 10)
    page.keyboard.press("End")  # times 10: one has it all
    assert max(weights(page)) == 1
    assert slider.get_attribute("aria-valuetext") == "× 10"
    figure.get_by_role("listbox").focus()
    page.keyboard.press("Home")
    assert "Minds and machines: weight 0.000" in figure.locator(".said").inner_text()
    figure.get_by_role("option").nth(5).tap()
    said = figure.locator(".said").inner_text()
    assert said.startswith("The honest kitchen")
    figure.locator(".heard", has_text=said).wait_for(state="attached")  # and is announced
    figure.get_by_role("option").nth(2).hover()
    assert figure.locator(".said").inner_text().startswith("Right and wrong")


def test_mask(page: Page) -> None:
    page.goto(FOLDER + "book/06_masked_attention.html")
    figure = page.locator("attn-mask")
    cells = figure.get_by_role("gridcell")
    said = figure.locator(".said")

    def row(i: int) -> list[float]:
        return [float(cells.nth(6 * i + j).inner_text().split()[0]) for j in range(6)]

    before = [row(i) for i in range(6)]
    assert before[0] == [1, 0, 0, 0, 0, 0]
    cells.nth(6 * 1 + 2).click()  # "is" sees "short"
    assert "Cells that leak the future: 1." in said.inner_text()
    assert [row(i) == before[i] for i in range(6)] == [True, False, True, True, True, True]
    page.keyboard.press("Space")  # the key turns it back
    assert "Nothing leaks the future." in said.inner_text()
    page.keyboard.press("ArrowDown")
    assert said.inner_text().startswith("short looks at short")
    cells.nth(6 * 2 + 3).hover()  # a mouse that is drawn paints on
    page.mouse.down()
    for j in (4, 5):
        cells.nth(6 * 2 + j).hover()
    page.mouse.up()
    assert "Cells that leak the future: 3." in said.inner_text()
    figure.get_by_text("True = may not").click()
    assert cells.nth(6 * 2 + 3).inner_text().split()[1] == "False"
    figure.get_by_text("nothing", exact=True).click()
    assert row(4) == [0] * 6
    cells.nth(6 * 4).tap()
    assert row(4) == [1, 0, 0, 0, 0, 0]
