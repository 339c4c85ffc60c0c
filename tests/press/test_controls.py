"""The controls of a page: light and dark, the contents on a phone, hints."""

import pytest
from playwright.sync_api import Browser, BrowserContext, expect

from tests.support.pages import (
    THEME,
    Opened,
    window,
)

pytestmark = pytest.mark.usefixtures("book")


def test_the_theme_can_be_switched_from_the_keyboard(browser: Browser, server: str) -> None:
    context = window(browser, color_scheme="light")
    # from a server: on file:// pages, a busy Chromium loses what is stored just before a reload
    page = Opened(context, "book/index.html", server).page
    page.locator(".theme-switch-button").focus()
    assert page.evaluate(THEME) == "light"
    page.keyboard.press("Enter")
    assert page.evaluate(THEME) == "dark"
    page.reload()
    assert page.evaluate(THEME) == "dark"
    context.close()


def test_the_contents_open_on_a_phone_from_the_keyboard(
    screens: dict[str, BrowserContext],
) -> None:
    opened = Opened(screens["phone"], "book/index.html")
    link = opened.page.locator("#pst-primary-sidebar-modal a, #pst-primary-sidebar a").last
    expect(link).not_to_be_visible()
    opened.page.locator(".primary-toggle").focus()
    opened.page.keyboard.press("Enter")
    expect(link).to_be_visible()
    opened.page.keyboard.press("Escape")
    expect(link).not_to_be_visible()
    opened.close()


def test_the_next_hint_comes_after_the_last(screens: dict[str, BrowserContext]) -> None:
    page = Opened(screens["light"], "book/03_single_head.html").page
    hints = page.locator(".hints").first.locator(":scope > details")
    shown = "hints => hints.map(hint => hint.checkVisibility())"
    assert hints.evaluate_all(shown) == [True, *[False] * (hints.count() - 1)]
    hints.first.locator("summary").click()
    expect(hints.nth(1)).to_be_visible()
    assert hints.evaluate_all(shown)[2:] == [False] * (hints.count() - 2)
    tops = hints.evaluate_all("hints => hints.map(hint => hint.getBoundingClientRect().top)")
    assert tops[0] < tops[1]
    page.close()
