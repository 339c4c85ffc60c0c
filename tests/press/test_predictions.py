"""The answer to a prediction is hidden on the page until the reader has made a guess."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.support.pages import DESK, FOLDER, window

pytestmark = pytest.mark.usefixtures("book")

CHAPTER = FOLDER + "book/01_library.html"
IN_SIGHT = """[...document.querySelectorAll('p.predict')].flatMap(question => {
    const parts = [];
    let next = question;
    while ((next = next.nextElementSibling) && !next.matches('.predict, section'))
        if (next.matches('div.answer, .tag_answer, .tag_after-answer'))
            parts.push(next.matches('.tag_answer') ? next.querySelector('.cell_output') : next);
    const seen = e => e.checkVisibility() && getComputedStyle(e).contentVisibility !== 'hidden';
    return parts.filter(seen).map(e => e.innerText.slice(0, 80)); })"""
BUTTON = "button.guess:not(.all)"
ALL = "button.guess.all"


@pytest.fixture
def reader(browser: Browser) -> Iterator[BrowserContext]:
    """A reader who has not asked to see all answers."""
    with window(browser, answers=False, viewport=DESK) as context:
        yield context


def opened(reader: BrowserContext, address: str = CHAPTER) -> Page:
    page = reader.new_page()
    page.goto(address)
    return page


@pytest.mark.parametrize("name", ["01_library", "06_masked_attention", "13_reading_attention"])
def test_no_prediction_is_answered_before_a_guess(reader: BrowserContext, name: str) -> None:
    page = opened(reader, f"{FOLDER}book/{name}.html")
    questions = page.locator("p.predict").count()
    assert page.locator(BUTTON).count() > 0.7 * questions > 0
    assert page.evaluate(IN_SIGHT) == []


def test_a_page_without_predictions_has_no_button(reader: BrowserContext) -> None:
    page = opened(reader, f"{FOLDER}book/how_to_use.html")
    expect(page.get_by_text("Predict before you run.")).to_have_count(1)  # in a table
    assert page.locator(f"p.predict, {ALL}").count() == 0


def test_a_guess_shows_its_answer_and_no_other(reader: BrowserContext) -> None:
    page = opened(reader)
    before = page.locator(BUTTON).count()
    page.locator(BUTTON).first.click()
    shown = page.evaluate(IN_SIGHT)
    assert shown
    expect(page.locator(f"{BUTTON}:visible")).to_have_count(before - 1)
    assert page.evaluate("document.activeElement.matches('.cell_output, .answer')")


def test_a_choice_answers_and_the_button_shows_the_result(reader: BrowserContext) -> None:
    page = opened(reader)
    button = page.locator(BUTTON, has_text="I have chosen").first
    choices = "e => e.closest('section').querySelector('details.choice')"
    button.evaluate(f"e => ({choices})(e).querySelector('summary').click()")
    assert button.evaluate(f"e => ({choices})(e).open")
    expect(button).to_be_visible()
    assert page.evaluate(IN_SIGHT) == []
    assert page.locator("details.known").count() == 0
    button.click()
    expect(button).to_be_hidden()
    assert page.evaluate(IN_SIGHT)
    expect(page.locator("details.known summary")).to_have_text("B. A little, but not nothing")
    mark = "e => getComputedStyle(e, '::after').content"
    assert page.locator("details.known summary").evaluate(mark) == '"✓"'


def test_the_switch_for_all_is_remembered(reader: BrowserContext, server: str) -> None:
    # from a server: on file:// pages, a busy Chromium loses what is stored just before a reload
    page = opened(reader, CHAPTER.replace(FOLDER, server))
    page.locator(ALL).click()
    expect(page.locator(f"{BUTTON}:visible")).to_have_count(0)
    page.reload()
    expect(page.locator(ALL)).to_have_text("Hide the answers to predictions")
    expect(page.locator(f"{BUTTON}:visible")).to_have_count(0)
    page.locator(ALL).click()
    page.reload()
    assert page.evaluate(IN_SIGHT) == []


def test_paper_and_readers_without_scripts_see_the_answers(browser: Browser) -> None:
    with window(browser, answers=False, java_script_enabled=False) as context:
        page = context.new_page()
        page.goto(CHAPTER)
        expect(page.locator("div.answer").first).to_be_visible()
        expect(page.locator(BUTTON)).to_have_count(0)
    with window(browser, answers=False) as context:
        page = opened(context)
        questions = page.locator(BUTTON).count()
        page.emulate_media(media="print")
        expect(page.locator(f"{BUTTON}:visible")).to_have_count(0)
        assert len(page.evaluate(IN_SIGHT)) >= questions


def test_the_browsers_own_search_finds_an_answer(reader: BrowserContext) -> None:
    page = opened(reader, CHAPTER + "#:~:text=A%20capital%20letter%20fails")
    expect(page.get_by_text("A capital letter fails")).to_be_visible()
