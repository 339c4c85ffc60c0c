"""The figure of the online softmax, used as a reader would use it."""

import json
import math

import pytest
import torch
from playwright.sync_api import Page

from attnbook import chunked_attention, softmax
from tests.support.pages import FOLDER

pytestmark = pytest.mark.usefixtures("book")


def test_online_softmax_is_the_librarys(page: Page) -> None:
    page.goto(FOLDER + "book/10_efficient_attention.html")
    figure = page.locator("attn-online").last
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
    figure = page.locator("attn-online").last
    said = figure.locator(".said")
    slider = figure.locator("input[type=range]")
    keys = figure.get_by_role("button")

    def column(word: str, name: str) -> str:
        return figure.locator(".column", has_text=word).locator(f".{name}").inner_text()

    slider.focus()
    page.keyboard.press("Home")
    assert said.inner_text().startswith("Life: the sum starts at 1.00.")
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    assert "dessert: a new largest score. Everything so far is multiplied by 0.59" in (
        said.inner_text()
    )
    assert (column("Life", "power"), column("dessert", "total")) == ("0.59", "1.94")
    page.keyboard.press("End")
    assert "has shrunk: 1. LSE m + log l: 2.9852. Mixture / sum is off by 0.00." in (
        said.inner_text()
    )
    keys.filter(has_text="Life").press("ArrowLeft")  # wraps around to the other end
    assert column("Life", "score") == "1.75"
    assert column("is", "shrink") == "–"
    assert "has shrunk: 2. LSE m + log l: 2.9852." in said.inner_text()
    for _ in range(3):
        keys.filter(has_text="dessert").click()  # until it is the first
    assert "has shrunk: 0. LSE m + log l: 2.9852." in said.inner_text()
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
    assert "LSE m + log l: 2.9852." in said.inner_text()
    slider.press("Home")
    assert slider.get_attribute("aria-valuetext") == "3"
    keys.last.tap()
    figure.locator(".heard", has_text=said.inner_text()).wait_for(state="attached")
