"""Who moves whom: the figure shows what the layers do, and says why an answer is wrong."""

import html
import json
import re
from collections.abc import Callable

import pytest
import torch
from playwright.sync_api import Locator, Page
from torch import Tensor

from attnbook import causal_mask, scaled_dot_product_attention
from attnbook.widgets import element, explore_moves
from attnbook.widgets.moves import contradictions, who_moves_whom

SENTENCES = [["a", "b", "c", "d"], ["", "e", "f", "g"]]


def attend(mask: Tensor) -> Callable[[Tensor, Tensor], Tensor]:
    """A layer with this mask and a mask of real words."""
    return lambda x, keep: scaled_dot_product_attention(x, x, x, mask & keep[:, None])[0]


LAYERS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "right": attend(causal_mask(4)),
    "half": lambda x, keep: attend(causal_mask(4))(x / 2, keep),
    "no triangle": attend(torch.ones(4, 4, dtype=torch.bool)),
    "padding": lambda x, keep: attend(causal_mask(4))(x, keep | True),
    "mixed": lambda x, keep: attend(causal_mask(4))(x, keep) + x.flip(0, 1),
}


def printed(
    monkeypatch: pytest.MonkeyPatch, length: int = 4, sentences: list[list[str]] = SENTENCES
) -> dict[str, str]:
    """What a cell prints for the figure."""
    shown: list[dict[str, str]] = []
    monkeypatch.setattr(element, "display", lambda data, raw: shown.append(data))
    torch.manual_seed(0)
    explore_moves(LAYERS, torch.randn(2, length, 3, dtype=torch.float64), sentences)
    return shown[0]


@pytest.fixture
def figure(page: Page, monkeypatch: pytest.MonkeyPatch) -> Locator:
    """The figure alone on a page, as a notebook prints it."""
    page.set_content(f"<html lang=en><body>{printed(monkeypatch)['text/html']}</body></html>")
    return page.locator("attn-moves")


def numbers(figure: Locator) -> dict[str, list[str]]:
    """For each layer, which outputs move with each word of the batch."""
    data = json.loads(figure.get_attribute("data") or "")
    return dict(zip(data["layers"], data["moves"], strict=True))


def choose(figure: Locator, layer: str) -> None:
    """Pick the layer with this fault by its number."""
    number = [*numbers(figure)].index(layer) + 1
    figure.get_by_role("radio", name=str(number), exact=True).check(force=True)


def moving(figure: Locator) -> str:
    """The words whose outputs move."""
    return "".join(text[0] for text in figure.locator(".board td.moved").all_inner_texts())


def test_it_shows_what_the_layers_do(figure: Locator, page: Page) -> None:
    expected = {  # after another word instead of a, c, the padding and e
        "right": ("abcd", "cd", "", "efg"),
        "no triangle": ("abcd", "abcd", "", "efg"),
        "padding": ("abcd", "cd", "efg", "efg"),
        "mixed": ("abcdg", "cde", "d", "cefg"),
    }
    cells = figure.get_by_role("grid").locator("td")
    for layer, moves in expected.items():
        choose(figure, layer)
        for cell, wanted in zip((0, 2, 4, 5), moves, strict=True):
            cells.nth(cell).click()
            assert moving(figure) == wanted, (layer, cell)
            said = figure.locator(".said").inner_text()
            assert re.findall("“(.)”", said)[cell != 4 :] == [*wanted]


def test_it_is_used_by_touch_and_keyboard(figure: Locator, page: Page) -> None:
    choose(figure, "right")
    figure.get_by_role("grid").locator("td").nth(1).tap()
    assert moving(figure) == "bcd"
    figure.get_by_role("grid").locator("td").nth(1).focus()
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.shadowRoot.activeElement.textContent") == "e"
    assert moving(figure) == "efg"
    page.keyboard.press("Home")
    assert "the padding of sentence 2" in figure.locator(".said").inner_text()
    assert figure.locator("[aria-selected=true]").count() == 1
    assert figure.get_by_role("grid").locator("[tabindex='0']").count() == 1


def test_an_answer_is_checked_by_what_moves(figure: Locator, page: Page) -> None:
    said = figure.locator(".said")
    moves = numbers(figure)

    def answer(fault: str) -> str:
        figure.get_by_role("radio", name=fault, exact=True).check(force=True)
        return said.inner_text()

    choose(figure, "no triangle")
    assert "No: changing “b” moves “a” here. With “right” it wouldn't." in answer("right")
    assert figure.locator(".named").count() == 0
    assert "moves what “no triangle” moves, and nothing else." in answer("no triangle")
    assert figure.locator(".named").count() == 1
    choose(figure, "right")
    assert not figure.get_by_role("radio", name="no triangle").is_checked()
    assert "with “no triangle”, changing “b” would move “a”. Here it doesn't." in answer(
        "no triangle"
    )
    assert moves["half"] == moves["right"]
    assert answer("half").endswith("So does “right”: this experiment can't tell them apart.")


def test_the_counts_of_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = printed(monkeypatch)
    (packed,) = re.findall('data="([^"]*)"', shown["text/html"])
    assert sorted(json.loads(html.unescape(packed))["layers"]) == sorted(LAYERS)
    counts = {
        fault: found
        for fault, *found in re.findall(r"^\d+  ([\w ]+?)  (.*)$", shown["text/plain"], re.M)
    }
    assert counts == {
        "right": ["0  0  0  0"],
        "half": ["0  0  0  0"],
        "no triangle": ["5  0  0  0"],  # abc and ef
        "padding": ["0  0  3  0"],
        "mixed": ["0  0  1  6"],
    }


def test_every_change_is_seen_once() -> None:
    keep = torch.tensor([[True, False], [False, True]])
    rows = torch.arange(12.0).view(2, 2, 3).double()
    moved = who_moves_whom(lambda x, keep: x, rows, keep)
    assert moved.flatten(2).flatten(0, 1).int().tolist() == [
        [1, 0, 0, 0],
        [0, 0, 0, 0],  # nobody reads the outputs of padding
        [0, 0, 0, 0],
        [0, 0, 0, 1],
    ]
    assert contradictions(moved, keep) == [0, 0, 0, 0]
    assert contradictions(moved, torch.ones_like(keep)) == [0, 3, 0, 0]


def test_what_it_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match=r"rows has shape \(2, 3, 3\): it must be \(2, 4, 3\)"):
        printed(monkeypatch, length=3)
    with pytest.raises(ValueError, match="a word occurs twice"):
        printed(monkeypatch, sentences=[["a", "b", "c", "d"], ["", "e", "f", "a"]])
