"""The Chinese edition: the same pages, in Chinese, with the same anchors and a working search.

Most untranslated sentences do not make these tests fail; `make check-zh` lists them all.
"""

import re
from collections import Counter
from urllib.parse import quote, unquote, urldefrag, urljoin

import pytest
from lxml.html import HtmlElement
from playwright.sync_api import BrowserContext, expect

from attnbook.language import HAN
from manuscript.common import ROOT
from press import editions, pack
from tests.press.test_search_answers import ranks
from tests.support.complete import ON_A_DESK, ON_A_PHONE, ON_EVERY_SCREEN, assert_complete
from tests.support.pages import (
    CHAPTERS,
    COLORS,
    HTML,
    PAGES,
    Opened,
    ids,
    parsed,
    tree,
)

# The Chinese edition first: meanwhile, another worker builds the English one.
pytestmark = pytest.mark.usefixtures("chinese_book", "book")

CHINESE = ROOT / "_build" / "zh_CN" / "_build" / "html"
BASE = CHINESE.as_uri() + "/"
IN_FULL = ["book/index.html", "book/08_transformer.html"]
BRIEFLY = ["LaTeX in the text", "pictures that are missing", "what is too wide"]
FORMULAS = ["formulas that are cut", "punctuation at the start of a line, after a formula"]


@pytest.mark.parametrize("address", IN_FULL)
def test_a_chinese_page_is_complete(screens: dict[str, BrowserContext], address: str) -> None:
    for screen, checks in ("light", ON_A_DESK), ("phone", ON_A_PHONE):
        opened = Opened(screens[screen], address, BASE)
        assert_complete(opened, ON_EVERY_SCREEN | checks, CHINESE)
        assert opened.violations() == []
        opened.page.emulate_media(color_scheme="dark", reduced_motion="reduce")
        expect(opened.page.locator("html")).to_have_attribute("data-theme", "dark")
        assert opened.violations(COLORS) == []
        assert opened.close() == []
        assert opened.outside() == []


@pytest.mark.parametrize("address", [page for page in PAGES if page not in IN_FULL])
def test_a_chinese_page_fits_a_phone(screens: dict[str, BrowserContext], address: str) -> None:
    opened = Opened(screens["phone"], address, BASE)
    opened.settle()
    checks = ON_EVERY_SCREEN | ON_A_PHONE
    found = {wrong: opened.page.evaluate(checks[wrong]) for wrong in BRIEFLY}
    assert {wrong: where for wrong, where in found.items() if where} == {}
    assert not opened.wide()
    assert opened.close() == []
    assert opened.outside() == []


@pytest.mark.parametrize("screen", ["light", "phone"])
def test_no_chinese_line_begins_with_punctuation_after_a_formula(
    screens: dict[str, BrowserContext], screen: str
) -> None:
    found: dict[str, list[str]] = {}
    formulas = 0
    for address in CHAPTERS:
        opened = Opened(screens[screen], address, BASE)
        opened.settle()
        formulas += opened.page.locator("article span.math").count()
        for wrong in FORMULAS:
            found[f"{address}: {wrong}"] = opened.page.evaluate(ON_EVERY_SCREEN[wrong])
        assert opened.close() == []
    assert {where: what for where, what in found.items() if what} == {}
    assert formulas > 500


@pytest.mark.parametrize("address", CHAPTERS)
def test_a_chinese_page_has_the_sections_of_the_english_one(address: str) -> None:
    english, chinese = tree(HTML / address), tree(CHINESE / address)
    sections = "//article//section/@id"
    assert chinese.xpath(sections) == english.xpath(sections)
    here, there = counts(chinese), counts(english)
    for kind in ("predict", "second-reading", "attn-choice", "hints", "svg", "highlight", "katex"):
        assert here[kind] == there[kind], kind
    assert chinese.get("lang") == "zh-CN"
    assert re.search(f"[{HAN}]", chinese.findtext(".//h1"))
    text = "//article//p//text()[not(ancestor::code or ancestor::*[contains(@class, 'katex')])]"
    assert "**" not in "".join(chinese.xpath(text))


@pytest.mark.parametrize("address", PAGES)
def test_the_tooltips_and_the_search_box_of_a_chinese_page_are_chinese(address: str) -> None:
    said = tree(CHINESE / address).xpath("//body//@title | //@placeholder | //@data-bs-title")
    assert said
    assert [words for words in said if not re.search(f"[{HAN}]", words)] == []


def counts(page: HtmlElement) -> Counter[str]:
    """Count an article's elements by tag and by class, without what is explained below outputs."""
    elements = page.xpath("//article//*[not(ancestor-or-self::p[starts-with(., '输出中的词')])]")
    return Counter(name for e in elements for name in (e.tag, *e.classes))


def test_every_link_of_a_chinese_page_leads_somewhere() -> None:
    lost = []
    for page in PAGES:
        for link in tree(CHINESE / page).xpath("//a/@href"):
            address, anchor = urldefrag(urljoin(page, link))
            if address in PAGES and anchor and unquote(anchor) not in ids(CHINESE / address):
                lost.append((page, link))
            elif address not in PAGES and not re.match(r"\w+:", address):
                lost += [(page, link)] if not (CHINESE / unquote(address)).exists() else []
    assert lost == []


def test_its_search_finds_chinese(screens: dict[str, BrowserContext]) -> None:
    opened = Opened(screens["light"], f"search.html?q={quote('残差连接')}", BASE)
    opened.page.locator("#search-results li").first.wait_for()
    opened.settle()
    link = opened.page.locator("#search-results li a").first
    assert (link.get_attribute("href") or "").startswith("book/08_transformer.html#")
    expect(opened.page.locator("#search-results mark").first).to_contain_text("残差")
    assert opened.close() == []


ASKED = {
    "为什么叫查询、键和值": "1.2 3.3",
    "为什么要除以根号dk": "3.8",
    "怎么处理填充": "6.8",
    "怎样处理填充": "6.8",
    "位置编码为什么是相加不是拼接": "7.6",
    "nn.Transformer 要传哪些掩码": "6.14",
    "src_mask 和 src_key_padding_mask 的区别": "6.7",
    "填充掩码导致 NaN": "6.10",
    "怎么得到注意力权重 output_attentions": "10.14",
    "注意力权重是 1.1111": "4.8",
    "遮罩要不要遮行": "6.8",
    "fp16 溢出 -1e9": "6.6",
    "先 view 再 transpose": "4.6",
    "前归一化还是后归一化": "8.10",
    "解码器输入为什么右移一位": "9.3 9.4",
    "训练损失很低但生成乱码": "6.13 9.4",
    "GQA 是什么": "11.4",
    "旋转位置嵌入 相邻还是前后两半": "11.7",
    "KV缓存 为什么不缓存查询": "11.2",
    "第一个词元的注意力特别大": "11.10 11.11",
    "束搜索和贪婪解码": "9.13 9.7",
    "每个头的维度为什么变小": "4.9",
    "多头有什么用": "4.1",
    "怎么防止模型偷看后面的词": "6.3",
    "注意力 显存 太大": "10.1 10.3 10.5",
    "位置编码 外推": "11.9",
    "loss 不下降": "15.8",
    "模型不看顺序": "7.1",
    "softmax 维度错": "3.7",
    "注意力权重相同": "15.11",
    "flash attention 有什么用": "10.5",
    "多头注意力 view transpose 区别": "4.6",
    "怎么检查我自己的注意力层": "15.9",
    "检查自己的代码": "15.9",
}


def test_its_search_finds_what_readers_ask(screens: dict[str, BrowserContext]) -> None:
    page = Opened(screens["light"], "search.html", BASE).page
    found = ranks(page, ASKED)
    assert sum(rank == 1 for rank in found.values()) >= 29, found
    assert sum(rank <= 3 for rank in found.values()) >= 32, found
    page.close()


def test_its_search_says_in_chinese_how_it_read_a_query(screens: dict[str, BrowserContext]) -> None:
    opened = Opened(screens["light"], f"search.html?q={quote('GQA 图神经网络')}", BASE)
    expect(opened.page.get_by_role("status")).to_contain_text(
        "读作：gqa → 分组查询注意力。 书中没有：图神经网络。 找到"
    )
    assert opened.close() == []


def test_the_link_to_the_other_edition_leads_to_the_section_being_read(
    screens: dict[str, BrowserContext], server: str
) -> None:
    page, address = screens["light"].new_page(), f"{server}book/03_single_head.html"
    english = (HTML / "book" / "03_single_head.html").read_text("utf-8")
    link = '<span class="editions"><a href="other.html">中文</a></span>'
    page.route(address, lambda route: route.fulfill(body=editions.SWITCH.sub(link, english)))
    page.route(f"{server}book/other.html*", lambda route: route.fulfill(body="other"))
    page.goto(address)
    section = page.locator("#pst-page-toc-nav a").nth(5).get_attribute("href") or ""
    page.locator(section).evaluate("section => section.scrollIntoView()")
    page.locator("#pst-page-toc-nav a[aria-current]").wait_for()
    page.evaluate(  # the window's name outlives the page
        """addEventListener("click", () => {
            window.name = document.querySelector("#pst-page-toc-nav a[aria-current]").hash;
        }, true)"""
    )
    page.locator(".editions a").click()
    page.wait_for_url(f"{server}book/other.html#*")
    assert page.url == f"{server}book/other.html{page.evaluate('window.name')}"
    page.close()


def test_editions_are_linked_and_a_zip_has_one(tmp_path, monkeypatch) -> None:
    one = '<span class="editions"></span><p>{}</p>'
    for folder in ("html/book", "zh_CN/_build/html/book", "zh_CN/_build/html/notebooks"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "one.html").write_text(one.format(folder))
    for folder in ("html", "zh_CN/_build/html"):
        (tmp_path / folder / "search.html").write_text(one.format(folder))
    (tmp_path / "translations" / "zh_CN").mkdir(parents=True)
    monkeypatch.setattr(editions, "BUILD", tmp_path)
    monkeypatch.setattr(editions, "TRANSLATIONS", tmp_path / "translations")
    for _ in range(2):  # running it again changes nothing
        editions.main()
        english, chinese = tmp_path / "html/book/one.html", tmp_path / "html/zh_CN/book/one.html"
        assert parsed(english).select_one(".editions a")["href"] == "../zh_CN/book/one.html"
        assert parsed(chinese).select_one(".editions a")["href"] == "../../book/one.html"
        search = parsed(tmp_path / "html/search.html").select_one(".editions a")
        assert search["href"] == "zh_CN/search.html"
        parsed.cache_clear()
    assert (tmp_path / "html/notebooks/zh_CN/one.html").is_file()  # for the Colab branch
    assert pack.addresses(english) == []
    assert pack.SWITCH.sub("", english.read_text()) == "<p>html/book</p>"


def test_its_live_figures_open_in_chinese_and_their_buttons_fit_a_phone(
    screens: dict[str, BrowserContext],
) -> None:
    opened = Opened(screens["phone"], "book/09_translation.html", BASE)
    figure = opened.page.locator("attn-translate").first
    expect(figure.locator(".said")).to_have_text(re.compile(f"[{HAN}]"))
    options = figure.locator("select").first.locator("option").all_inner_texts()
    assert not [name for name in options if re.match("[A-Za-z]", name)]
    assert opened.close() == []
    opened = Opened(screens["phone"], "book/05_cross_attention.html", BASE)
    buttons = opened.page.locator("attn-look").first.locator(".options").first
    expect(buttons).to_contain_text("4")
    assert buttons.evaluate("one => one.scrollWidth <= one.clientWidth")
    assert opened.close() == []


def test_the_words_of_a_chapters_question_keep_their_distance(
    screens: dict[str, BrowserContext],
) -> None:
    opened = Opened(screens["light"], "book/01_library.html", BASE)
    words = opened.page.locator(".opening .question strong")
    assert words.count() > 0
    question = opened.page.locator(".opening .question").first
    expect(question).to_have_css("font-style", "normal")  # Chinese has no italics
    margins = "words => words.map(word => getComputedStyle(word).marginInlineEnd)"
    assert set(words.evaluate_all(margins)) == {"0px"}
    assert opened.close() == []
