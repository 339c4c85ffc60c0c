"""A page stores things under the book's own keys only, and finds what version 1.0 stored."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from press.extension.storage import KEYS
from tests.support.pages import DESK, wait_until, window

pytestmark = pytest.mark.usefixtures("book")

CHAPTER = "book/03_single_head.html"
SHOWN = "Hide the answers to predictions"
HIDDEN = "Show the answers to all predictions"


@pytest.fixture
def page(browser: Browser, server: str) -> Iterator[Page]:
    """A chapter in a browser that has stored nothing."""
    with window(browser, answers=False, viewport=DESK, color_scheme="light") as context:
        page = context.new_page()
        page.goto(server + CHAPTER)
        yield page


def store(page: Page, **values: str) -> None:
    """Store values under the keys of version 1.0, and load the page again."""
    page.evaluate("values => Object.assign(localStorage, values)", values)
    page.reload()


def expect_settings(page: Page, theme: str, switch: str) -> None:
    """Check the theme and the switch for all answers."""
    expect(page.locator("html")).to_have_attribute("data-theme", theme)
    expect(page.locator("button.guess.all")).to_have_text(switch)


def test_everything_is_stored_under_the_books_own_keys(page: Page, server: str) -> None:
    page.locator(".theme-switch-button").click()
    page.locator("button.guess.all").click()
    page.locator("#pst-page-toc-nav a").nth(-2).click()
    page.wait_for_timeout(6000)  # a jump to the end is not reading
    page.keyboard.press("End")
    wait_until(page, f"localStorage['{KEYS['read']}03_single_head.html']")
    exercise = page.locator("attn-choice").first
    exercise.evaluate("figure => localStorage.setItem(figure.key, 'yes')")
    page.goto(server + "book/index.html")
    stored = page.evaluate("Object.keys(localStorage)")
    assert {name for name, key in KEYS.items() if any(k.startswith(key) for k in stored)} == {*KEYS}
    assert [key for key in stored if not key.startswith("attnbook ")] == []


def test_the_settings_of_version_1_0_count_until_they_are_changed(page: Page) -> None:
    expect_settings(page, "light", HIDDEN)
    store(page, mode="dark", answers="shown")
    expect_settings(page, "dark", SHOWN)
    page.locator("button.guess.all").click()
    page.locator(".theme-switch-button").click()  # from dark to light
    page.reload()
    expect_settings(page, "light", HIDDEN)


def test_another_sites_answers_show_nothing(page: Page) -> None:
    page.route("**/book.js*", lambda route: route.abort())  # which would hide the answers later
    store(page, answers="[1, 2]")
    expect(page.locator("html")).to_have_attribute("data-answers", "waiting")
