"""The library of chapter 1, used as a reader would use it: by mouse, touch and keyboard."""

import numpy as np
import pytest
import torch
from playwright.sync_api import Locator, Page

from attnbook import softmax
from attnbook.widgets import ask_library, drag_keys
from tests.support.chapters import Chapter
from tests.support.pages import FOLDER

pytestmark = pytest.mark.usefixtures("book")


def numbers(found: Locator) -> list[float]:
    """Return the numbers in some elements."""
    return [float(text.replace("−", "-")) for text in found.all_inner_texts()]


def agree(got: dict[str, list[float]], expected: dict[str, torch.Tensor]) -> None:
    """Check that a script computes the same numbers as the package."""
    assert got.keys() == expected.keys()
    for name, row in expected.items():
        torch.testing.assert_close(torch.tensor(got[name], dtype=row.dtype), row, atol=1e-6, rtol=0)


@pytest.fixture
def library(page: Page) -> Locator:
    """The shelf in its initial state."""
    page.goto(FOLDER + "book/01_library.html")
    return page.locator("attn-library")


@pytest.fixture
def plane(page: Page) -> Locator:
    """The arrows in their initial state."""
    page.goto(FOLDER + "book/01_library.html")
    return page.locator("attn-plane")


def test_bad_input_is_refused() -> None:
    square, wish = np.eye(3), {"wish": np.ones(3)}
    with pytest.raises(ValueError, match=r"values has shape \(3, 3\): it must be \(3, 2\)"):
        ask_library(wish, square, square, "abc", "def", "gh")
    with pytest.raises(ValueError, match=r"wish has shape \(3,\): it must be \(2,\)"):
        ask_library(wish, square[:, :2], square, "abc", "de", "fgh")
    with pytest.raises(ValueError, match=r"a vector has length 5: the figure reaches to 3"):
        drag_keys(np.ones(2), np.array([[3.0, 4.0]]), ["A"])


def test_a_lookup_equals_that_of_the_library(library: Locator) -> None:
    torch.manual_seed(0)
    for size in (0.1, 1, 3000):
        query, keys = size * torch.rand(5).double(), torch.randn(7, 5).double()
        values = torch.rand(7, 3).double()
        given = [x.tolist() for x in (query, keys, values)]
        got = library.evaluate("(figure, given) => figure.constructor.look(...given)", given)
        scores = keys @ query
        report = softmax(scores) @ values
        agree(got, {"scores": scores, "weights": softmax(scores), "report": report})


def test_a_wish(library: Locator, page: Page) -> None:
    space = Chapter("01_library.ipynb").run("cards", "arrays")
    keys, values = (torch.from_numpy(space[name]) for name in ("keys", "values"))
    said = library.locator(".said")
    offered = library.locator(".wishes i").evaluate_all("all => all.map(i => +i.style.opacity)")

    def shows(query: list[float]) -> bool:
        weights = softmax(keys @ torch.tensor(query).double())
        shelf, report = library.locator(".place .number"), library.locator(".row .number")
        return numbers(shelf) == pytest.approx(weights.tolist(), abs=0.0051) and (
            numbers(report) == pytest.approx((weights @ values).tolist(), abs=0.051)
        )

    assert shows([0, 0, 1, 0, 0, 1, 0, 0])
    assert said.inner_text().startswith("The honest kitchen: 1 × 2 + 1 × 2 = 4, weight 0.612.")
    assert [a + b for a, b in zip(offered[::2], offered[1::2], strict=True)] == keys[5].tolist()

    library.get_by_role("radio", name="nothing").check(force=True)
    assert shows([0.0] * 8)
    for topic in ("nature", "stories"):
        library.get_by_role("slider", name=topic).focus()
        page.keyboard.press("End")
    assert shows([0, 0, 0, 0, 0, 0, 4, 4])
    assert numbers(library.locator(".place .number"))[8:] == [0.49, 0.49]
    assert not library.get_by_role("radio", name="nothing").is_checked()

    library.get_by_role("option", name="A year in the garden").tap()
    assert said.inner_text().startswith("A year in the garden: 4 × 2 = 8, weight 0.495.")
    library.get_by_role("listbox").focus()
    page.keyboard.press("ArrowRight")
    assert said.inner_text().startswith("The robot's daughter: 4 × 2 = 8")
    page.keyboard.press("Home")
    assert said.inner_text().startswith("Minds and machines: no topic in common, score 0")
    library.get_by_role("option").nth(1).hover()
    assert said.inner_text().startswith("Should robots obey?")
    library.get_by_role("radio", name="everything").check(force=True)
    assert shows([1.0] * 8)
    library.locator(".heard", has_text="Should robots obey?").wait_for(state="attached")


def test_a_measure_equals_that_of_the_library(plane: Locator) -> None:
    torch.manual_seed(0)
    for size in (0.1, 1, 10):
        query, keys = torch.randn(2).double(), size * torch.randn(6, 2).double()
        given = [query.tolist(), keys.tolist()]
        got = plane.evaluate("(figure, given) => figure.constructor.measure(...given)", given)
        dots, cosines = keys @ query, torch.cosine_similarity(keys, query, dim=-1)
        by = {"weights": softmax(dots), "fair": softmax(cosines)}
        agree(got, {"lengths": keys.norm(dim=1), "dots": dots, "cosines": cosines} | by)


def facts(plane: Locator, key: int) -> list[float]:
    """Return a key's length, cosine, dot product, weight by dot product and weight by cosine."""
    return numbers(plane.locator(".card").nth(key).locator(".number"))


def held(plane: Locator, arrow: int) -> list[float]:
    """Return where the disc of an arrow is, and where all arrows begin."""
    box = "e => { const { x, y, width, height } = e.getBoundingClientRect(); "
    center = box + "return [x + width / 2, y + height / 2]; }"
    found = [plane.locator(".disc").nth(arrow), plane.locator(".ring").first]
    return [x for locator in found for x in locator.evaluate(center)]


def test_a_drag_lengthens_and_turns(plane: Locator, page: Page) -> None:
    plane.scroll_into_view_if_needed()
    before = [facts(plane, key) for key in range(3)]
    assert before[1][3] < before[0][3]
    x, y, middle, height = held(plane, 2)
    page.mouse.move(x, y)
    page.mouse.down()
    out = 2.3  # + 3 below: not quite straight, as by hand
    page.mouse.move(middle + out * (x - middle) + 3, height + out * (y - height), steps=5)
    page.mouse.up()
    page.mouse.move(x, y)  # the button has been released
    after = [facts(plane, key) for key in range(3)]
    assert after[1][0] > 2 * before[1][0]
    assert after[1][3] > after[0][3]  # more weight by dot product
    assert [row[4] for row in after] == [row[4] for row in before]  # and the same weight by cosine
    assert after[1][1] == before[1][1]
    x, y, middle, height = held(plane, 2)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + (height - y), height, steps=5)  # onto the horizontal axis
    page.mouse.up()
    assert facts(plane, 1)[1] > 0.95
    assert facts(plane, 1)[4] > facts(plane, 0)[4]
    assert plane.locator(".said").inner_text().startswith("B: length ")


def test_a_finger_drags(plane: Locator, page: Page) -> None:
    plane.scroll_into_view_if_needed()
    length, *_ = facts(plane, 2)
    scrolled = page.evaluate("scrollY")
    x, y, middle, height = held(plane, 3)
    finger = page.context.new_cdp_session(page)
    for kind, far in ("touchStart", 1.0), ("touchMove", 1.4), ("touchMove", 1.8), ("touchEnd", 0):
        at = {"x": middle + far * (x - middle), "y": height + far * (y - height)}
        touches = {"type": kind, "touchPoints": [at] if far else []}
        finger.send("Input.dispatchTouchEvent", touches)
    assert facts(plane, 2)[0] > 1.5 * length
    assert page.evaluate("scrollY") == pytest.approx(scrolled, abs=2)
    assert plane.locator(".card.picked b").inner_text() == "C"


def test_arrow_keys_lengthen_and_turn(plane: Locator, page: Page) -> None:
    before = facts(plane, 2)
    arrow = plane.get_by_role("slider", name="key C")
    arrow.focus()
    for _ in range(3):
        page.keyboard.press("ArrowUp")
    longer = facts(plane, 2)
    assert longer[0] == pytest.approx(before[0] + 0.3, abs=0.011)
    assert longer[3] < before[3]  # its score is below 0, so a longer key gets less weight
    assert longer[4] == before[4]
    assert arrow.get_attribute("aria-valuetext") == f"length {longer[0]:.2f}, direction 135°"
    for _ in range(6):
        page.keyboard.press("ArrowRight")  # 30 degrees: nearly orthogonal to the query
    assert arrow.get_attribute("aria-valuetext") == f"length {longer[0]:.2f}, direction 105°"
    said = plane.locator(".said").inner_text()
    assert said.startswith(f"C: length {longer[0]:.2f}, 91° away from the query.")
    plane.locator(".heard", has_text=said).wait_for(state="attached")
    for _ in range(40):
        page.keyboard.press("ArrowUp")
    assert facts(plane, 2)[0] == 3  # the maximum length
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("ArrowDown")
    assert plane.locator(".said").inner_text().startswith("Query: length 1.27. Of the keys, A has")
    dots = [facts(plane, key)[2] for key in range(3)]
    expected = softmax(torch.tensor(dots)).tolist()
    assert [facts(plane, key)[3] for key in range(3)] == pytest.approx(expected, abs=0.012)
