"""The built book, opened in a real browser, from its folder and from a server, without a network.

Every page must be complete: it sends no request to another site and causes no error, its formulas
are typeset, its pictures are loaded and described, its links have existing targets, axe-core
reports no violation, its text is easy to see in both themes, nothing is too wide or too small for a
phone, and it stays within its budget (tests/support/complete.py).
"""

import os
import re
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from attnbook.colors import ROLES
from manuscript.chapters import chapters
from tests.support.complete import FAINT, ON_A_DESK, ON_A_PHONE, ON_EVERY_SCREEN, assert_complete
from tests.support.contrast import contrast
from tests.support.pages import (
    COLORS,
    FOLDER,
    HTML,
    PAGES,
    THEME,
    THEMES,
    Opened,
    addresses,
    ids,
    parsed,
    window,
)

pytestmark = pytest.mark.usefixtures("book")


@pytest.mark.parametrize("address", PAGES)
def test_a_page_on_a_desk(screens: dict[str, BrowserContext], address: str) -> None:
    opened = Opened(screens["light"], address)
    assert_complete(opened, ON_EVERY_SCREEN | ON_A_DESK)
    assert opened.violations(but=COLORS) == []
    for theme in THEMES:
        opened.page.emulate_media(color_scheme=theme, reduced_motion="reduce")
        expect(opened.page.locator("html")).to_have_attribute("data-theme", theme)
        assert opened.page.evaluate(FAINT) == []
    use(opened.page)
    assert opened.close() == []
    assert opened.outside() == []


@pytest.mark.parametrize("address", PAGES)
def test_a_page_on_a_phone(screens: dict[str, BrowserContext], server: str, address: str) -> None:
    opened = Opened(screens["phone"], address, server)
    assert_complete(opened, ON_EVERY_SCREEN | ON_A_PHONE)
    assert opened.close() == []
    assert opened.outside() == []


def use(page: Page) -> None:
    """Use the controls of a page (theme, folds, copy button, contents), and simulate printing."""
    themes = []
    for _ in range(3):  # light, dark, and the system's theme
        page.locator(".theme-switch-button").click()
        themes.append(page.evaluate(THEME))
    assert themes == ["light", "dark", "dark"]
    page.evaluate("document.querySelectorAll('summary').forEach((summary) => summary.click())")
    assert bool(page.locator("details[open]").count()) == bool(page.locator("details").count())
    for button in page.locator(".copybtn").all()[:1]:
        button.click(force=True)
        expect(button).to_have_attribute("data-tooltip", "Copied!")
    page.locator(".primary-toggle").click()
    expect(page.locator("#pst-primary-sidebar")).to_have_class(re.compile("hidden"))
    page.locator(".primary-toggle").click()
    page.evaluate("['beforeprint', 'afterprint'].forEach((on) => dispatchEvent(new Event(on)))")


OPEN_ALL = "document.querySelectorAll('details').forEach((part) => { part.open = true; })"


def test_what_is_folded_fits_on_a_phone_once_it_is_open(
    screens: dict[str, BrowserContext], server: str
) -> None:
    opened = Opened(screens["phone"], "book/12_language_model.html", server)
    opened.settle()
    opened.page.evaluate(OPEN_ALL)
    wide = "(parts) => parts.filter((x) => x.getBoundingClientRect().right > innerWidth).length"
    assert opened.page.locator("details.solution").count() > 3
    assert opened.page.locator("details").evaluate_all(wide) == 0
    assert opened.close() == []


@pytest.mark.parametrize("theme", THEMES)
def test_text_and_formulas_stand_out_in_the_colors_of_the_roles(
    screens: dict[str, BrowserContext], theme: str
) -> None:
    # axe gives up on overlapping text, such as parts of a formula, so compute each contrast here
    opened = Opened(screens[theme], "book/notation.html")
    value = """name => {
        document.body.style.color = `var(${name})`;
        return getComputedStyle(document.body).color.match(/\\d+/g).map(part => part / 255); }"""
    variables = [f"--role-{n}" for n in ROLES]
    variables += [f"--book-{n}" for n in ("text", "muted", "accent", "code")]
    for variable in variables:
        for background in ("--book-page", "--book-surface"):
            pair = [opened.page.evaluate(value, name) for name in (variable, background)]
            assert contrast(*pair) >= 4.5, (variable, background, pair)
    for name, role in ROLES.items():
        shown = opened.page.locator(f".katex-html .role-{name}").first.evaluate(
            "e => getComputedStyle(e).color.match(/\\d+/g).map(Number)"
        )
        wanted = role.light if theme == "light" else role.dark
        assert "#{:02X}{:02X}{:02X}".format(*shown) == wanted.upper(), name
    opened.close()


@pytest.mark.parametrize("address", ["index.html", *PAGES])
def test_links_lead_somewhere(address: str) -> None:
    broken = []
    for link in addresses(HTML / address):
        if re.match(r"https?:|mailto:|data:", link):
            continue
        place, anchor = urldefrag(link)
        path = Path(os.path.normpath((HTML / address).parent / unquote(place.split("?")[0])))
        path = path if place else HTML / address
        if not path.is_file() or (anchor and unquote(anchor) not in ids(path)):
            broken.append(link)
    assert broken == []


def test_the_title_of_the_book_is_in_the_tab_of_each_page_once() -> None:
    book = parsed(HTML / "book/index.html").title.text
    assert "—" not in book
    chapter = parsed(HTML / "book/03_single_head.html").title.text
    assert re.fullmatch(rf"3\. .+ — {re.escape(book)}", chapter)


def test_the_first_page_has_a_row_for_each_chapter_in_order() -> None:
    *rows, _ = (row.select("td") for row in parsed(HTML / "book/index.html").select("tbody tr"))
    assert all(drawing.svg for drawing, *_ in rows)
    found = [(link.a["href"], link.a.text, short.text) for _, link, short, *_ in rows]
    assert found == [
        (
            f"{c.path.stem}.html",
            f"{c.number}. {c.short_title}".replace("'", "’"),
            f"{c.minutes}\xa0min",
        )
        for c in chapters()
    ]


def test_the_cheat_sheet_prints_on_one_page(browser: Browser) -> None:
    with window(browser) as context:
        page = context.new_page()
        page.goto(FOLDER + "book/cheat_sheet.html")
        # with room for three more lines, since the reader's own fonts are used
        page.evaluate("""document.querySelector('#masks').append(...[1, 2, 3].map(() =>
            Object.assign(document.createElement('p'), { textContent: 'one more line' })))""")
        paper = page.pdf(prefer_css_page_size=True)
    assert len(re.findall(rb"/Type /Page\b", paper)) == 1
    assert re.search(rb"/MediaBox \[0 0 841", paper), "the page is not in landscape"
