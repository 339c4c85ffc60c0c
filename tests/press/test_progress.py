"""The pages remember what was read, but only in this browser, and can forget it."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from press.extension.storage import KEYS
from tests.support.pages import DESK, wait_until, window

pytestmark = pytest.mark.usefixtures("book")

MARKED = "nav.bd-links a.read, .chapters a.read"
FORGET = "Forget what I have read and solved on these pages"


@pytest.fixture
def reader(browser: Browser) -> Iterator[BrowserContext]:
    """A reader with a browser of their own."""
    with window(browser, viewport=DESK) as context:
        yield context


def opened(reader: BrowserContext, address: str) -> Page:
    page = reader.new_page()
    page.goto(address)
    return page


def test_progress_is_marked_and_can_be_erased(reader: BrowserContext, server: str) -> None:
    first = opened(reader, server + "book/index.html")
    expect(first.locator(MARKED)).to_have_count(0)
    assert first.get_by_role("button", name=FORGET).count() == 0

    page = opened(reader, server + "book/02_embeddings.html")
    links = "[...document.querySelectorAll('#pst-page-toc-nav a')]"
    stored = f"localStorage['{KEYS['read']}02_embeddings.html']"
    for seconds in (0, 6):
        page.keyboard.press("Home")
        wait_until(page, "scrollY === 0")
        page.locator("#pst-page-toc-nav a").nth(-2).click()
        wait_until(page, f"{links}.at(-2).matches('.active')")
        page.wait_for_timeout(1000 * seconds)
        page.keyboard.press("End")
        wait_until(page, f"{links}.at(-1).matches('.active')")
        assert bool(page.evaluate(stored)) == bool(seconds)  # a jump to the end is not reading
    page.close(run_before_unload=True)

    first.reload()
    expect(first.locator(MARKED)).to_have_count(2)
    assert set(first.locator(MARKED).evaluate_all("links => links.map(e => e.href)")) == {
        server + "book/02_embeddings.html"
    }
    first.get_by_role("button", name=FORGET).click()
    expect(first.locator(MARKED)).to_have_count(0)
    assert first.evaluate("Object.keys(localStorage)") == [KEYS["answers"]]  # settings stay


def test_what_is_solved_is_counted_where_its_links_are(reader: BrowserContext, server: str) -> None:
    page = opened(reader, server + "book/03_single_head.html")
    count = page.locator("#pst-page-toc-nav .solved")
    expect(count).to_have_text("")
    exercise = page.locator("attn-choice").first
    for question in exercise.locator("fieldset").all():
        for answer in question.locator("label").all():
            answer.click()
            exercise.get_by_role("button", name="Check").click()
            if "right" in (question.get_attribute("class") or ""):
                break
    expect(count).to_have_text(re.compile(r"1 of \d solved"))
    page.goto(server + "book/index.html")
    expect(page.locator("nav.bd-links .solved")).to_have_text("1 solved")
    exercise = opened(reader, server + "book/03_single_head.html").locator("attn-choice").first
    exercise.get_by_role("button", name="Forget that it is solved").click()
    expect(exercise.page.locator("#pst-page-toc-nav .solved")).to_have_text("")


def test_the_first_page_continues_where_the_reader_left(
    reader: BrowserContext, server: str
) -> None:
    page = opened(reader, server + "book/03_single_head.html#attention-in-one-equation")
    wait_until(page, "document.querySelector('#pst-page-toc-nav a.active')")
    section = page.locator("#pst-page-toc-nav a.active")
    *_, name = section.inner_text().splitlines()  # a part's name is above its first section
    target = section.get_attribute("href")
    page.goto(server + "book/index.html")
    link = page.get_by_role("link", name=f"Continue: {name}")
    assert link.get_attribute("href") == f"03_single_head.html{target}"
