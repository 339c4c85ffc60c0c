"""The built book, opened in a real browser, from its folder and from a server, without a network.

Every page must be complete: it sends no request to another site and causes no error, its formulas
are typeset, its pictures are loaded and described, its links have existing targets, axe-core
reports no violation in either theme, nothing is too wide for a phone, and it stays within its
budget. The search must work.
"""

import gzip
import os
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, unquote, urldefrag

import pytest
import yaml
from playwright.sync_api import Browser, BrowserContext, Page, expect

from attnbook.colors import ROLES
from manuscript.chapters import chapters
from manuscript.common import ROOT
from tests.support.contrast import contrast
from tests.support.pages import (
    CHAPTERS,
    DESK,
    FOLDER,
    HTML,
    PAGES,
    PHONE,
    THEMES,
    Opened,
    addresses,
    ids,
    parsed,
    wait_until,
    window,
)

pytestmark = pytest.mark.usefixtures("book")

# The maximum size of a page in kB, with text compressed as a web host sends it. The index and texts
# for the search grow with the book, and only the search page loads them.
BUDGET = {"html": 80, "css": 30, "js": 33, "woff2": 150, "pictures": 150}
SEARCH_BUDGET = 20  # kB for each page of the book

THEME = "document.documentElement.dataset.theme"

# Each script returns a list of what is wrong.
ON_EVERY_SCREEN = {
    "formulas that are not set": """[...document.querySelectorAll(
        ':is(span, div).math:not(:has(.katex)), .katex-error')].map(e => e.outerHTML)""",
    # each Stand-in is one of the reader's own fonts
    "fonts that failed": """[...document.fonts].filter(f => f.status === 'error')
        .map(f => f.family).filter(name => !name.includes('Stand-in'))""",
    "LaTeX in the text": """(() => {
        const copy = document.querySelector('main').cloneNode(true);
        copy.querySelectorAll('pre, code, script, .katex').forEach(e => e.remove());
        return copy.textContent.match(/\\$|\\\\[a-zA-Z]+/g) ?? []; })()""",
    "Chinese that is not marked": """(() => {
        const texts = document.createNodeIterator(
            document.querySelector('main'), NodeFilter.SHOW_TEXT);
        const found = [];
        for (let text; (text = texts.nextNode()); )
            if (/\\p{Script=Han}/u.test(text.data) && !text.parentElement.closest(
                '[lang|=zh], pre, .katex, #search-results, style, script') &&
                ![...path(text)].some(e => e.localName.startsWith('attn-'))) found.push(text.data);
        return found;
        function* path(n) { while ((n = n.parentElement)) yield n; } })()""",
    "text in figures that is small or cut": """(() => {
        const found = [];
        for (const element of document.querySelectorAll("*")) {
            const root = element.shadowRoot;
            const figure = root?.querySelector(".figure")?.getBoundingClientRect();
            const texts = root && document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
            while (texts?.nextNode()) {
                const around = texts.currentNode.parentElement, drawing = around.closest("svg");
                const range = document.createRange();
                range.selectNodeContents(texts.currentNode);
                const box = range.getBoundingClientRect();
                if (!box.width || around.closest(".heard, .table, style")) continue;
                const scale = drawing?.viewBox.baseVal.width
                    ? drawing.getBoundingClientRect().width / drawing.viewBox.baseVal.width : 1;
                const size = scale * parseFloat(getComputedStyle(around).fontSize);
                const hidden = getComputedStyle(around).overflowX !== "visible";
                const cut = (hidden && around.scrollWidth > around.clientWidth + 1)
                    || box.right > figure.right + 1 || box.left < figure.left - 1;
                if (size && (size < 10.99 || cut)) {
                    found.push([element.localName, texts.currentNode.textContent, size, cut]);
                }
            }
        }
        return found; })()""",
    "pictures that are missing": """[...document.querySelectorAll('article img')]
        .filter(i => !i.naturalWidth).map(i => i.src)""",
    "pictures that say nothing": """[...document.querySelectorAll('article img')]
        .filter(i => /^$|^[\\w./-]+\\.(svg|png|jpe?g)$|^_build/.test(i.alt)).map(i => i.src)""",
    "buttons of the header without a ring": """[...document.querySelectorAll(
            '.bd-header-article :is(a, button)')].filter(e => e.checkVisibility()).filter(e => {
        e.focus();
        const {outlineStyle, outlineWidth} = getComputedStyle(e);
        return outlineStyle !== 'solid' || outlineWidth !== '3px'; }).map(e => e.outerHTML)""",
}
ON_A_DESK = {
    # the Rosetta table of eight columns may be wider
    "code, outputs and tables that are cut": """(() => {
        const folds = [...document.querySelectorAll('details:not([open])')];
        for (const fold of folds) fold.open = true;
        const cut = [...document.querySelectorAll(
                'article pre, .pst-scrollable-table-container:not(:has(th:nth-child(7)))')]
            .filter(e => e.scrollWidth > e.clientWidth + 8).map(e => e.innerText.slice(0, 100));
        for (const fold of folds) fold.open = false;
        return cut; })()""",
}
ON_A_PHONE = {
    "tables that are cut": """[...document.querySelectorAll('.pst-scrollable-table-container')]
        .filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.innerText.slice(0, 100))""",
    "pictures that are cut": """[...document.querySelectorAll('.picture')]
        .filter(e => e.scrollWidth > e.clientWidth).map(e => e.innerHTML)""",
    "pictures that a section cuts": """[...document.querySelectorAll('section section .picture')]
        .filter(e => {
            const [a, b] = [e, e.closest('section')].map(e => e.getBoundingClientRect());
            return a.left < b.left - 1 || a.right > b.right + 1; })
        .map(e => e.innerHTML.slice(0, 150))""",
    "what is too wide": """(() => {
        const scrolls = e => e && (/auto|scroll/.test(getComputedStyle(e).overflowX)
                                   || scrolls(e.parentElement));
        const hidden = e => e.closest('svg *, .katex-mathml, dialog, [id$="-sidebar"]');
        return [...document.body.querySelectorAll('*')]
            .filter(e => e.getBoundingClientRect().right > innerWidth + 1)
            .filter(e => !hidden(e) && !scrolls(e.parentElement))
            .map(e => e.outerHTML.slice(0, 150)); })()""",
    "what scrolls, but not from the keyboard": """[...document.querySelectorAll('article *')]
        .filter(e => e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 0)
        .filter(e => /auto|scroll/.test(getComputedStyle(e).overflowX) && e.tabIndex < 0)
        .filter(e => !e.querySelector('[tabindex="0"]')).map(e => e.outerHTML.slice(0, 150))""",
}


@pytest.fixture(scope="module")
def screens(browser: Browser) -> Iterator[dict[str, BrowserContext]]:
    """A desktop window for each theme, and a phone's window."""
    found = {theme: window(browser, color_scheme=theme, viewport=DESK) for theme in THEMES}
    found["phone"] = window(browser, viewport=PHONE, is_mobile=True)
    yield found
    for context in found.values():
        context.close()


@pytest.mark.parametrize("address", PAGES)
def test_a_page_on_a_desk(screens: dict[str, BrowserContext], address: str) -> None:
    opened = Opened(screens["light"], address)
    assert_complete(opened, ON_EVERY_SCREEN | ON_A_DESK)
    assert opened.violations() == []
    opened.page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    expect(opened.page.locator("html")).to_have_attribute("data-theme", "dark")
    assert opened.violations(("color-contrast", "link-in-text-block")) == []
    use(opened.page)
    assert opened.close() == []
    assert opened.outside() == []


@pytest.mark.parametrize("address", PAGES)
def test_a_page_on_a_phone(screens: dict[str, BrowserContext], server: str, address: str) -> None:
    opened = Opened(screens["phone"], address, server)
    assert_complete(opened, ON_EVERY_SCREEN | ON_A_PHONE)
    assert opened.violations(("target-size",)) == []
    assert opened.close() == []
    assert opened.outside() == []


def assert_complete(opened: Opened, checks: dict[str, str], root: Path = HTML) -> None:
    """Check that everything on the page is loaded, fits the window and is within the size limit."""
    opened.settle()
    opened.page.keyboard.press("Tab")  # the focus ring appears only for keyboard users
    found = {wrong: opened.page.evaluate(check) for wrong, check in checks.items()}
    assert {wrong: where for wrong, where in found.items() if where} == {}
    assert not opened.wide()
    assert_weight(opened, root)


def assert_weight(opened: Opened, root: Path) -> None:
    """Check that the files that the page requested stay within the budget."""
    weights = dict.fromkeys(BUDGET, 0)
    for url in {u.split("?")[0] for u in opened.requested if u.startswith(opened.base)}:
        path = root / unquote(urldefrag(url)[0].removeprefix(opened.base))
        if path.name not in ("searchindex.js", "searchtexts.js", "searchwords.js"):
            kind = path.suffix[1:] if path.suffix[1:] in BUDGET else "pictures"
            packed = path.suffix in (".woff2", ".png", ".jpg")
            content = path.read_bytes()
            weights[kind] += len(content if packed else gzip.compress(content))
    assert {kind: w for kind, w in weights.items() if w > 1000 * BUDGET[kind]} == {}
    assert min(weights[kind] for kind in ("html", "css", "js")) > 1000  # something was measured


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


@pytest.mark.parametrize("theme", THEMES)
def test_words_marked_by_a_search_are_readable_in_text_and_in_code(
    screens: dict[str, BrowserContext], theme: str
) -> None:
    opened = Opened(screens[theme], "book/03_single_head.html?highlight=softmax")
    opened.page.locator(".highlighted").first.wait_for(state="attached")
    pairs = opened.page.evaluate(
        """() => {
            const paint = new OffscreenCanvas(1, 1).getContext("2d", {willReadFrequently: true});
            const seen = (color) => {  // in any form the browser uses
                paint.fillStyle = color;
                paint.fillRect(0, 0, 1, 1);
                return [...paint.getImageData(0, 0, 1, 1).data].slice(0, 3).map(c => c / 255);
            };
            return [...document.querySelectorAll(".highlighted")].map(e => {
                const {color, backgroundColor} = getComputedStyle(e);
                return [seen(color), seen(backgroundColor), !!e.closest("pre")]; }); }"""
    )
    assert {in_code for *_, in_code in pairs} == {True, False}
    assert min(contrast(text, ground) for text, ground, _ in pairs) >= 4.5
    opened.close()


@pytest.mark.parametrize(
    ("words", "page", "shown"),
    [
        ("queries", "book/05_cross_attention.html", ["query"]),  # matched by its stem
        ("overfl", "book/appendix_sources.html", ["overflow"]),  # a part of a word
        ("注意力", "book/notation.html", ["注意力"]),  # two overlapping pairs
        ("multi 多头", "book/notation.html", ["multi", "多头"]),
    ],
)
def test_search_shows_the_words_in_their_context(
    screens: dict[str, BrowserContext], words: str, page: str, shown: list[str]
) -> None:
    opened = Opened(screens["light"], f"search.html?q={quote(words)}")
    results = opened.page.locator("#search-results li")
    results.first.wait_for()
    result = results.filter(has=opened.page.locator(f'a[href^="{page}"]')).first
    excerpt = result.locator("p.context").inner_text()
    marked = [mark.lower() for mark in result.locator("mark").all_inner_texts()]
    assert {mark[:4] for mark in marked} == {word[:4] for word in shown}
    assert set(shown) & set(marked)
    assert len("".join(marked)) < len(excerpt) / 2
    assert 100 < len(excerpt) < 330

    # the link leads to the very section that the excerpt is from
    opened.settle()
    result.locator("a").click()
    opened.page.wait_for_url(re.compile(re.escape(FOLDER + page)))
    anchor = unquote(urldefrag(opened.page.url)[1])
    section = opened.page.locator(f'[id="{anchor}"]' if anchor else "article")
    for mark in marked:
        assert mark in (section.text_content() or "").lower()
    assert opened.close() == []


@pytest.mark.parametrize(
    ("words", "page", "number"),
    [
        ("掩码", "book/06_masked_attention.html", "6.3"),
        ("残差连接", "book/08_transformer.html", "8.3"),
        ("residual connection", "book/08_transformer.html", "8.3"),
    ],
)
def test_a_search_for_a_word_of_the_glossary_finds_its_section_first(
    screens: dict[str, BrowserContext], words: str, page: str, number: str
) -> None:
    opened = Opened(screens["light"], f"search.html?q={quote(words)}")
    results = opened.page.locator("#search-results li")
    results.first.wait_for()
    opened.settle()
    assert results.locator('a[href^="book/notation.html"]').count()
    link = results.first.locator("a").first.get_attribute("href") or ""
    assert link.startswith(page)
    results.first.locator("a").first.click()
    opened.page.wait_for_url(re.compile(re.escape(FOLDER + page)))
    section = opened.page.locator(f'[id="{unquote(urldefrag(opened.page.url)[1])}"]')
    assert section.locator("h2").first.inner_text().splitlines()[-1].startswith(f"{number} ")
    assert opened.close() == []


def test_search_reports_words_that_it_does_not_find(screens: dict[str, BrowserContext]) -> None:
    opened = Opened(screens["light"], f"search.html?q={quote('力注')}")  # not in this order
    expect(opened.page.locator("main")).to_contain_text("did not match any documents")
    assert opened.close() == []


def test_a_second_search_does_not_mark_words_of_the_first(browser: Browser, server: str) -> None:
    context = window(browser)
    # Sphinx marks the words after a short delay; lengthen it until the results have arrived
    context.add_init_script(
        """window.waiting = 0;
        const wait = setTimeout;
        setTimeout = (f, ms) => {
            waiting += ms < 100;  // the dots of a search take longer, and never end
            return wait(() => { f(); waiting -= ms < 100; }, ms + 400);
        };"""
    )
    opened = Opened(context, "search.html?q=query", server)  # over HTTP, pages keep stored data
    page = opened.page
    page.locator("mark").first.wait_for()
    opened.settle()
    page.keyboard.type("keys")  # the field has the focus, and its text is selected
    page.keyboard.press("Enter")
    page.locator("mark", has_text="key").first.wait_for()
    opened.settle()
    wait_until(page, "() => window.waiting === 0")
    assert "query" in page.locator("#search-results").inner_text()
    assert page.locator(".highlighted").count() == 0
    assert {mark.lower()[:3] for mark in page.locator("mark").all_inner_texts()} == {"key"}

    opened.settle()
    page.locator("#search-results a").first.click()
    page.locator(".highlighted:visible").first.wait_for()
    page.locator(".highlight-link a").first.click()
    expect(page.locator(".highlighted")).to_have_count(0)
    assert opened.close() == []
    context.close()


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


def test_the_search_box_offers_sections(screens: dict[str, BrowserContext]) -> None:
    page = Opened(screens["light"], "book/index.html").page
    page.keyboard.press("Control+k")
    page.keyboard.type("cross attention")
    offers = page.locator("#pst-search-dialog li a")
    expect(offers.first).to_have_text(re.compile("cross-attention", re.I))
    assert offers.count() <= 6
    offers.first.click()
    expect(page.locator("article")).to_contain_text(re.compile("cross-attention", re.I))
    page.close()


def test_the_next_hint_comes_after_the_last(screens: dict[str, BrowserContext]) -> None:
    page = Opened(screens["light"], "book/03_single_head.html").page
    hints = page.locator(".hints").first.locator(":scope > details")
    shown = "hints => hints.map(hint => hint.checkVisibility())"
    assert hints.evaluate_all(shown) == [True, *[False] * (hints.count() - 1)]
    hints.first.locator("summary").click()
    expect(hints.nth(1)).to_be_visible()
    assert hints.evaluate_all(shown)[2:] == [False] * (hints.count() - 2)
    page.close()


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


def test_the_search_is_not_larger_than_its_budget() -> None:
    files = [HTML / "searchindex.js", HTML / "searchtexts.js"]
    weight = sum(len(gzip.compress(file.read_bytes())) for file in files)
    assert 10_000 < weight < 1000 * SEARCH_BUDGET * len(CHAPTERS)


def test_the_style_sheet_has_the_themes_rules_in_a_layer_and_then_the_books() -> None:
    authors, rest = (HTML / "_static" / "site.css").read_text("utf8").split("@layer theme {")
    assert authors.startswith("/*!")
    assert ":root{--role-" in rest
    assert "/*" not in rest
    sheets = {f"css/{path.name}": path for path in (ROOT / "press/static/css").iterdir()}
    config = yaml.safe_load((ROOT / "_config.yml").read_text("utf8"))
    assert set(sheets) == set(config["sphinx"]["config"]["html_css_files"])
    book = "".join(path.read_text("utf8") for path in sheets.values())
    assert [name for name in re.findall(r"--book-[\w-]+", book) if f"{name}:" not in rest] == []


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
        (f"{c.path.stem}.html", c.short_title, f"{c.minutes}\xa0min") for c in chapters()
    ]


def test_the_cheat_sheet_prints_on_one_page(browser: Browser) -> None:
    with window(browser) as context:
        page = context.new_page()
        page.goto(FOLDER + "book/cheat_sheet.html")
        paper = page.pdf(prefer_css_page_size=True)
    assert len(re.findall(rb"/Type /Page\b", paper)) == 1
    assert re.search(rb"/MediaBox \[0 0 841", paper), "the page is not in landscape"
