"""The figure of the KV cache, used as a reader would use it."""

from functools import partial

import pytest
import torch
from playwright.sync_api import Page

from attnbook import KVCache, MultiHeadAttention, causal_mask
from attnbook.notebook.cost import cost
from tests.support.pages import FOLDER

pytestmark = pytest.mark.usefixtures("book")


def test_the_cost_of_a_word_equals_that_of_the_layer(page: Page) -> None:
    page.goto(FOLDER + "book/11_modern_attention.html")
    figure = page.locator("attn-cache").first
    for d_model, heads, length in ((24, 4, 5), (64, 8, 9)):
        layer, cache = MultiHeadAttention(d_model, heads), KVCache()
        rows = torch.zeros(length, d_model)
        layer(rows[:-1], mask=causal_mask(length - 1), cache=cache)
        step = cost(partial(layer, rows[-1:], cache=cache))
        counted = figure.evaluate(f"cache => cache.constructor.cost({length}, {d_model})")
        assert counted == step.multiplications


def test_cache(page: Page) -> None:
    page.goto(FOLDER + "book/11_modern_attention.html")
    figure = page.locator("attn-cache").last

    def states() -> list[str]:
        return figure.locator(".keys > div").evaluate_all("keys => keys.map(key => key.className)")

    figure.get_by_role("radio", name="3 and 1 sink").check(force=True)
    figure.locator("input[type=range]").press("End")
    assert states() == ["read", *["gone"] * 6, "read", "read", "new"]
    figure.get_by_role("radio", name="window of 4").check(force=True)
    assert states() == [*["gone"] * 6, *["read"] * 3, "new"]
    assert "Read from the cache: 3. Dropped: 6." in figure.locator(".said").inner_text()
