"""A reader always sees which chapter and which section this is, and how far the page goes."""

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.support.pages import FOLDER, PHONE, Opened, wait_until, window

pytestmark = pytest.mark.usefixtures("book")

CURRENT_PAGE = "nav.bd-links .current > a"
CURRENT_SECTION = "#pst-page-toc-nav a.active"


@pytest.fixture
def page(screens: dict[str, BrowserContext]) -> Page:
    """A chapter on a desk, in the middle of its ninth section."""
    page = Opened(screens["light"], "book/13_reading_attention.html").page
    page.locator("#pst-page-toc-nav a", has_text="13.9").click()
    return page


def test_the_header_names_the_chapter_and_the_section(page: Page) -> None:
    expect(page.locator(".where .chapter")).to_have_text("13. Reading attention")
    expect(page.locator(".where .section")).to_have_text(
        page.locator("#ablating-a-head-zero-mean-resampled h2").evaluate("e => e.firstChild.data")
    )
    page.locator(".where").click()
    wait_until(page, "scrollY === 0")
    expect(page.locator(".where .section")).to_have_text("")
    page.close()


def test_a_line_shows_how_far_one_is(page: Page) -> None:
    length = "new DOMMatrix(getComputedStyle(document.querySelector('.far')).transform).a"
    wait_until(page, f"0.3 < {length} && {length} < 0.9")
    page.keyboard.press("End")
    wait_until(page, f"{length} > 0.99")
    page.keyboard.press("Home")
    wait_until(page, f"{length} === 0")
    page.close()


def test_a_phone_names_the_section_and_opens_its_lists_there(browser: Browser) -> None:
    with window(browser, viewport=PHONE, is_mobile=True) as context:
        page = context.new_page()
        page.goto(FOLDER + "book/12_language_model.html")
        expect(page.locator(".where .chapter")).to_be_visible()
        page.evaluate("document.getElementById('summary').scrollIntoView()")
        expect(page.locator(".where .section")).to_have_text("12.15 Summary")
        expect(page.locator(".where .chapter")).to_be_hidden()
        for side, entry in ("secondary", CURRENT_SECTION), ("primary", CURRENT_PAGE):
            page.locator(f".{side}-toggle").click()
            expect(page.locator(entry)).to_be_in_viewport(ratio=1)
            page.keyboard.press("Escape")


def test_a_part_is_named_as_a_part(page: Page) -> None:
    part = page.locator("h2 > .part").first
    expect(part).to_have_text("Part 1 of 4 · An induction head by hand · 13.1 to 13.2 · 15\xa0min")
    first = page.locator("#pst-page-toc-nav .part").first
    assert first.inner_text() == "Part 1 of 4 · An induction head by hand · 15\xa0min"
    page.close()
