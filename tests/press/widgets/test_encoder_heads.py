"""The maps of all heads of MiniLM, used as a reader would use them."""

import re

import pytest
from playwright.sync_api import Locator, Page

from tests.support.pages import FOLDER

pytestmark = pytest.mark.usefixtures("book")


@pytest.fixture
def figure(page: Page) -> Locator:
    """The figure in its initial state."""
    page.goto(FOLDER + "book/13_reading_attention.html")
    return page.locator("attn-heads")


def small(figure: Locator, layer: int, head: int) -> Locator:
    return figure.get_by_role("gridcell", name=f"layer {layer}, head {head}", exact=True)


def rows(figure: Locator) -> list[list[str]]:
    """The texts of the open map: the keys, then each query with its weights."""
    return figure.locator(".open tr").evaluate_all(
        "rows => rows.map(row => [...row.children].map(cell => cell.textContent))"
    )


def test_the_previous_token_head_is_found(figure: Locator) -> None:
    said = figure.locator(".said")
    assert figure.get_by_role("gridcell").count() == 72
    assert said.inner_text().startswith("Layer 1, head 0: without it the sentence vector moves by")
    small(figure, 1, 2).click()
    assert said.inner_text() == (
        "Layer 1, head 2: without it the sentence vector moves by 1.2 thousandths (1 − cosine). "
        "46 of the 72 heads matter more. "
        "On average, the words put 1.00 of their weight on the previous token."
    )
    keys, *queries = rows(figure)
    words = ["[CLS]", *"this magazine is newer than that magazine".split(), "[SEP]"]
    assert keys == ["", *words]
    assert [row[0] for row in queries] == words
    for i in range(1, 8):
        assert queries[i][i] == "100"  # the column after the query's name is that of [CLS]
    assert figure.locator("caption").inner_text().startswith("layer 1, head 2 ")
    figure.locator(".heard", has_text=said.inner_text()).wait_for(state="attached")


def test_the_frame_shows_the_effect(figure: Locator) -> None:
    strength = figure.locator(".small").evaluate_all(
        "cells => cells.map(cell => Number(cell.style.getPropertyValue('--moved')))"
    )
    assert strength.index(1) == 5 * 12 + 11
    small(figure, 6, 11).tap()
    assert " 0 of the 72 heads matter more." in figure.locator(".said").inner_text()
    frame = "cell => getComputedStyle(cell).borderColor"
    strong, weak = (figure.locator(".small").nth(i).evaluate(frame) for i in (71, 2))
    assert strong != weak


def test_another_sentence_and_the_keyboard(figure: Locator, page: Page) -> None:
    said = figure.locator(".said")
    small(figure, 1, 8).click()
    page.keyboard.press("ArrowDown")
    assert said.inner_text().startswith("Layer 2, head 8:")
    assert said.inner_text().endswith("of their weight on the next token.")
    before = said.inner_text()
    figure.get_by_role("combobox").select_option("tokenizers cut words")
    assert said.inner_text().startswith("Layer 2, head 8:")  # it stays open
    assert said.inner_text() != before
    assert rows(figure)[0] == ["", *"[CLS] token ##izer ##s cut words [SEP]".split()]
    assert [len(row) for row in rows(figure)] == [8] * 8
    small(figure, 2, 8).focus()
    page.keyboard.press("End")
    assert said.inner_text().startswith("Layer 2, head 11:")
    assert figure.locator("[aria-selected=true]").count() == 1
    assert figure.locator("[tabindex='0']").count() == 1
    assert re.search(r"\d of the 72 heads", said.inner_text())
    label = small(figure, 2, 11)
    assert label.evaluate("cell => cell.getRootNode().activeElement === cell")
