"""The steps of a head, used as a reader would use it: by mouse, touch and keyboard."""

import pytest
import torch
from playwright.sync_api import Page

from attnbook import causal_mask, scaled_dot_product_attention
from tests.support.pages import FOLDER

pytestmark = pytest.mark.usefixtures("book")


def test_a_head_is_the_librarys_and_has_the_numbers_of_the_chapter(page: Page) -> None:
    page.goto(FOLDER + "book/03_single_head.html")
    figure = page.locator("attn-steps").first
    torch.manual_seed(0)
    x = torch.randn(5, 7).double()
    matrices = [torch.randn(7, width).double() for width in (3, 3, 4)]
    query, key, value = (x @ w for w in matrices)
    scores = query @ key.T
    made = {"Q": query, "K": key, "V": value, "scores": scores, "scaled": scores / 3**0.5}
    for mask in (None, causal_mask(5)):
        call = "(figure, [x, w, causal]) => figure.constructor.head(x, w, causal)"
        given = [x.tolist(), [w.tolist() for w in matrices], mask is not None]
        got = figure.evaluate(call, given)
        output, weights = scaled_dot_product_attention(query, key, value, mask)
        for name, expected in {**made, "weights": weights, "output": output}.items():
            found = torch.tensor(got[name]).double()
            torch.testing.assert_close(found, expected, atol=1e-6, rtol=0)

    x = torch.tensor([[1, 0, 0, 0.2], [0, 1, 0, 0], [0.1, 0.2, 0.9, 0.8]])
    w_query = torch.tensor([[3.0, 0], [2, 0], [0, 3], [0, 0]])
    w_key = torch.tensor([[0, 1], [-0.5, -0.5], [1, 0], [0, 0]])
    expected = x @ w_query @ (x @ w_key).T
    found = torch.tensor(figure.evaluate("figure => figure.all.scores"))
    torch.testing.assert_close(found, expected, atol=0.01, rtol=0)  # stored as 16-bit numbers


def test_steps(page: Page) -> None:
    page.goto(FOLDER + "book/03_single_head.html")
    figure = page.locator("attn-steps").first
    said, comes = figure.locator(".said"), figure.locator(".comes")
    cells, terms = figure.get_by_role("gridcell"), figure.locator(".sum span:has(b)")
    step = figure.get_by_role("group", name="step").get_by_role("radio")

    def adds_up() -> None:
        products = [text.lstrip("+").replace("−", "-").split("·") for text in written()]
        total = sum(float(a) * float(b) for a, b in products)
        assert float(comes.inner_text().lstrip("=").replace("−", "-")) == pytest.approx(
            total, abs=0.02
        )

    def written() -> list[str]:
        return [text for text in terms.all_inner_texts() if "·" in text]

    cells.nth(2 * 2 + 1).hover()  # the second number of the third word's query
    assert comes.inner_text().endswith("2.70")
    assert len(written()) == 4
    adds_up()
    assert figure.locator("[aria-hidden] .lit").count() == 4 + 4  # a row of X, a column of W_Q
    height = figure.evaluate("figure => figure.offsetHeight")
    step.nth(3).check(force=True)  # scores: 苹果 and 甜 are selected initially
    cells.nth(2).tap()
    assert said.inner_text() == "The query of 苹果 apple times the key of 甜 sweet: score 2.40."
    adds_up()
    cells.nth(2).focus()
    page.keyboard.press("ArrowLeft")
    assert said.inner_text().endswith("the key of 很 very: score −1.50.")
    assert cells.nth(1).evaluate("cell => cell.getRootNode().activeElement === cell")
    figure.get_by_role("radio", name="causal").check(force=True)
    step.nth(5).check(force=True)
    assert comes.inner_text().endswith("−∞")
    figure.locator(".heard", has_text="may not attend to").wait_for(state="attached")
    step.nth(6).check(force=True)
    assert [float(text) for text in cells.all_inner_texts()[:3]] == [1, 0, 0]
    figure.get_by_role("radio", name="none").check(force=True)
    assert sum(float(text) for text in cells.all_inner_texts()[:3]) == pytest.approx(1, abs=0.01)
    step.nth(7).check(force=True)
    cells.first.hover()
    adds_up()
    sweet = comes.inner_text()
    figure.get_by_role("radio", name="苹果 很 酸").check(force=True)
    assert sweet.endswith("0.67")
    assert comes.inner_text().endswith("−0.45")
    assert figure.evaluate("figure => figure.offsetHeight") == height
