"""The figure of the KV cache, used as a reader would use it."""

from functools import partial

import pytest
import torch
from playwright.sync_api import Page

from attnbook import GroupedQueryAttention, KVCache, causal_mask
from attnbook.notebook.cost import cost
from tests.support.pages import FOLDER

pytestmark = pytest.mark.usefixtures("book")


def test_the_cost_of_a_word_equals_that_of_the_layer(page: Page) -> None:
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
    figure = page.locator("attn-cache")

    def states() -> list[str]:
        return figure.locator(".keys > div").evaluate_all("keys => keys.map(key => key.className)")

    figure.get_by_role("radio", name="3 and 1 sink").check(force=True)
    figure.locator("input[type=range]").press("End")
    assert states() == ["read", *["gone"] * 6, "read", "read", "new"]
    figure.get_by_role("radio", name="window of 4").check(force=True)
    assert states() == [*["gone"] * 6, *["read"] * 3, "new"]
    assert "Read from the cache: 3. Dropped: 6." in figure.locator(".said").inner_text()
