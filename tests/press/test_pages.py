"""The built book, opened in a real browser from its folder, with the network blocked.

Every page must be complete there: nothing asked of the network, no error, formulas set, pictures
loaded and described, links that lead somewhere, search that finds, no violation that axe-core sees
in either theme, nothing too wide for a phone, and no page heavier than its budget.
"""

import functools
import gzip
import os
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote, unquote, urldefrag, urlparse
from urllib.request import url2pathname

import pytest
import yaml
from playwright.sync_api import Browser, BrowserContext, Page

from attnbook.colours import ROLES
from tools.common import ROOT

HTML = ROOT / "_build" / "html"
AXE = ROOT / "tests" / "support" / "vendor" / "axe.min.js"
THEMES = ("light", "dark")
PHONE = {"width": 390, "height": 844}

# The most that a page may weigh, in kB: text as a web host sends it, compressed. Index and texts
# for the search grow with the book, and only the search page loads them.
BUDGET = {"html": 80, "css": 30, "js": 30, "woff2": 150, "pictures": 150}
SEARCH_BUDGET = 20  # for each page of the book


def pages_in(toc: object) -> list[str]:
    """The pages that the table of contents names."""
    if isinstance(toc, list):
        return [page for part in toc for page in pages_in(part)]
    if isinstance(toc, dict):
        named = [str(toc[key]) for key in ("root", "file") if key in toc]
        return named + [page for value in toc.values() for page in pages_in(value)]
    return []


pytestmark = pytest.mark.usefixtures("book")

CHAPTERS = [f"{p}.html" for p in pages_in(yaml.safe_load((ROOT / "_toc.yml").read_text("utf8")))]
PAGES = [*CHAPTERS, "search.html"]


# What the page's policy refuses is an error on the console, also where the browser says nothing
REPORT = """
    addEventListener("securitypolicyviolation", (event) =>
        console.error(`refused: ${event.effectiveDirective} ${event.blockedURI} ${event.sample}`));
"""

# Every section and every picture, also those that wait until they are scrolled to. (A style sheet
# made like this is none of the page's, so that its policy does not refuse it.)
SHOW_ALL = """async () => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync("section { content-visibility: visible !important }");
    document.adoptedStyleSheets.push(sheet);
    for (const image of document.images) image.loading = "eager";
    while (![...document.images].every((image) => image.complete))
        await new Promise((done) => setTimeout(done, 10));
    await document.fonts.ready;
}"""


class Opened:
    """A page in the browser, and what happened while it was open."""

    def __init__(self, context: BrowserContext, address: str, folder: Path = HTML) -> None:
        self.requested: list[str] = []
        self.errors: list[str] = []
        self.page: Page = context.new_page()
        self.page.on("request", lambda request: self.requested.append(request.url))
        self.page.on("requestfailed", lambda request: self.errors.append(f"lost: {request.url}"))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", self.note)
        self.page.add_init_script(REPORT)
        self.page.goto(address if "://" in address else (folder / address).as_uri())
        self.page.wait_for_load_state("load")
        self.page.evaluate(SHOW_ALL)

    def note(self, message: object) -> None:
        """Keep a console message if it is an error or a warning."""
        if message.type in ("error", "warning"):  # type: ignore[attr-defined]
            self.errors.append(message.text)  # type: ignore[attr-defined]


def context(browser: Browser, **options: object) -> BrowserContext:
    """A browser window that the network cannot reach."""
    window = browser.new_context(offline=True, **options)  # type: ignore[arg-type]
    window.route(re.compile(r"^(?!file:|data:)"), lambda route: route.abort())
    return window


@pytest.fixture(scope="session", params=THEMES)
def theme(request: pytest.FixtureRequest) -> str:
    """light, then dark."""
    return str(request.param)


@pytest.fixture(scope="session")
def windows(browser: Browser) -> dict[str, BrowserContext]:
    """One window for each theme."""
    return {theme: context(browser, color_scheme=theme) for theme in THEMES}


@pytest.fixture(scope="session", params=PAGES)
def opened(
    request: pytest.FixtureRequest, windows: dict[str, BrowserContext], theme: str
) -> Opened:
    """Each page in each theme; opened once for all tests that only look at it."""
    return Opened(windows[theme], request.param)


def test_nothing_leaves_the_folder_and_nothing_fails(opened: Opened) -> None:
    outside = [u for u in opened.requested if not u.startswith((HTML.as_uri(), "data:"))]
    assert outside == []
    assert opened.errors == []


def test_formulas_are_set_and_the_text_is_readable(opened: Opened) -> None:
    page = opened.page
    assert page.locator("span.math:not(:has(.katex)), div.math:not(:has(.katex))").count() == 0
    assert page.locator(".katex-error").count() == 0
    failed = page.evaluate(
        "[...document.fonts].filter(f => f.status === 'error').map(f => f.family)"
    )
    assert [f for f in failed if "Stand-in" not in f] == []  # those are the reader's own
    text = page.evaluate(
        """() => {
            const copy = document.querySelector('main').cloneNode(true);
            copy.querySelectorAll('pre, code, script, .katex').forEach(e => e.remove());
            return copy.textContent;
        }"""
    )
    assert re.findall(r"\$|\\[a-zA-Z]+", text) == []


def test_nothing_is_too_wide_for_a_desk(opened: Opened) -> None:
    assert opened.page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


def test_what_is_printed_fits_a_desk(opened: Opened) -> None:
    # source code may be wider, and the Rosetta table of eight columns
    cut = opened.page.evaluate(
        """[...document.querySelectorAll(
               '.output:is(.stream, .text_plain) pre,' +
               '.pst-scrollable-table-container:not(:has(th:nth-child(7)))')]
            .filter(e => e.scrollWidth > e.clientWidth + 8)
            .map(e => e.innerText.slice(0, 100))"""
    )
    assert cut == []


def test_pictures_load_and_say_what_they_show(opened: Opened) -> None:
    pictures = opened.page.evaluate(
        """[...document.querySelectorAll('article img')].map(
               i => ({source: i.src, alt: i.alt, width: i.naturalWidth}))"""
    )
    assert [p["source"] for p in pictures if p["width"] == 0] == []
    file_name = re.compile(r"^$|^[\w./-]+\.(svg|png|jpe?g)$|^_build")
    assert [p["source"] for p in pictures if file_name.search(p["alt"])] == []


def test_axe_finds_nothing(opened: Opened, theme: str) -> None:
    page = opened.page
    assert page.evaluate("document.documentElement.dataset.theme") == theme
    page.evaluate(AXE.read_text("utf8"))
    # the drawn half of a formula is hidden from screen readers; its colours are computed below
    run = "axe.run({exclude: '.katex-html'}).then(found => found.violations)"
    violations = page.evaluate(run)
    found = [(v["id"], node["html"][:200]) for v in violations for node in v["nodes"]]
    assert found == []


def luminance(colour: str) -> float:
    """Relative luminance of #RRGGBB (WCAG 2.2)."""
    parts = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """Contrast of two colours, from 1 to 21 (WCAG 2.2)."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_text_stands_out_from_its_background(
    windows: dict[str, BrowserContext], theme: str
) -> None:
    # axe gives up on text that overlaps, as parts of a formula do; so every colour is computed
    page = Opened(windows[theme], CHAPTERS[0]).page
    value = "name => getComputedStyle(document.documentElement).getPropertyValue(name).trim()"
    names = ["text", "muted", "accent", "code"]
    code = ["keyword", "string", "number", "comment", "name", "builtin"]
    variables = [f"--role-{n}" for n in ROLES] + [f"--book-{n}" for n in names]
    variables += [f"--code-{n}" for n in code]
    for variable in variables:
        for background in ("--book-page", "--book-surface"):
            pair = page.evaluate(value, variable), page.evaluate(value, background)
            assert contrast(*pair) >= 4.5, (variable, background, pair)


def test_formulas_wear_the_colours_of_the_roles(
    windows: dict[str, BrowserContext], theme: str
) -> None:
    page = Opened(windows[theme], "book/notation.html").page
    for name, role in ROLES.items():
        wanted = role.light if theme == "light" else role.dark
        shown = page.locator(f".katex-html .role-{name}").first.evaluate(
            "e => getComputedStyle(e).color.match(/\\d+/g).map(Number)"
        )
        assert "#{:02X}{:02X}{:02X}".format(*shown) == wanted.upper(), name


@pytest.fixture(scope="session", params=PAGES)
def on_phone(request: pytest.FixtureRequest, browser: Browser) -> Page:
    """Each page on a phone."""
    return Opened(context(browser, viewport=PHONE, is_mobile=True), request.param).page


def test_nothing_is_too_wide_for_a_phone(on_phone: Page) -> None:
    too_wide = on_phone.evaluate(
        """width => {
            const scrolls = e => e && (/auto|scroll/.test(getComputedStyle(e).overflowX)
                                       || scrolls(e.parentElement));
            const hidden = e => e.closest('svg *, .katex-mathml, dialog, [id$="-sidebar"]');
            return [...document.body.querySelectorAll('*')]
                .filter(e => e.getBoundingClientRect().right > width + 1)
                .filter(e => !hidden(e) && !scrolls(e.parentElement))
                .map(e => e.outerHTML.slice(0, 150));
        }""",
        PHONE["width"],
    )
    assert too_wide == []
    assert on_phone.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_what_scrolls_sideways_can_be_reached_from_the_keyboard(on_phone: Page) -> None:
    unreachable = on_phone.evaluate(
        """[...document.querySelectorAll('article *')]
            .filter(e => e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 0)
            .filter(e => /auto|scroll/.test(getComputedStyle(e).overflowX) && e.tabIndex < 0)
            .filter(e => !e.querySelector('[tabindex="0"]'))
            .map(e => e.outerHTML.slice(0, 150))"""
    )
    assert unreachable == []


FOUND = '#search-results a[href^="{}"]'


def test_search_finds_english_and_chinese_words(browser: Browser) -> None:
    window = context(browser)
    for words, selector in [
        ("softmax", FOUND.format("book/03_single_head.html")),
        ("projections", FOUND.format("book/notation.html")),
        ("注意力", FOUND.format("book/notation.html")),
        ("前馈网络", FOUND.format("book/notation.html")),  # rarely in a dictionary
        ("头", FOUND.format("book/notation.html")),
        ("力注", "text=did not match any documents"),  # 注意力 read backwards
    ]:
        opened = Opened(window, "book/index.html")
        opened.page.keyboard.press("Control+k")
        opened.page.keyboard.type(words)
        opened.page.keyboard.press("Enter")
        opened.page.wait_for_selector(selector, timeout=5000)
        assert opened.errors == []
        opened.page.close()
    window.close()


@pytest.mark.parametrize(
    ("words", "page", "shown"),
    [
        ("soft look-up", "book/01_library.html", ["soft", "look", "up"]),
        ("queries", "book/05_cross_attention.html", ["query"]),  # by its stem
        ("overfl", "book/appendix_sources.html", ["overflow"]),  # a part of a word
        ("注意力", "book/notation.html", ["注意力"]),  # two pairs, which overlap
        ("位置编码", "book/07_positional_encoding.html", ["位置编码"]),
        ("头", "book/notation.html", ["头"]),
        ("multi 多头", "book/notation.html", ["multi", "多头"]),
    ],
)
def test_search_shows_the_words_in_their_context(
    browser: Browser, words: str, page: str, shown: list[str]
) -> None:
    window = context(browser)
    opened = Opened(window, f"{(HTML / 'search.html').as_uri()}?q={quote(words)}")
    results = opened.page.locator("#search-results li")
    results.first.wait_for()
    result = results.filter(has=opened.page.locator(f'a[href^="{page}"]')).first
    excerpt = result.locator("p.context").inner_text()
    marked = [mark.lower() for mark in result.locator("mark").all_inner_texts()]
    stems = {word[:4] for word in shown}
    assert {mark[:4] for mark in marked} == stems
    assert set(shown) & set(marked)
    assert len("".join(marked)) < len(excerpt) / 2
    assert 100 < len(excerpt) < 330

    # the link leads to the very section that the excerpt is from
    result.locator("a").click()
    assert opened.page.url.startswith((HTML / page).as_uri())
    anchor = unquote(urldefrag(opened.page.url)[1])
    section = opened.page.locator(f'[id="{anchor}"]' if anchor else "article")
    for mark in marked:
        assert mark in (section.text_content() or "").lower()
    assert opened.errors == []
    window.close()


def test_a_second_search_marks_nothing_of_the_first(browser: Browser) -> None:
    window = context(browser)
    # Sphinx marks a little later; here that is after the results have come
    window.add_init_script("const wait = setTimeout; setTimeout = (f, ms) => wait(f, ms + 400);")
    opened = Opened(window, f"{(HTML / 'search.html').as_uri()}?q=query")
    page = opened.page
    page.locator("mark").first.wait_for()
    page.keyboard.type("keys")  # the field has the cursor, and its text is selected
    page.keyboard.press("Enter")
    page.locator("mark", has_text="key").first.wait_for()
    page.wait_for_timeout(800)
    assert "query" in page.locator("#search-results").inner_text()
    assert page.locator(".highlighted").count() == 0
    assert {mark.lower()[:3] for mark in page.locator("mark").all_inner_texts()} == {"key"}

    page.locator("#search-results a").first.click()
    page.locator(".highlighted").first.wait_for()
    page.locator(".highlight-link a").first.click()
    assert page.locator(".highlighted").count() == 0
    assert opened.errors == []
    window.close()


def test_the_theme_can_be_switched_from_the_keyboard(browser: Browser) -> None:
    window = context(browser, color_scheme="light")
    page = Opened(window, "book/index.html").page
    theme = "document.documentElement.dataset.theme"
    page.locator(".theme-switch-button").focus()
    assert page.evaluate(theme) == "light"
    page.keyboard.press("Enter")
    assert page.evaluate(theme) == "dark"
    page.reload()
    assert page.evaluate(theme) == "dark"
    window.close()


@pytest.mark.parametrize("width", [1280, PHONE["width"]])
def test_the_focus_is_seen_on_every_button_of_the_header(
    browser: Browser, theme: str, width: int
) -> None:
    size = {"width": width, "height": 844}
    window = context(browser, color_scheme=theme, viewport=size)
    page = Opened(window, CHAPTERS[-1]).page
    page.keyboard.press("Tab")  # the ring is for those who use the keyboard
    buttons = page.locator(".bd-header-article :is(a, button):visible").all()
    assert len(buttons) >= 2
    for button in buttons:
        button.focus()
        ring = button.evaluate(
            "e => [getComputedStyle(e).outlineStyle, parseFloat(getComputedStyle(e).outlineWidth)]"
        )
        assert ring == ["solid", 3], button.get_attribute("aria-label")
    window.close()


def test_a_choice_opens_from_the_keyboard_and_closes_the_other(browser: Browser) -> None:
    window = context(browser)
    page = Opened(window, "book/03_single_head.html").page
    first, second = (page.locator("details.choice").nth(i) for i in (0, 1))
    explanation = first.locator("p").first
    assert not explanation.is_visible()
    first.locator("summary").focus()
    page.keyboard.press("Enter")
    assert explanation.is_visible()
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    assert second.locator("p").first.is_visible()
    assert not explanation.is_visible()
    assert page.locator("details.answer[open]").count() == 0
    window.close()


@pytest.mark.parametrize("address", CHAPTERS)
def test_a_link_into_a_page_arrives_there(browser: Browser, address: str) -> None:
    # sections are laid out only when they come near: the way down must be right all the same
    window = context(browser)
    page = window.new_page()
    page.goto((HTML / address).as_uri())
    links = page.locator("#pst-page-toc-nav a")
    if links.count():
        links.last.click()
        heading = page.locator("article section h2, article section h3").last
        page.wait_for_timeout(300)
        box = heading.bounding_box()
        assert box
        at_the_end = page.evaluate("scrollY + innerHeight > document.body.scrollHeight - 5")
        assert at_the_end or -5 < box["y"] < 300
        assert box["y"] < 720
    window.close()


def test_the_contents_open_on_a_phone_from_the_keyboard(browser: Browser) -> None:
    window = context(browser, viewport=PHONE)
    page = Opened(window, "book/index.html").page
    link = page.locator("#pst-primary-sidebar-modal a, #pst-primary-sidebar a").last
    assert not link.is_visible()
    page.locator(".primary-toggle").focus()
    page.keyboard.press("Enter")
    link.wait_for(state="visible")
    page.keyboard.press("Escape")
    link.wait_for(state="hidden")
    window.close()


class Links(HTMLParser):
    """The links and the anchors of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.anchors: set[str] = set()
        self.feed(path.read_text("utf8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what the tag links to, and its id."""
        for name, value in attrs:
            if name in ("href", "src") and value:
                self.links.add(value)
            elif name == "id" and value:
                self.anchors.add(value)


read_links = functools.cache(Links)


@pytest.mark.parametrize("address", ["index.html", *PAGES])
def test_links_lead_somewhere(address: str) -> None:
    broken = []
    for link in read_links(HTML / address).links:
        if re.match(r"https?:|mailto:|data:", link):
            continue
        place, anchor = urldefrag(link)
        path = Path(os.path.normpath((HTML / address).parent / unquote(place.split("?")[0])))
        path = path if place else HTML / address
        if not path.is_file() or (anchor and unquote(anchor) not in read_links(path).anchors):
            broken.append(link)
    assert broken == []


def test_no_page_is_heavier_than_its_budget(opened: Opened) -> None:
    weights = dict.fromkeys(BUDGET, 0)
    for url in {
        u for u in opened.requested if not re.search(r"^data:|/search(index|texts)\.js", u)
    }:
        path = Path(url2pathname(urlparse(url).path))
        kind = path.suffix.lstrip(".") if path.suffix.lstrip(".") in BUDGET else "pictures"
        packed = path.suffix in (".woff2", ".png", ".jpg")
        weights[kind] += len(path.read_bytes() if packed else gzip.compress(path.read_bytes()))
    heavy = {k: f"{w / 1000:.0f} kB" for k, w in weights.items() if w > 1000 * BUDGET[k]}
    assert heavy == {}
    assert min(weights[kind] for kind in ("html", "css", "js")) > 1000  # it did measure


def test_the_search_is_not_heavier_than_its_budget() -> None:
    files = [HTML / "searchindex.js", HTML / "searchtexts.js"]
    weight = sum(len(gzip.compress(file.read_bytes())) for file in files)
    assert 10_000 < weight < 1000 * SEARCH_BUDGET * len(CHAPTERS)
