"""What a machine does step by step, used as a reader would."""

import json
import math
from functools import partial

import pytest
import torch
from playwright.sync_api import Page

from attnbook import GroupedQueryAttention, KVCache, causal_mask, chunked_attention, softmax
from attnbook.cost import cost
from tests.support.pages import FOLDER

pytestmark = pytest.mark.usefixtures("book")


def test_online_softmax_is_the_librarys(page: Page) -> None:
    page.goto(FOLDER + "book/10_efficient_attention.html")
    figure = page.locator("attn-online")
    torch.manual_seed(0)
    for scale, size in ((0.1, 1), (3, 2), (300, 4), (3, 7)):
        scores, values = scale * torch.randn(7).double(), torch.randn(7, 3).double()
        order = torch.randperm(7).tolist()
        asked = json.dumps([scores.tolist(), values.tolist(), order, size])
        steps = figure.evaluate(f"online => online.constructor.gather(...{asked})")
        for count, step in enumerate(steps, start=1):
            seen = order[: count * size]
            output, _ = chunked_attention(
                torch.ones(1, 1).double(), scores[seen, None], values[seen]
            )
            found = torch.tensor(step["mixed"]).double() / step["total"]
            torch.testing.assert_close(found, output[0], atol=1e-6, rtol=0)
            level = step["largest"] + math.log(step["total"])
            assert level == pytest.approx(scores[seen].logsumexp(0).item(), abs=1e-6)
    found = torch.tensor(steps[-1]["mixed"]).double() / steps[-1]["total"]
    torch.testing.assert_close(found, softmax(scores) @ values, atol=1e-6, rtol=0)


def test_online(page: Page) -> None:
    page.goto(FOLDER + "book/10_efficient_attention.html")
    figure = page.locator("attn-online")
    said = figure.locator(".said")
    slider = figure.locator("input[type=range]")
    keys = figure.get_by_role("button")

    def column(word: str, name: str) -> str:
        return figure.locator(".column", has_text=word).locator(f".{name}").inner_text()

    assert said.inner_text().startswith("Life: the sum begins with 1.00.")
    slider.focus()
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    assert "dessert: a new largest score. All that was gathered is multiplied by 0.59" in (
        said.inner_text()
    )
    assert (column("Life", "power"), column("dessert", "total")) == ("0.59", "1.94")
    page.keyboard.press("End")
    assert "has shrunk: 1. Level m + log l: 2.9852. Mixture / sum is off by 0.00." in (
        said.inner_text()
    )
    keys.filter(has_text="Life").press("ArrowLeft")  # round to the other end
    assert column("Life", "score") == "1.75"
    assert column("is", "shrink") == "–"
    assert "has shrunk: 2. Level m + log l: 2.9852." in said.inner_text()
    for _ in range(3):
        keys.filter(has_text="dessert").click()  # until it is the first
    assert "has shrunk: 0. Level m + log l: 2.9852." in said.inner_text()
    place = "column => column.style.getPropertyValue('--place')"
    dessert = figure.locator(".column", has_text="dessert")
    assert dessert.evaluate(place) == "0"
    box = keys.filter(has_text="dessert").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 20, box["y"] + 10)
    page.mouse.down()
    page.mouse.move(box["x"] + 20 + 2.5 * box["width"], box["y"] + 10, steps=9)
    page.mouse.up()
    assert dessert.evaluate(place) == "2"
    figure.get_by_role("radio", name="3").check(force=True)
    assert slider.get_attribute("aria-valuetext") == "6"
    total = math.exp(-1.56 - 2.28) + math.exp(0.66 - 2.28) + 1  # is, short, dessert
    assert column("dessert", "total") == f"{total:.2f}"
    assert "Level m + log l: 2.9852." in said.inner_text()
    slider.press("Home")
    assert slider.get_attribute("aria-valuetext") == "3"
    keys.last.tap()
    figure.locator(".heard", has_text=said.inner_text()).wait_for(state="attached")


def test_a_words_cost_is_the_layers(page: Page) -> None:
    page.goto(FOLDER + "book/11_modern_attention.html")
    figure = page.locator("attn-cache").first
    for d_model, heads, key_heads, length in ((24, 4, 2, 5), (64, 8, 1, 9)):
        layer, cache = GroupedQueryAttention(d_model, heads, key_heads), KVCache()
        rows = torch.zeros(length, d_model)
        anew = cost(partial(layer, rows, causal_mask(length)))
        layer(rows[:-1], causal_mask(length - 1), cache=cache)
        quick = cost(partial(layer, rows[-1:], cache=cache))
        kept = key_heads * d_model // heads
        asked = (
            f"[{length}, 1].map(rows => cache.constructor.cost(rows, {length}, {d_model}, {kept}))"
        )
        assert figure.evaluate(f"cache => {asked}") == [anew.multiplications, quick.multiplications]


def test_cache(page: Page) -> None:
    page.goto(FOLDER + "book/11_modern_attention.html")
    figure = page.locator("attn-cache").first
    said, slider = figure.locator(".said"), figure.locator("input[type=range]")

    def counts(row: int) -> list[str]:
        return figure.locator(".figure tbody tr").nth(row).locator("td").all_inner_texts()[1:]

    def states() -> list[str]:
        return figure.locator(".keys > div").evaluate_all("keys => keys.map(key => key.className)")

    slider.focus()
    page.keyboard.press("End")
    assert said.inner_text() == "Rows computed for first: 6. Not for the first time: 5."
    assert states() == ["again"] * 5 + ["new"]
    assert counts(0)[2:] == ["355,712", "0"]  # what the chapter prints
    assert counts(1)[2:] == ["100,992", "3,072"]
    figure.get_by_role("radio", name="with a cache").tap(force=True)
    assert states() == ["read"] * 5 + ["new"]
    figure.get_by_role("radio", name="1", exact=True).check(force=True)
    assert counts(1)[2:] == ["57,984", "384"]
    assert "Read from the cache: 5. For the next word 384 bytes are kept." in said.inner_text()
    figure.locator(".heard", has_text=said.inner_text()).wait_for(state="attached")

    figure = page.locator("attn-cache").last
    figure.get_by_role("radio", name="3 and 1 sink").check(force=True)
    figure.locator("input[type=range]").press("End")
    assert states() == ["read", *["gone"] * 6, "read", "read", "new"]
    figure.get_by_role("radio", name="window of 4").check(force=True)
    assert states() == [*["gone"] * 6, *["read"] * 3, "new"]
    assert "Read from the cache: 3. Let go: 6." in figure.locator(".said").inner_text()


def test_beam(page: Page) -> None:
    page.goto(FOLDER + "book/09_translation.html")
    figure = page.locator("attn-beam")
    said, slider = figure.locator(".said"), figure.locator("input[type=range]")
    # sums and scores of the sentences that were found: those of beam_search, in the table
    found = figure.locator("td").all_text_contents()
    trees = figure.evaluate("beam => beam.data.trees.map(beam.constructor.grow)")
    for tree, row in zip(trees, (found[:4], found[4:8], found[8:]), strict=True):
        best = tree[-1][0]
        assert [best["total"], best["score"]] == pytest.approx(
            [float(x) for x in row[2:]], abs=0.006
        )
    slider.focus()
    page.keyboard.press("End")
    for name, row in (("1 (greedy)", found[:4]), ("3", found[4:8]), ("3, penalty 1", found[8:])):
        figure.get_by_role("radio", name=name, exact=True).check(force=True)
        slider.press("End")
        assert said.inner_text().startswith(
            f"{row[1]} END: words {len(row[1].split()) + 1}, log-probability −{row[2][1:]}"
        )
    slider.press("Home")
    assert said.inner_text().startswith("this: ")
    cells = figure.get_by_role("gridcell")
    cells.nth(1).hover()
    assert said.inner_text().startswith("these: ")
    cells.nth(3).tap()
    assert "Dropped: the beam keeps 3." in said.inner_text()
    figure.locator(".heard", has_text=said.inner_text()).wait_for(state="attached")
    cells.nth(3).press("ArrowDown")  # a step further
    assert slider.get_attribute("aria-valuetext") == "2"
    assert cells.nth(2 * 5).inner_text() == ""  # not yet
    for key in ("ArrowLeft", "ArrowLeft", "ArrowLeft"):
        page.keyboard.press(key)
    assert said.inner_text().startswith("this horse: ")
    assert figure.locator(".cell.chosen").count() == 2
