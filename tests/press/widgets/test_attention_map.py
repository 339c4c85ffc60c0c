"""The attention map, used as a reader would use it."""

import pytest
from playwright.sync_api import Page

from tests.support.pages import FOLDER

pytestmark = pytest.mark.usefixtures("book")


def test_attention_map(page: Page) -> None:
    page.goto(FOLDER + "book/05_cross_attention.html")
    figure = page.locator("attn-look").last
    queries = figure.get_by_role("option")
    said = figure.locator(".said")
    assert said.inner_text().startswith("red attends most to 红 red: weight 1.00. It writes red.")
    figure.get_by_role("radio", name="seed 3").check(force=True)
    assert "With 红 covered it writes red." in said.inner_text()
    numbers = figure.locator(".right .number")
    assert float(numbers.first.inner_text()) < 0.1
    queries.nth(1).hover()
    assert said.inner_text().startswith("sweet attends most to 甜 sweet")
    figure.get_by_role("listbox").focus()
    page.keyboard.press("ArrowDown")
    assert said.inner_text().startswith("apple attends most to 苹果 apple")
    assert sum(float(text) for text in numbers.all_inner_texts()) == pytest.approx(1, abs=0.05)
    thick = figure.locator("line").evaluate_all(
        "lines => lines.map(line => parseFloat(line.style.opacity)).indexOf(1)"
    )
    assert thick == 2 * 8 + 7  # from the third word to the eighth


def test_a_head_switched_off(page: Page) -> None:
    page.goto(FOLDER + "book/04_multi_head.html")
    figure = page.locator("attn-look").last
    off = figure.get_by_role("group", name="switched off")
    reports, said = figure.locator(".left .word .outcome"), figure.locator(".said")
    changed = figure.locator(".left .word .changed")
    whole = reports.all_inner_texts()
    assert changed.count() == 0
    sweet = figure.get_by_role("option").nth(2)
    sweet.hover()
    assert said.inner_text().endswith(f"Result: {whole[2]}.")
    off.get_by_role("radio", name="head 1").check(force=True)  # the head for reference
    assert reports.all_inner_texts()[2] == whole[2]
    assert "attends most to 苹果 apple" in said.inner_text()  # in head 0, which is still on
    off.get_by_role("radio", name="head 0").check(force=True)  # the head for description
    now = reports.all_inner_texts()
    assert changed.all_inner_texts() == [a for a, b in zip(now, whole, strict=True) if a != b]
    assert now[2] != whole[2]
    assert said.inner_text() == (
        "甜 sweet receives nothing from this head. "
        f"Result: {now[2]}. With nothing switched off: {whole[2]}."
    )
    line = figure.locator("line").nth(2 * 9)
    assert float(line.evaluate("line => getComputedStyle(line).opacity")) < 1
    figure.get_by_role("group", name="head", exact=True).get_by_role("radio").nth(1).check(
        force=True
    )
    assert "attends most to" in said.inner_text()


@pytest.mark.parametrize(
    ("chapter", "off", "changed"),
    [
        ("08_transformer", "head 0", 12),
    ],
)
def test_the_chapters_answers_can_be_seen(page: Page, chapter: str, off: str, changed: int) -> None:
    page.goto(f"{FOLDER}book/{chapter}.html")
    figure = page.locator("attn-look").last
    figure.get_by_role("group", name="switched off").get_by_role("radio", name=off).check(
        force=True
    )
    assert figure.locator(".left .word .changed").count() == changed
