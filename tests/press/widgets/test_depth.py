"""The stack of chapter 8, used as a reader would use it: by mouse, touch and keyboard."""

import html
import json
import re

import pytest
import torch
from playwright.sync_api import Page

from attnbook.widgets import element, explore_depth
from tests.support.pages import FOLDER

pytestmark = pytest.mark.usefixtures("book")


def test_depth(page: Page) -> None:
    page.goto(FOLDER + "book/08_transformer.html")
    figure = page.locator("attn-depth")
    numbers = json.loads(figure.get_attribute("data") or "")
    said, slider = figure.locator(".said"), figure.locator("input[type=range]")
    bars = figure.locator(".row i")

    def drawn() -> list[list[str]]:
        heights = bars.evaluate_all("bars => bars.map((bar) => bar.style.transform)")
        return [heights[i : i + 8] for i in range(0, len(heights), 8)]

    slider.focus()
    page.keyboard.press("End")
    deepest = len(numbers["reaches"][0][0]) - 1
    assert f"the bottom of {deepest} layers" in said.inner_text()
    assert "of their norm: they are nearly the same." in said.inner_text()
    assert len(set(map(tuple, drawn()))) == 1
    figure.get_by_text("after", exact=True).click()
    reach = float(numbers["reaches"][1][1][deepest])
    assert float(said.inner_text().split()[0]) == pytest.approx(reach, abs=0.006)
    assert "they are nearly the same" in said.inner_text()
    figure.get_by_text("with", exact=True).tap()
    assert "they can be told apart" in said.inner_text()
    assert len(set(map(tuple, drawn()))) == len(numbers["labels"])
    page.keyboard.press("ArrowLeft")  # moves between the options
    assert figure.locator("polyline.chosen").count() == 1


def test_letters_are_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[dict[str, str]] = []
    monkeypatch.setattr(element, "display", lambda data, raw: shown.append(data))
    torch.manual_seed(0)
    rows = torch.randn(2, 3, 5, 4, 9).double()
    explore_depth(rows, torch.rand(2, 3, 5), list("abcd"))
    (packed,) = re.findall('data="([^"]*)"', shown[0]["text/html"])
    letters = json.loads(html.unescape(packed))["rows"][1][2][3]
    expected = rows[1, 2, 3, :, :8] / rows[1, 2, 3, :, :8].abs().max()
    found = torch.tensor([ord(letter) - ord("m") for letter in letters]).view(4, 8) / 12
    torch.testing.assert_close(found.double(), expected, atol=1 / 24, rtol=0)
    assert "gradient below 4 layers" in shown[0]["text/plain"]


def test_shapes_that_do_not_fit() -> None:
    rows, reaches = torch.randn(2, 3, 5, 4, 9), torch.rand(2, 3, 5)
    with pytest.raises(ValueError, match=r"rows has shape \(2, 3, 5, 4, 9\): it must be .*, 3, 9"):
        explore_depth(rows, reaches, list("abc"))
    with pytest.raises(ValueError, match=r"reaches has shape \(2, 3, 4\)"):
        explore_depth(rows, reaches[..., :4], list("abcd"))
