"""The card "In two minutes" of each chapter, on the built page."""

import pytest
from playwright.sync_api import BrowserContext

from manuscript.chapters import chapters
from tests.support.pages import Opened

pytestmark = pytest.mark.usefixtures("book")

SCREEN = {"width": 1280, "height": 900}
PAGES = [f"book/{chapter.path.stem}.html" for chapter in chapters()]


@pytest.mark.parametrize("address", PAGES)
def test_a_card_is_folded_and_opened_it_fits_a_screen(
    screens: dict[str, BrowserContext], address: str
) -> None:
    opened = Opened(screens["light"], address)
    opened.page.set_viewport_size(SCREEN)
    card = opened.page.locator("article details.card").first
    assert card.get_attribute("open") is None
    card.locator("summary").focus()
    opened.page.keyboard.press("Enter")
    assert card.get_attribute("open") is not None
    box = card.bounding_box()
    assert box
    header = opened.page.locator(".bd-header").bounding_box()
    assert 150 < box["height"] <= SCREEN["height"] - (header or {"height": 0})["height"]
    assert card.locator("pre, .math, img, svg").count()
    assert card.locator("strong").last.inner_text().startswith("The one mistake")
    assert opened.close() == []
