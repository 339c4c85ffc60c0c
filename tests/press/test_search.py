"""The search on the built pages: its box, its results, and the words that it marks."""

import gzip
import re
from urllib.parse import quote, unquote, urldefrag

import pytest
from playwright.sync_api import Browser, BrowserContext, expect

from tests.support.contrast import contrast
from tests.support.pages import (
    FOLDER,
    HTML,
    THEMES,
    Opened,
    ids,
    parsed,
    wait_until,
    window,
)

pytestmark = pytest.mark.usefixtures("book")

SEARCH_BUDGET = 400_000  # bytes that the first use of the search may load, compressed


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
        ("queries", "book/01_library.html", ["query"]),  # matched by its stem
        ("overfl", "book/appendix_sources.html", ["overflow"]),  # a part of a word
        (
            "注意力",
            "book/10_efficient_attention.html",
            ["注意力", "attention"],
        ),  # pairs, and the English word
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
    assert 50 < len(excerpt) < 560

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


def test_search_offers_the_nearest_questions_if_it_finds_nothing(
    screens: dict[str, BrowserContext],
) -> None:
    opened = Opened(screens["light"], f"search.html?q={quote('softmaxification')}")
    status = opened.page.get_by_role("status")
    expect(status).to_contain_text("Nothing was found. Perhaps you mean")
    questions = opened.page.locator("#search-results li p.question")
    assert questions.count() == 5
    assert "softmax" in questions.first.inner_text()
    opened.page.locator("main form.bd-search input").fill("xyzzy")  # no question has "xyz"
    expect(status).to_have_text("Nothing was found.")
    assert questions.count() == 0
    assert opened.close() == []


def test_search_says_how_it_read_the_query(screens: dict[str, BrowserContext]) -> None:
    opened = Opened(screens["light"], f"search.html?q={quote('GQA 掩码 normalizatoin')}")
    expect(opened.page.get_by_role("status")).to_contain_text(
        "Read as: normalizatoin → normalization, gqa → grouped-query attention, 掩码 → mask."
    )
    assert opened.close() == []


def test_search_says_which_words_are_not_in_the_book(screens: dict[str, BrowserContext]) -> None:
    opened = Opened(screens["light"], f"search.html?q={quote('vLLM and LoRA for atention')}")
    expect(opened.page.get_by_role("status")).to_contain_text(
        "Read as: atention → attention. Not in the book: vLLM, LoRA (only in names such as "
        "kv_lora_rank). Sections found:"
    )
    assert opened.close() == []


def test_the_id_of_an_exercise_leads_to_its_box(screens: dict[str, BrowserContext]) -> None:
    opened = Opened(screens["light"], "search.html?q=06.weights")
    opened.page.locator("#search-results li a").first.click()
    opened.page.wait_for_url(re.compile("book/06_masked_attention.html#exercise-06-weights$"))
    assert opened.page.locator(":target .admonition-title").inner_text().startswith("Exercise 06.w")
    opened.close()


def test_the_exercises_of_the_symptoms_are_links_to_their_boxes() -> None:
    rows = parsed(HTML / "book" / "symptoms.html").select("tbody tr")
    cells = [row.select("td")[3] for row in rows]
    for cell in (cell for cell in cells if cell.get_text() != "–"):
        page, anchor = urldefrag(cell.a["href"])
        assert anchor == f"exercise-{re.sub('[._]', '-', cell.get_text())}"
        assert anchor in ids(HTML / "book" / page)
    assert len(cells) > 60


def test_search_groups_by_chapter_when_asked_and_shows_all_when_asked(
    screens: dict[str, BrowserContext],
) -> None:
    page = Opened(screens["light"], "search.html?q=mask").page
    results = page.locator("#search-results")
    expect(results.locator("li")).to_have_count(20)
    assert results.locator("h2").count() == 0
    page.get_by_role("button", name=re.compile("Show all")).click()
    assert results.locator("li").count() > 20
    assert page.evaluate("document.activeElement.matches('#search-results li:nth-child(21) > a')")
    page.get_by_label("Group the results by chapter").check()
    headings = results.locator("h2").all_inner_texts()
    assert len(headings) == len(set(headings)) > 5
    page.close()


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
    assert all("key" in mark.lower() for mark in page.locator("mark").all_inner_texts())

    opened.settle()
    page.locator("#search-results a").first.click()
    page.locator(".highlighted:visible").first.wait_for()
    page.locator(".highlight-link a").first.click()
    expect(page.locator(".highlighted")).to_have_count(0)
    assert opened.close() == []
    context.close()


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


@pytest.mark.parametrize("width", [992, 1280])
def test_the_search_button_has_room_in_the_narrowest_sidebar(browser: Browser, width: int) -> None:
    with window(browser, viewport={"width": width, "height": 900}) as context:
        page = context.new_page()
        page.goto(FOLDER + "book/01_library.html")
        button = page.locator(".bd-sidebar-primary .search-button-field")
        assert button.locator("i").bounding_box()["width"] > 15
        assert button.evaluate("e => e.scrollWidth - e.clientWidth") == 0


def test_a_page_loads_the_search_when_it_is_opened_and_no_more_than_its_budget(
    browser: Browser, server: str
) -> None:
    context = window(browser)
    asked: list[str] = []
    context.on("request", lambda request: asked.append(request.url))
    page = Opened(context, "book/index.html", server).page
    assert not [url for url in asked if "search" in url]
    page.keyboard.press("Control+k")
    page.keyboard.type("GQA")
    offers = page.locator("#pst-search-dialog li a")
    expect(offers.first).to_contain_text("11.4 ")
    files = {url.removeprefix(server).split("?")[0].lstrip("/") for url in asked if "search" in url}
    assert files == {"searchtexts.js", "_static/search.js", "_static/minisearch/minisearch.js"}
    weight = sum(len(gzip.compress((HTML / file).read_bytes())) for file in files)
    assert 100_000 < weight < SEARCH_BUDGET
    context.close()


def test_only_whole_words_of_the_text_are_marked(screens: dict[str, BrowserContext]) -> None:
    opened = Opened(screens["light"], "book/06_masked_attention.html?highlight=all")
    marks = opened.page.locator(".highlighted")
    marks.first.wait_for(state="attached")
    wait_until(opened.page, "!document.querySelector('nav .highlighted')")
    pieces = marks.evaluate_all(
        "marks => marks.map(({previousSibling, textContent, nextSibling}) =>"
        " [previousSibling?.textContent, textContent, nextSibling?.textContent])"
    )
    around = [f"{(before or ' ')[-1]}{after or ' '}"[:2] for before, _, after in pieces]
    assert len(pieces) > 5
    assert not [two for two in around if re.search("[a-z]", two, re.I)]
    opened.close()


def test_the_arrow_keys_reach_what_the_search_box_offers(
    screens: dict[str, BrowserContext],
) -> None:
    page = Opened(screens["light"], "book/index.html").page
    page.keyboard.press("Control+k")
    page.keyboard.type("cache")
    offers = page.locator("#pst-search-dialog li a")
    offers.first.wait_for()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(offers.nth(1)).to_be_focused()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    expect(page.locator("#pst-search-dialog input")).to_be_focused()
    page.close()
