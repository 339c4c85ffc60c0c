"""Fixtures for the tests of interactive figures: the page on which a figure is used."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from tests.support.pages import DESK, PHONE, Opened, window


@pytest.fixture(scope="module")
def page(browser: Browser) -> Iterator[Page]:
    """A browser page on which every section is laid out at once, so that nothing moves later."""
    opened = window(browser, viewport=DESK, has_touch=True, reduced_motion="reduce")
    page = opened.new_page()
    page.add_init_script(
        "addEventListener('DOMContentLoaded', () => { const sheet = new CSSStyleSheet();"
        "sheet.replaceSync('section { content-visibility: visible !important }');"
        "document.adoptedStyleSheets.push(sheet); })"
    )
    yield page
    opened.close()


@pytest.fixture
def opened(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Opened]:
    """The module's CHAPTER in a window of its own, so that no model has been loaded."""
    with window(browser, viewport=PHONE, has_touch=True, reduced_motion="reduce") as context:
        opened = Opened(context, request.module.CHAPTER)
        opened.settle()
        yield opened
