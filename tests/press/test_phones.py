"""On a phone: code is wrapped, a question stands above its buttons, a matrix stays a matrix."""

from collections.abc import Callable, Iterator
from functools import cache

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from tests.support.pages import FOLDER, PHONE, SHOW_ALL, window

pytestmark = pytest.mark.usefixtures("book")

# From the end of each question's text to its buttons, in pixels
DISTANCES = """[...document.querySelectorAll('attn-choice')].flatMap(one =>
    [...one.shadowRoot.querySelectorAll('fieldset')].map(question => {
        const [text, buttons] = ['legend', '.answers'].map(part =>
            question.querySelector(part).getBoundingClientRect());
        return buttons.top - text.bottom; }))"""
REPEATED = """[...document.querySelectorAll('.admonition > .asked')].filter(block =>
    block.checkVisibility()).length"""


@pytest.fixture(scope="module")
def opened(browser: Browser) -> Iterator[Callable[[str], Page]]:
    """Open a page of the book, or return it if it is open already: these tests only look at it."""
    with window(browser, viewport=PHONE, is_mobile=True) as phone:

        @cache
        def opened(name: str) -> Page:
            page = phone.new_page()
            page.goto(f"{FOLDER}book/{name}.html")
            page.evaluate(
                "document.querySelectorAll('details').forEach(one => { one.open = true })"
            )
            page.evaluate(SHOW_ALL)
            return page

        yield opened


def test_wrapped_code_is_copied_as_it_was_written(opened: Callable[[str], Page]) -> None:
    page = opened("03_single_head")
    block = page.locator("pre", has_text="def attend_by_loops").first
    assert "                scores[j] += query[i, c] * key[j, c]\n" in (block.text_content() or "")
    shape = block.locator(".line", has_text="# (Lq, Dv)")
    assert shape.evaluate("e => e.getBoundingClientRect().right <= innerWidth")
    assert "return output        " in (shape.text_content() or "")


@pytest.mark.parametrize("name", ["01_library", "05_cross_attention", "10_efficient_attention"])
def test_buttons_are_below_their_question(opened: Callable[[str], Page], name: str) -> None:
    page = opened(name)
    found = page.evaluate(DISTANCES)
    assert found
    assert max(found) < 30
    assert page.evaluate(REPEATED) == 0


def test_a_question_is_repeated_with_its_answers(opened: Callable[[str], Page]) -> None:
    page = opened("01_library")
    question = page.locator("attn-choice[data*='01.experiment'] fieldset").first
    assert question.locator("legend").inner_text().startswith("fading with each additional input")
    assert "in every input; how far apart" in question.locator("label").first.inner_text()
    page = opened("10_efficient_attention")
    row = page.locator("attn-choice[data*='10.cheapest'] fieldset")
    assert row.nth(1).locator("legend").inner_text().split() == "b L 512 D 64 w 64 g 0".split()


@pytest.mark.parametrize("name", ["03_single_head", "09_translation"])
def test_a_matrix_stays_a_matrix(opened: Callable[[str], Page], name: str) -> None:
    page = opened(name)
    tops = (
        page.locator("table.matrix tr")
        .nth(1)
        .locator("td")
        .evaluate_all("cells => cells.map(cell => Math.round(cell.getBoundingClientRect().top))")
    )
    assert len(tops) > 3
    assert len(set(tops)) == 1


def test_a_table_of_nine_narrow_columns_fits_a_desk(screens: dict[str, BrowserContext]) -> None:
    page = screens["light"].new_page()
    page.goto(FOLDER + "book/09_translation.html")
    page.evaluate(SHOW_ALL)
    box = page.locator(".pst-scrollable-table-container:has(table.matrix)")
    assert box.evaluate("e => e.scrollWidth <= e.clientWidth")
    page.close()


def test_each_group_of_symptoms_fits_about_a_screen(opened: Callable[[str], Page]) -> None:
    page = opened("symptoms")
    sizes = "groups => groups.map(group => group.getBoundingClientRect().height / innerHeight)"
    screens = page.locator("article section section").evaluate_all(sizes)
    assert len(screens) == 10
    assert max(screens) <= 1.25


def test_a_table_that_becomes_a_list_fits_the_window(opened: Callable[[str], Page]) -> None:
    page = opened("notation")
    tables = page.locator("table.stack")
    assert tables.count() > 1
    assert tables.evaluate_all("all => all.filter(one => one.offsetWidth > innerWidth).length") == 0
