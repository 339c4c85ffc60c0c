"""On a phone: code is wrapped, a question stands above its buttons, a matrix stays a matrix."""

from collections.abc import Iterator

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
def phone(browser: Browser) -> Iterator[BrowserContext]:
    with window(browser, viewport=PHONE, is_mobile=True) as context:
        yield context


def opened(phone: BrowserContext, address: str) -> Page:
    page = phone.new_page()
    page.goto(FOLDER + address)
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")
    page.evaluate(SHOW_ALL)
    return page


def test_wrapped_code_is_copied_as_it_was_written(phone: BrowserContext) -> None:
    page = opened(phone, "book/03_single_head.html")
    block = page.locator("pre", has_text="def attend_by_loops").first
    assert "                scores[j] += query[i, c] * key[j, c]\n" in (block.text_content() or "")
    shape = block.locator(".line", has_text="# (Lq, Dv)")
    assert shape.evaluate("e => e.getBoundingClientRect().right <= innerWidth")
    assert "return output        " in (shape.text_content() or "")
    page.close()


@pytest.mark.parametrize("name", ["01_library", "05_cross_attention", "10_efficient_attention"])
def test_buttons_are_below_their_question(phone: BrowserContext, name: str) -> None:
    page = opened(phone, f"book/{name}.html")
    found = page.evaluate(DISTANCES)
    assert found
    assert max(found) < 30
    assert page.evaluate(REPEATED) == 0
    page.close()


def test_a_question_is_repeated_with_its_answers(phone: BrowserContext) -> None:
    page = opened(phone, "book/01_library.html")
    question = page.locator("attn-choice[data*='01.experiment'] fieldset").first
    assert question.locator("legend").inner_text().startswith("fading with each additional input")
    assert "in every input; how far apart" in question.locator("label").first.inner_text()
    page.close()
    page = opened(phone, "book/10_efficient_attention.html")
    row = page.locator("attn-choice[data*='10.cheapest'] fieldset")
    assert row.nth(1).locator("legend").inner_text().split() == "b L 512 D 64 w 64 g 0".split()
    page.close()


@pytest.mark.parametrize("name", ["03_single_head", "09_translation"])
def test_a_matrix_stays_a_matrix(phone: BrowserContext, name: str) -> None:
    page = opened(phone, f"book/{name}.html")
    tops = (
        page.locator("table.matrix tr")
        .nth(1)
        .locator("td")
        .evaluate_all("cells => cells.map(cell => Math.round(cell.getBoundingClientRect().top))")
    )
    assert len(tops) > 3
    assert len(set(tops)) == 1
    page.close()


def test_a_table_of_nine_narrow_columns_fits_a_desk(screens: dict[str, BrowserContext]) -> None:
    page = screens["light"].new_page()
    page.goto(FOLDER + "book/09_translation.html")
    page.evaluate(SHOW_ALL)
    box = page.locator(".pst-scrollable-table-container:has(table.matrix)")
    assert box.evaluate("e => e.scrollWidth <= e.clientWidth")
    page.close()


def test_each_group_of_symptoms_fits_about_a_screen(phone: BrowserContext) -> None:
    page = opened(phone, "book/symptoms.html")
    sizes = "groups => groups.map(group => group.getBoundingClientRect().height / innerHeight)"
    screens = page.locator("article section section").evaluate_all(sizes)
    assert len(screens) == 8
    assert max(screens) <= 1.25
    page.close()


def test_a_table_that_becomes_a_list_fits_the_window(phone: BrowserContext) -> None:
    page = opened(phone, "book/notation.html")
    tables = page.locator("table.stack")
    assert tables.count() > 1
    assert tables.evaluate_all("all => all.filter(one => one.offsetWidth > innerWidth).length") == 0
    page.close()
