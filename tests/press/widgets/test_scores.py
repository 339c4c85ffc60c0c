"""Rows of scores and masks, used as a reader would use them: by mouse, touch and keyboard."""

import pytest
from playwright.sync_api import Browser, Page

from tests.support.pages import FOLDER, PHONE, SHOW_ALL, wait_until, window

pytestmark = pytest.mark.usefixtures("book")


def weights(page: Page) -> list[float]:
    """Return the numbers in the weights column of the first softmax on the page."""
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
    page.keyboard.press("Home")  # scores times 0: all weights are equal
    assert weights(page) == pytest.approx([0.1] * 10)
    page.keyboard.press("End")  # scores times 10: one gets all the weight
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


def test_a_finger_that_begins_on_a_slider_scrolls(browser: Browser) -> None:
    phone = {"viewport": PHONE, "has_touch": True, "is_mobile": True, "reduced_motion": "reduce"}
    with window(browser, **phone) as context:
        page = context.new_page()
        page.goto(FOLDER + "book/01_library.html")
        page.evaluate(SHOW_ALL)  # nothing moves afterward
        slider = page.locator("attn-softmax input[type=range]").first
        slider.scroll_into_view_if_needed()
        before, scrolled = slider.input_value(), page.evaluate("scrollY")
        box = slider.bounding_box()
        assert box
        finger = context.new_cdp_session(page)
        for kind, down in ("touchStart", 0), ("touchMove", 40), ("touchMove", 120), ("touchEnd", 0):
            at = {"x": box["x"] + 0.8 * box["width"], "y": box["y"] + 10 - down}
            touches = {"type": kind, "touchPoints": [at] if kind != "touchEnd" else []}
            finger.send("Input.dispatchTouchEvent", touches)
        wait_until(page, f"scrollY > {scrolled} + 50")
        assert slider.input_value() == before
        assert slider.get_attribute("aria-valuetext") == "× 1"
        assert page.locator("attn-softmax output").first.text_content() == "× 1"


def test_mask(page: Page) -> None:
    page.goto(FOLDER + "book/06_masked_attention.html")
    figure = page.locator("attn-mask")
    cells = figure.get_by_role("gridcell")
    said = figure.locator(".said")

    def rows() -> list[list[float]]:
        numbers = [float(text.split()[0]) for text in cells.all_inner_texts()]
        return [numbers[i : i + 6] for i in range(0, 36, 6)]

    before = rows()
    assert before[0] == [1, 0, 0, 0, 0, 0]
    cells.nth(6 * 1 + 2).click()  # "is" sees "short"
    assert "Cells that leak the future: 1." in said.inner_text()
    assert figure.locator(":checked").count() == 1  # the notation is checked, but no initial mask
    figure.get_by_text("causal", exact=True).click()
    assert rows() == before
    cells.nth(6 * 1 + 2).click()
    same = [now == then for now, then in zip(rows(), before, strict=True)]
    assert same == [True, False, True, True, True, True]
    page.keyboard.press("Space")  # the space bar undoes the click
    assert figure.get_by_label("causal", exact=True).is_checked()
    assert "Nothing leaks the future." in said.inner_text()
    page.keyboard.press("ArrowDown")
    assert said.inner_text().startswith("short attends to short")
    cells.nth(6 * 2 + 3).hover()  # dragging the mouse keeps painting
    page.mouse.down()
    for j in (4, 5):
        cells.nth(6 * 2 + j).hover()
    page.mouse.up()
    assert "Cells that leak the future: 3." in said.inner_text()
    figure.get_by_text("True = may not").click()
    assert cells.nth(6 * 2 + 3).inner_text().split()[1] == "False"
    figure.get_by_text("nothing", exact=True).click()
    assert rows()[4] == [0] * 6
    cells.nth(6 * 4).tap()
    assert rows()[4] == [1, 0, 0, 0, 0, 0]
