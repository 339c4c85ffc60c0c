"""A page printed from the browser is complete, also right after it has been loaded."""

import re

import pytest
from playwright.sync_api import Browser, Page

from tests.support.pages import FOLDER, SHOW_ALL, window

pytestmark = pytest.mark.usefixtures("book")

NAME = re.compile(rb"/FontName\s*/\w{6}\+(KaTeX_[\w-]+)")
LOADED = """async () => {
    await new Promise(requestIdleCallback); // after the page's own, which loads the fonts
    await document.fonts.ready;
}"""


def formula_fonts(page: Page) -> set[str]:
    """Print a page; return the names of KaTeX's fonts in the PDF."""
    return {name.decode() for name in NAME.findall(page.pdf())}


@pytest.mark.parametrize("name", ["06_masked_attention", "03_single_head"])
def test_a_page_printed_right_after_loading_has_all_formulas(browser: Browser, name: str) -> None:
    # a window of its own, since fonts that another page has loaded would hide the fault
    with window(browser) as context:
        page = context.new_page()
        page.goto(f"{FOLDER}book/{name}.html")
        page.evaluate(LOADED)
        at_once = formula_fonts(page)
        page.evaluate(SHOW_ALL)
        assert at_once == formula_fonts(page)
    assert {"KaTeX_Main-Regular", "KaTeX_Math-Italic"} < at_once


def test_the_chapter_in_two_minutes_is_unfolded_on_paper(browser: Browser) -> None:
    with window(browser) as context:
        page = context.new_page()
        page.goto(f"{FOLDER}book/06_masked_attention.html")
        page.pdf()
        assert page.locator("details.card[open]").count() == 1
