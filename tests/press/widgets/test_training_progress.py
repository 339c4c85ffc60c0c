"""The figures of a training run, used as a reader would use them: by mouse, touch and keyboard."""

import html
import json
import re
from typing import Any

import pytest
import torch
from playwright.sync_api import Browser, Locator, Page, expect

from attnbook.widgets import element, watch_attention, watch_embeddings
from tests.support.pages import DESK, FOLDER, window

EMBEDDINGS = FOLDER + "book/02_embeddings.html"
HEAD = FOLDER + "book/03_single_head.html"
TURN = 380  # milliseconds from step to step
PLACE = "drawn => drawn.style.transform.match(/-?[\\d.]+(?:e-\\d+)?/g).map(Number)"


def opened(page: Page, address: str) -> tuple[Locator, Any, Locator]:
    """Open a page; return its figure, the figure's data, and its sentence."""
    page.goto(address)
    figure = page.locator("attn-training")
    return figure, json.loads(figure.get_attribute("data") or ""), figure.locator(".said")


@pytest.mark.usefixtures("book")
def test_rows(page: Page) -> None:
    figure, numbers, said = opened(page, EMBEDDINGS)
    counts = figure.locator(".kind .number")
    figure.locator("input[type=range]").focus()
    page.keyboard.press("Home")
    assert said.inner_text().startswith("Step 0: loss 3.00.")
    assert counts.first.inner_text() == "0 of 3"
    page.keyboard.press("End")
    table = figure.locator("> table tr").last.locator("td").all_text_contents()
    assert said.inner_text().startswith(f"Step {table[0]}: loss {table[1]}.")
    assert counts.all_inner_texts() == [*table[2:], ""]
    page.keyboard.press("ArrowLeft")
    at = len(numbers["steps"]) - 2
    step = numbers["steps"][at]
    assert said.inner_text().startswith(f"Step {step}: ")
    drawn = [point.evaluate(PLACE) for point in figure.locator(".seen .point").all()]
    right_and_up = torch.tensor(numbers["places"][at]).double().view(-1, 2)
    expected = right_and_up * torch.tensor([0.15, -0.15])  # the view reaches 150 to each side
    torch.testing.assert_close(torch.tensor(drawn).double(), expected, atol=1e-3, rtol=0)
    on_curve = figure.locator("polyline").evaluate(f"c => [c.points[{step}].x, c.points[{step}].y]")
    assert figure.locator(".dot").evaluate(PLACE) == pytest.approx(on_curve, abs=1e-3)


@pytest.mark.usefixtures("book")
def test_a_kind_is_picked(page: Page) -> None:
    figure, numbers, said = opened(page, EMBEDDINGS)
    figure.locator("input[type=range]").press("Home")
    named = "names => names.filter(n => n.style.display !== 'none').map(n => n.textContent)"
    figure.get_by_role("option", name="goods").hover()
    rows = numbers["kinds"][3]["rows"]
    labels = [numbers["labels"][row] for row in rows]
    assert figure.locator("text.word").evaluate_all(named) == labels
    for row, label in zip(rows, labels, strict=True):
        other = numbers["labels"][numbers["nearest"][0][row]]
        assert f"Most like {label}: {other}." in said.inner_text()
    figure.get_by_role("listbox").focus()
    page.keyboard.press("End")
    assert "Most like 苹果 apple: " in said.inner_text()
    figure.get_by_role("option", name="people").tap()
    assert "Most like 我 I: " in said.inner_text()
    figure.locator("input[type=range]").fill("9")
    figure.locator(".seen .point").nth(0).hover(force=True)
    assert "Most like 我 I: " not in said.inner_text()
    assert figure.locator(".trail").evaluate("path => path.getTotalLength()") > 0


@pytest.mark.usefixtures("book")
def test_it_plays_and_stops(browser: Browser) -> None:
    with window(browser, viewport=DESK) as context:
        context.clock.install(time=0)
        page = context.new_page()
        figure, _, _ = opened(page, EMBEDDINGS)
        context.clock.pause_at(3_600_000)  # from here on, this test controls the time
        button, slider = figure.locator("button"), figure.locator("input[type=range]")
        shown = figure.locator("label output")
        expect(button).to_have_text("▶ play")
        slider.press("Home")
        button.click()
        expect(button).to_have_text("■ stop")
        for steps in ("1", "2", "3"):
            expect(shown).to_have_text(steps)
            context.clock.run_for(TURN)
        slider.press("ArrowRight")  # the reader's action stops playback
        expect(button).to_have_text("▶ play")
        before = shown.inner_text()
        context.clock.run_for(3 * TURN)
        assert shown.inner_text() == before
        slider.press("End")
        button.click()  # it plays from the beginning
        expect(shown).to_have_text("0")
        context.clock.run_for(TURN)
        expect(shown).to_have_text("1")
        slider.fill("18")
        context.clock.run_for(3 * TURN)
        expect(button).to_have_text("▶ play")  # playback stops at the end
        expect(shown).to_have_text("100")
        page.emulate_media(reduced_motion="reduce")
        assert not button.is_visible()


@pytest.mark.usefixtures("book")
def test_map(page: Page) -> None:
    figure, numbers, said = opened(page, HEAD)
    cells = figure.locator(".cell")
    figure.locator("input[type=range]").press("Home")
    assert {float(text) for text in cells.all_inner_texts()} == {0.33}
    curve = figure.locator("svg.curve").bounding_box()
    assert curve
    figure.locator("svg.curve").click(position={"x": 0.53 * curve["width"], "y": 20})
    assert said.inner_text().startswith("Step 100: ")
    at = numbers["steps"].index(100)
    flat = [weight for row in numbers["maps"][at] for weight in row]
    assert [float(text) for text in cells.all_inner_texts()] == flat
    figure.get_by_role("listbox").focus()
    page.keyboard.press("End")
    assert f"甜 sweet attends most to 苹果 apple: weight {flat[6]:.2f}." in said.inner_text()
    figure.get_by_role("option").first.tap()
    assert said.inner_text().endswith(f"苹果 apple attends most to 甜 sweet: weight {flat[2]:.2f}.")
    heard = figure.locator(".heard", has_text=said.inner_text())
    heard.wait_for(state="attached")


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The data of each figure that is displayed."""
    found: list[Any] = []

    def keep(output: dict[str, str], raw: bool) -> None:
        match = re.search('data="([^"]*)"', output["text/html"])
        assert match
        found.append(json.loads(html.unescape(match[1])))

    monkeypatch.setattr(element, "display", keep)
    return found


def test_rows_are_the_tables(printed: list[Any]) -> None:
    torch.manual_seed(0)
    tables = {step: torch.randn(7, 5, dtype=torch.float64) for step in (0, 2, 3)}
    watch_embeddings(
        [3.0, 2.0, 1.5, 1.0], tables, list("abcdefg"), {"x": [0, 1], "y": [2, 3, 4, 5, 6]}
    )
    (data,) = printed
    for at, table in enumerate(tables.values()):
        places = torch.tensor(data["places"][at]).view(7, 2) / 1000 * data["reach"][at]
        for i in range(7):
            assert places[i].norm() < 1.01 * table[i].norm()
            alike = torch.cosine_similarity(table[i], table, dim=-1)
            alike[i] = -2
            assert data["nearest"][at][i] == alike.argmax()
    spread = places.double().norm() ** 2  # at the last step; no two directions give a larger spread
    assert spread == pytest.approx((torch.linalg.svdvals(table)[:2] ** 2).sum().item(), rel=0.01)
    assert (places[0] > 0).all()


def test_bad_input() -> None:
    table = torch.ones(2, 3)
    with pytest.raises(ValueError, match=r"step 4 has shape \(2, 3\): it must be \(3, 3\)"):
        watch_embeddings([1.0] * 9, {4: table}, ["a", "b", "c"], {"all": [0, 1, 2]})
    with pytest.raises(ValueError, match=r"step 4 has no loss: there are 4"):
        watch_embeddings([1.0] * 4, {4: table}, ["a", "b"], {"all": [0, 1]})
    with pytest.raises(ValueError, match=r"step 0 has shape \(2, 3\): it must be \(2, 2\)"):
        watch_attention([1.0], {0: table}, ["a", "b"])
