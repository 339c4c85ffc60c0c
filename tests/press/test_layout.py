"""Text and pictures stand on one axis and grow with the screen; each page begins with something."""

import io
import re

import pytest
from PIL import Image
from playwright.sync_api import Browser, BrowserContext, expect

from manuscript.chapters import Chapter, chapters
from tests.support.pages import FOLDER, PHONE, SHOW_ALL, Opened, window

pytestmark = pytest.mark.usefixtures("book")

LAPTOP = {"width": 1280, "height": 900}
LOST = """all => all.flatMap(e => [...e.querySelectorAll(".katex-html > *")]
    .map(part => e.getBoundingClientRect().left - part.getBoundingClientRect().left)
    .filter(lost => lost > 1))"""  # how far formulas begin left of their box
FIRST_SEEN = """() => Math.min(...[...document.querySelectorAll("article *")]
    .filter(e => e.matches(".picture, div.math") || /^attn-(?!choice)/.test(e.localName))
    .filter(e => e.checkVisibility()).map(e => e.getBoundingClientRect().top + scrollY))"""


def test_everything_grows_on_a_large_screen(browser: Browser) -> None:
    sizes = {}
    for width in (1280, 1920):
        with window(browser, viewport={"width": width, "height": 900}) as context:
            page = context.new_page()
            page.goto(FOLDER + "book/03_single_head.html")
            page.evaluate(SHOW_ALL)
            sizes[width] = page.evaluate(
                """() => ["section > p", ".cell_input pre"].map(each => parseFloat(
                    getComputedStyle(document.querySelector(`article ${each}`)).fontSize))"""
            )
    for small, large in zip(sizes[1280], sizes[1920], strict=True):
        assert large / small == pytest.approx(20 / 17, abs=0.03)


@pytest.mark.parametrize("chapter", chapters(), ids=lambda chapter: chapter.path.stem)
def test_a_chapter_shows_something_within_two_screens_and_its_card_fits_one(
    browser: Browser, chapter: Chapter
) -> None:
    with window(browser, viewport=LAPTOP) as context:
        opened = Opened(context, f"book/{chapter.path.stem}.html")
        page, card = opened.page, opened.page.locator("article details.card").first
        expect(page.locator(".drawing svg")).to_be_in_viewport(ratio=1)
        expect(card.locator("summary")).to_be_in_viewport(ratio=1)
        opened.settle()
        assert page.evaluate(FIRST_SEEN) < 2 * LAPTOP["height"]

        assert card.get_attribute("open") is None
        card.locator("summary").focus()
        page.keyboard.press("Enter")
        assert card.get_attribute("open") is not None
        box, header = card.bounding_box(), page.locator(".bd-header").bounding_box()
        assert 150 < box["height"] <= LAPTOP["height"] - (header or {"height": 0})["height"]
        assert card.locator("pre, .math, img, svg").count()
        assert card.locator("strong").last.inner_text().startswith("The one mistake")
        assert opened.close() == []


def test_the_first_page_and_chapter_9_begin_with_something_to_use(browser: Browser) -> None:
    with window(browser, viewport=LAPTOP) as context:
        page = context.new_page()
        page.goto(FOLDER + "book/index.html")
        expect(page.locator("img.cover")).to_be_hidden()
        expect(page.locator("attn-library")).to_be_in_viewport(ratio=0.5)
        page.goto(FOLDER + "book/09_translation.html")
        translator = page.locator("attn-translate").first
        assert translator.bounding_box()["y"] < 900
        expect(page.locator(".try-first a")).to_have_text("9.14")
        translator.get_by_role("textbox").fill("猫 很 大")
        translator.get_by_role("button", name="Translate").click()
        expect(translator.locator(".chips")).to_contain_text("猫")


def test_thread_settings_are_folded(screens: dict[str, BrowserContext]) -> None:
    page = screens["light"].new_page()
    page.goto(FOLDER + "book/02_embeddings.html")
    expect(page.get_by_text("set_num_threads")).to_be_hidden()
    page.locator("details.code summary", has_text=re.compile("^imports$")).click()
    expect(page.get_by_text("set_num_threads")).to_be_visible()
    page.close()


def test_colors_that_are_the_result_stay(screens: dict[str, BrowserContext]) -> None:
    look = "e => [getComputedStyle(e).filter, getComputedStyle(e).mixBlendMode]"
    page = screens["dark"].new_page()
    page.goto(FOLDER + "book/05_cross_attention.html")
    painted = page.locator(".tag_true-colors .picture > *")
    assert painted.evaluate(look) == ["none", "normal"]
    others = page.locator(".cell:not(.tag_true-colors) > .cell_output .picture > *")
    assert others.first.evaluate(look)[0].startswith("invert")
    page.close()


@pytest.mark.parametrize("scale", [2, 3])
def test_no_hairlines_beside_formulas(browser: Browser, scale: int) -> None:
    with window(browser, viewport=LAPTOP, device_scale_factor=scale) as context:
        page = context.new_page()
        page.goto(FOLDER + "book/06_masked_attention.html")
        page.evaluate(SHOW_ALL)
        for formula in page.locator("section > div.math").all()[:8]:
            formula.evaluate("e => e.querySelector('.katex').style.visibility = 'hidden'")
            assert colors(formula.screenshot()) == 1


@pytest.mark.parametrize("chapter", chapters(), ids=lambda chapter: chapter.path.stem)
def test_a_phone_shows_where_a_wide_formula_begins(browser: Browser, chapter: Chapter) -> None:
    with window(browser, viewport=PHONE, is_mobile=True) as context:
        page = context.new_page()
        page.goto(f"{FOLDER}book/{chapter.path.stem}.html")
        page.evaluate(SHOW_ALL)
        assert page.locator("div.math").evaluate_all(LOST) == []


def colors(picture: bytes) -> int:
    """Count the colors of a picture."""
    return len(Image.open(io.BytesIO(picture)).convert("RGB").getcolors(1 << 20) or [])


def test_the_links_to_both_neighbors_keep_their_distance(
    screens: dict[str, BrowserContext],
) -> None:
    page = screens["phone"].new_page()
    page.goto(f"{FOLDER}book/13_reading_attention.html")
    links = page.locator(".prev-next-area a")
    before, after = links.evaluate_all("links => links.map(link => link.getBoundingClientRect())")
    assert after["left"] - before["right"] > 8
    page.close()


def test_the_primer_leads_to_chapter_1(screens: dict[str, BrowserContext]) -> None:
    page = screens["light"].new_page()
    page.goto(f"{FOLDER}book/primer.html")
    links = page.locator(".prev-next-area a").evaluate_all("all => all.map(a => a.href)")
    assert links == [f"{FOLDER}book/index.html", f"{FOLDER}book/01_library.html"]
    page.close()
