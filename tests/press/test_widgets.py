"""The interactive figures, used as a reader would: by pointer, finger and keys."""

import json
from collections.abc import Iterator

import pytest
import torch
from playwright.sync_api import Browser, Page

from attnbook import softmax
from attnbook.positions import sinusoids
from tests.support.pages import DESK, FOLDER, HTML, window
from tools.common import ROOT

SCRIPTS = ROOT / "src" / "attnbook" / "widgets" / "scripts"
KILOBYTES = {"script": 12, "data": 6}

pytestmark = pytest.mark.usefixtures("book")


@pytest.fixture(scope="module")
def page(browser: Browser) -> Iterator[Page]:
    """A page that is shown to its end, so that nothing moves away from the pointer."""
    opened = window(browser, viewport=DESK, has_touch=True)
    page = opened.new_page()
    page.add_init_script(
        "addEventListener('DOMContentLoaded', () => { const sheet = new CSSStyleSheet();"
        "sheet.replaceSync('section { content-visibility: visible !important }');"
        "document.adoptedStyleSheets.push(sheet); })"
    )
    yield page
    opened.close()


def weights(page: Page) -> list[float]:
    """What stands in the column of weights of the first softmax on the page."""
    return [
        float(text)
        for text in page.locator("attn-softmax >> nth=0 >> .row .weight").all_inner_texts()
    ]


@pytest.mark.parametrize("path", sorted(SCRIPTS.glob("attn-*.js")), ids=lambda path: path.stem)
def test_a_figure_is_small(path) -> None:
    assert path.stat().st_size < 1000 * KILOBYTES["script"]
    used = 0
    for built in (HTML / "book").glob("*.html"):
        for piece in built.read_text("utf-8").split(f'<{path.stem} data="')[1:]:
            used += 1
            assert len(piece.partition('"')[0].replace("&quot;", '"')) < 1000 * KILOBYTES["data"]
    assert used


def test_softmax_is_the_librarys(page: Page) -> None:
    page.goto(FOLDER + "book/01_library.html")
    torch.manual_seed(0)
    for scale in (0.01, 1, 30, 1000):
        scores = scale * torch.randn(9, dtype=torch.float64)
        got = page.evaluate(f"attnbook.softmax({json.dumps(scores.tolist())})")
        torch.testing.assert_close(torch.tensor(got).double(), softmax(scores), atol=1e-6, rtol=0)


def test_temperature(page: Page) -> None:
    page.goto(FOLDER + "book/01_library.html")
    figure = page.locator("attn-softmax").first
    before = weights(page)
    assert sum(before) == pytest.approx(1, abs=0.01)
    slider = figure.locator("input[type=range]")
    slider.focus()
    page.keyboard.press("Home")  # times 0: all alike
    assert weights(page) == pytest.approx([0.1] * 10)
    page.keyboard.press("End")  # times 10: one has it all
    assert max(weights(page)) == 1
    assert slider.get_attribute("aria-valuetext") == "× 10"
    figure.get_by_role("listbox").focus()
    page.keyboard.press("Home")
    assert "Minds and machines: weight 0.000" in figure.locator(".said").inner_text()
    figure.get_by_role("option").nth(5).tap()
    said = figure.locator(".said").inner_text()
    assert said.startswith("The honest kitchen")
    figure.locator(".heard", has_text=said).wait_for(state="attached")  # and is announced
    figure.get_by_role("option").nth(2).hover()
    assert figure.locator(".said").inner_text().startswith("Right and wrong")


def test_print_has_the_table(page: Page) -> None:
    page.goto(FOLDER + "book/01_library.html")
    table = page.locator("attn-softmax > table").first
    assert not table.is_visible()
    page.emulate_media(media="print")
    assert table.is_visible()
    assert not page.locator("attn-softmax >> nth=0 >> .figure").is_visible()
    page.emulate_media(media="screen")


def test_follows_the_theme(page: Page) -> None:
    page.goto(FOLDER + "book/01_library.html")
    figure = page.locator("attn-softmax").first
    found = set()
    for theme in ("light", "dark"):
        page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
        page.locator(f"attn-softmax[data-theme={theme}]").first.wait_for(state="attached")
        found.add(figure.locator(".figure").evaluate("e => getComputedStyle(e).backgroundColor"))
    assert len(found) == 2


def test_mask(page: Page) -> None:
    page.goto(FOLDER + "book/06_masked_attention.html")
    figure = page.locator("attn-mask")
    cells = figure.get_by_role("gridcell")
    said = figure.locator(".said")

    def row(i: int) -> list[float]:
        return [float(cells.nth(6 * i + j).inner_text().split()[0]) for j in range(6)]

    before = [row(i) for i in range(6)]
    assert before[0] == [1, 0, 0, 0, 0, 0]
    cells.nth(6 * 1 + 2).click()  # "is" sees "short"
    assert "Cells that leak the future: 1." in said.inner_text()
    assert [row(i) == before[i] for i in range(6)] == [True, False, True, True, True, True]
    page.keyboard.press("Space")  # the key turns it back
    assert "Nothing leaks the future." in said.inner_text()
    page.keyboard.press("ArrowDown")
    assert said.inner_text().startswith("short looks at short")
    cells.nth(6 * 2 + 3).hover()  # a mouse that is drawn paints on
    page.mouse.down()
    for j in (4, 5):
        cells.nth(6 * 2 + j).hover()
    page.mouse.up()
    assert "Cells that leak the future: 3." in said.inner_text()
    figure.get_by_text("True = may not").click()
    assert cells.nth(6 * 2 + 3).inner_text().split()[1] == "False"
    figure.get_by_text("nothing", exact=True).click()
    assert row(4) == [0] * 6
    cells.nth(6 * 4).tap()
    assert row(4) == [1, 0, 0, 0, 0, 0]


def test_dial(page: Page) -> None:
    page.goto(FOLDER + "book/07_positional_encoding.html")
    figure = page.locator("attn-dial")
    encoding = figure.evaluate("dial => [0, 7, 63, -4].map(t => dial.constructor.encoding(t, 16))")
    expected = sinusoids(torch.tensor([0, 7, 63, -4]), 16)
    torch.testing.assert_close(torch.tensor(encoding).double(), expected, atol=1e-6, rtol=0)
    hands = "line => [line.getAttribute('x2') / 30, line.getAttribute('y2') / -30]"
    slow = figure.locator("line.to").nth(7)
    figure.locator("input[type=range]").first.focus()
    page.keyboard.press("End")
    said = figure.locator(".said").inner_text()
    assert said.startswith("From 63 to 65: pair 0 turns by 115°.")
    expected = sinusoids(torch.tensor([63, 65]), 16)
    assert f"{expected[0] @ expected[1]:.4f}" in said
    assert slow.evaluate(hands) == pytest.approx(expected[1, -2:].tolist(), abs=1e-6)
    before = figure.locator("circle.dot").get_attribute("cy")
    figure.locator(".map").click(position={"x": 5, "y": 2})  # the uppermost row
    assert figure.locator(".said").inner_text().startswith("From 0 to 2:")
    assert figure.locator("circle.dot").get_attribute("cy")[:6] == before[:6]
    figure.locator("input[type=range]").last.focus()
    page.keyboard.press("ArrowLeft")
    assert figure.locator(".said").inner_text().startswith("From 0 to 1:")


def test_looks(page: Page) -> None:
    page.goto(FOLDER + "book/05_cross_attention.html")
    figure = page.locator("attn-look")
    queries = figure.get_by_role("option")
    said = figure.locator(".said")
    assert said.inner_text().startswith("red looks most at 红 red: weight 1.00. It writes red.")
    figure.get_by_role("radio", name="seed 3").check(force=True)
    assert "With 红 covered it writes red." in said.inner_text()
    numbers = figure.locator(".right .number")
    assert float(numbers.first.inner_text()) < 0.1
    queries.nth(1).hover()
    assert said.inner_text().startswith("sweet looks most at 甜 sweet")
    figure.get_by_role("listbox").focus()
    page.keyboard.press("ArrowDown")
    assert said.inner_text().startswith("apple looks most at 苹果 apple")
    assert sum(float(text) for text in numbers.all_inner_texts()) == pytest.approx(1, abs=0.05)
    thick = figure.locator("line").evaluate_all(
        "lines => lines.map(line => parseFloat(line.style.opacity)).indexOf(1)"
    )
    assert thick == 2 * 8 + 7  # from the third word to the eighth
