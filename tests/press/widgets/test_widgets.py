"""Properties of every interactive figure."""

import html
import json
import re

import nbformat
import pytest
from playwright.sync_api import Page

from manuscript.chapters import drafts
from manuscript.common import ROOT
from press.extension.live import MODELS, joined
from tests.support.pages import FOLDER, HTML

SCRIPTS = ROOT / "src" / "attnbook" / "widgets" / "scripts"
KILOBYTES = {"script": 12, "data": 6}
LARGER = {
    "attn-heads": 48,  # 72 maps for each of eight sentences, so 6 for each
    "attn-config": 7,  # with the rules that decide which layers of a model keep keys
}

pytestmark = pytest.mark.usefixtures("book")


@pytest.mark.parametrize("path", sorted(SCRIPTS.glob("attn-*.js")), ids=lambda path: path.stem)
def test_a_figure_is_small_and_uses_its_words(path) -> None:
    script = path.read_text("utf-8")
    assert len(script.encode()) < 1000 * KILOBYTES["script"]
    script += (SCRIPTS / "base.js").read_text("utf-8")
    if path.stem in MODELS:
        script += joined(path.stem)
    used = sum(f"<{path.stem} " in draft.read_text("utf-8") for draft in drafts())
    for built in (HTML / "book").glob("*.html"):
        for data in re.findall(f'<{path.stem} data="([^"]*)"', built.read_text("utf-8")):
            used += 1
            limit = LARGER.get(path.stem, KILOBYTES["data"])
            assert len(data.replace("&quot;", '"')) < 1000 * limit
            words = set(json.loads(html.unescape(data))["words"])
            assert path.stem == "attn-choice" or "try" in words
            assert {word for word in words if not re.search(rf"\bwords\.{word}\b", script)} == set()
    assert used


def test_it_follows_the_theme_and_print_has_the_table(page: Page) -> None:
    page.goto(FOLDER + "book/01_library.html")
    figure, table = page.locator("attn-softmax").first, page.locator("attn-softmax > table").first
    found = set()
    for theme in ("light", "dark"):
        page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
        page.locator(f"attn-softmax[data-theme={theme}]").first.wait_for(state="attached")
        found.add(figure.locator(".figure").evaluate("e => getComputedStyle(e).backgroundColor"))
    assert len(found) == 2
    assert not table.is_visible()
    page.emulate_media(media="print")
    assert table.is_visible()
    assert not figure.locator(".figure").is_visible()
    page.emulate_media(media="screen")


@pytest.mark.parametrize(("ink", "theme"), [("black", "light"), ("white", "dark")])
def test_without_a_background_its_theme_follows_the_color_of_the_text(
    page: Page, ink: str, theme: str
) -> None:
    chapter = nbformat.read(ROOT / "book" / "01_library.ipynb", as_version=4)
    (cell,) = [cell for cell in chapter.cells if cell.id == "explore-temperature"]
    (output,) = [output.data["text/html"] for output in cell.outputs if "data" in output]
    page.set_content(f"<body style='color: {ink}'><div>{output}</div></body>")
    page.locator(f"attn-softmax[data-theme={theme}]").wait_for(state="attached")
