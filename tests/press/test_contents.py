"""The table of contents beside a page marks the section that the reader is in."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.pages import DESK, HTML, wait_until, window

pytestmark = pytest.mark.usefixtures("book")

ADDRESS = (HTML / "book" / "03_single_head.html").as_uri()
LINKS = "#pst-page-toc-nav a"
AT_REST = """async () => {
    for (let y, still = 0; still < 10; ) {  // frames without a move
        await new Promise(requestAnimationFrame);
        still = y === scrollY ? still + 1 : 0;
        y = scrollY;
    }
}"""

OFF = """() => {  // from the section in the address to where a jump ends
    const root = document.documentElement;
    const top = document.querySelector(":target").getBoundingClientRect().top
        - parseFloat(getComputedStyle(root).scrollPaddingTop);
    return Math.abs(Math.min(top, root.scrollHeight - innerHeight - scrollY));
}"""


@pytest.fixture
def blank(browser: Browser) -> Iterator[Page]:
    """A window on a desk."""
    with window(browser, viewport=DESK) as context:
        yield context.new_page()


@pytest.fixture
def page(blank: Page) -> Page:
    """A long chapter, not yet scrolled."""
    blank.goto(ADDRESS)
    return blank


@pytest.fixture
def anchors(page: Page) -> list[str]:
    """The sections in the list, in order."""
    found = page.locator(LINKS).evaluate_all("links => links.map(link => link.hash)")
    assert len(found) > 10
    return list(found)


def expect_marked(page: Page, anchor: str | None) -> None:
    """Wait until this link and no other is marked, both visibly and for screen readers."""
    marks = page.locator(f"{LINKS}.active, {LINKS}[aria-current]")
    if anchor is None:
        expect(marks).to_have_count(0)
        return
    expect(page.locator(f'{LINKS}.active[aria-current="location"]')).to_have_attribute(
        "href", anchor
    )
    expect(marks).to_have_count(1)


def scroll_into(page: Page, anchor: str, by: int = 30) -> None:
    """Scroll until the section begins `by` pixels above the line where a jump ends."""
    page.evaluate(
        """async ([id, by]) => {
            const section = document.getElementById(id);
            const padding = parseFloat(getComputedStyle(document.documentElement).scrollPaddingTop);
            for (let i = 0; i < 5; i++) {  // nearby sections are laid out, which moves the rest
                scrollBy({top: section.getBoundingClientRect().top - padding + by,
                          behavior: "instant"});
                await new Promise(requestAnimationFrame);
            }
        }""",
        [anchor[1:], by],
    )


def test_a_fast_scroll_downward_and_upward(page: Page, anchors: list[str]) -> None:
    expect_marked(page, None)  # before the first section
    for i in (1, 7, 4, 5, 0, 9, 8):
        scroll_into(page, anchors[i])
        expect_marked(page, anchors[i])
    scroll_into(page, anchors[8], by=-30)
    expect_marked(page, anchors[7])
    page.evaluate("scrollTo({top: 0, behavior: 'instant'})")
    expect_marked(page, None)


def test_a_wheel_passes_each_short_section_at_the_end(page: Page, anchors: list[str]) -> None:
    page.mouse.move(500, 300)
    scroll_into(page, anchors[-3])
    for way, to in ((1, anchors[-3:]), (-1, anchors[-1:-3:-1])):
        seen = []
        for _ in range(60):
            seen += page.locator(f"{LINKS}.active").evaluate_all("links => links.map(l => l.hash)")
            if seen[-1] == to[-1]:
                break
            page.mouse.wheel(0, way * 150)
            page.evaluate(AT_REST)
        assert list(dict.fromkeys(seen)) == to


@pytest.mark.parametrize("chapter", ["01_library", "10_efficient_attention"])
def test_a_link_leads_to_its_section(blank: Page, chapter: str) -> None:
    address = (HTML / "book" / f"{chapter}.html").as_uri()
    for i in (0, 8, 9, -2, -1):
        blank.goto(f"{address}?{i}")  # a fresh page: distant sections are not laid out yet
        link = blank.locator(LINKS).nth(i)
        link.click()
        blank.evaluate(AT_REST)
        assert blank.evaluate(OFF) < 3
        expect_marked(blank, link.get_attribute("href"))


def test_the_end_of_the_page(page: Page, anchors: list[str]) -> None:
    page.keyboard.press("End")
    expect_marked(page, anchors[-1])
    wait_until(page, "document.documentElement.scrollHeight - innerHeight - scrollY < 2")
    page.keyboard.press("Home")
    expect_marked(page, None)


def test_home_interrupts_a_jump_to_the_end(page: Page) -> None:
    page.keyboard.press("End")
    page.keyboard.press("Home")
    page.evaluate(AT_REST)
    assert page.evaluate("scrollY") == 0
    expect_marked(page, None)


@pytest.mark.parametrize("i", [5, -2])
def test_a_link_from_another_page_and_a_reload(page: Page, anchors: list[str], i: int) -> None:
    page.goto((HTML / "book" / "index.html").as_uri())
    page.evaluate(
        """address => {
            const link = Object.assign(document.createElement("a"), {href: address});
            document.body.append(link);
            link.click();
        }""",
        ADDRESS + anchors[i],
    )
    page.wait_for_url(re.compile(re.escape(anchors[i])))
    expect_marked(page, anchors[i])
    page.reload()
    expect_marked(page, anchors[i])


def test_an_anchor_inside_a_section(page: Page, anchors: list[str]) -> None:
    inside = page.evaluate(
        """ids => {
            for (const id of ids.slice(3)) {
                const found = document.getElementById(id.slice(1))
                    .querySelector("figure[id], .exercise[id], [id]:not(section)");
                if (found) return [id, found.id];
            }
        }""",
        anchors,
    )
    section, anchor = inside
    page.evaluate("anchor => { location.hash = anchor }", anchor)
    expect_marked(page, section)


@pytest.mark.parametrize("i", [4, 12])
def test_reload_and_back_lead_to_where_the_page_was_left(page: Page, i: int) -> None:
    link = page.locator(LINKS).nth(i)
    link.click()
    page.mouse.move(500, 300)
    page.mouse.wheel(0, 150)
    anchor = link.get_attribute("href") or ""
    top = f"Math.round(document.getElementById({anchor[1:]!r}).getBoundingClientRect().top)"
    wait_until(page, f"{top} < 0")
    page.evaluate(AT_REST)
    left = page.evaluate(top)
    page.reload()
    wait_until(page, f"Math.abs({top} - {left}) < 3")
    expect_marked(page, anchor)
    page.goto((HTML / "book" / "index.html").as_uri())
    page.go_back()
    wait_until(page, f"Math.abs({top} - {left}) < 3")
    expect_marked(page, anchor)
