"""The figure of two layers, used as a reader would use it; its numbers match the model."""

import itertools
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
import torch
from playwright.sync_api import Locator, Page

from attnbook import head_outputs
from tests.support.chapters import Chapter
from tests.support.pages import FOLDER

ROW = 18  # one of the 256 sequences
TRAINING = ["task-draw", "task-first-layer", "grown-train", "grown-grow", "hand-exam"]

pytestmark = pytest.mark.usefixtures("book")


@pytest.fixture(scope="module")
def chapter() -> Iterator[dict[str, Any]]:
    """The names that the chapter defines, with its model trained again."""
    threads = torch.get_num_threads()
    space = Chapter("13_reading_attention.ipynb").run(*TRAINING, "circuits-code", "remove-kinds")
    space["rounded"], _ = space["grow"](0)
    yield space
    torch.set_default_dtype(torch.float32)
    torch.set_num_threads(threads)


@pytest.fixture
def figure(page: Page) -> Locator:
    """The figure in its initial state."""
    page.goto(FOLDER + "book/13_reading_attention.html")
    return page.locator("attn-induction").last


def switch(figure: Locator, layer: int, head: int) -> Locator:
    return figure.get_by_role("checkbox", name=f"layer {layer}, head {head}", exact=True)


def states() -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """List the sets of heads that can be removed, from layer 1 and from layer 2."""
    of_2 = [((), heads) for n in range(5) for heads in itertools.combinations(range(4), n)]
    return of_2 + [((head,), ()) for head in range(4)]


@torch.no_grad()
def without(chapter: dict[str, Any], off: tuple[tuple[int, ...], ...]) -> tuple[torch.Tensor, ...]:
    """Return what the chapter's model computes for sequence ROW without these heads."""
    model, ids = chapter["rounded"], chapter["exam_ids"][:, :-1]

    def mean_of(heads):
        def replace(outputs):
            mean = chapter["ABLATIONS"]["mean"](outputs)
            rows = [mean[:, h] if h in heads else outputs[:, h] for h in range(4)]
            return torch.stack(rows, dim=1)

        return replace

    with ExitStack() as stack:
        for layer, heads in zip(model.layers, off, strict=True):
            stack.enter_context(head_outputs(layer, mean_of(heads)))
        first_reads = model.token(ids) + model.position.weight[:23]
        mask = torch.ones(23, 23).tril().bool()
        second_reads = first_reads + model.layers[0](first_reads, mask=mask)[0]
        logits, weights = model(ids)
    (_, ov_1), (qk_2, ov_2) = (chapter["circuits"](layer) for layer in model.layers)
    wrote = weights[0, ROW] @ first_reads[ROW] @ ov_1  # (H, L, D)
    found_by = (model.token.weight @ qk_2[:, None] @ wrote.mT).mean(0).mT  # (H, L, V)
    raised = weights[1, ROW] @ second_reads[ROW] @ ov_2 @ model.unembed.weight.mT
    return logits[ROW].softmax(-1), weights[:, ROW], found_by, raised


def test_its_numbers_are_the_models(figure: Locator, chapter: dict[str, Any]) -> None:
    letters = chapter["LETTERS"]
    for off in states():
        shown = figure.evaluate(
            "(figure, off) => { figure.off = off.map(heads => new Set(heads)); figure.update();"
            "return [figure.below, figure.now()]; }",
            [list(heads) for heads in off],
        )
        probabilities, weights, *adds = without(chapter, off)
        for position, best in enumerate(shown[1]["says"], start=11):
            expected = probabilities[position].sort(descending=True)
            assert [letters.index(letter) for letter, _ in best] == expected.indices[
                : len(best)
            ].tolist()
            got = torch.tensor([share for _, share in best]).double()
            assert (got - 100 * expected.values[: len(best)]).abs().max() < 0.501
            assert len(best) == 3 or expected.values[len(best)] < 0.02
        for layer, part in enumerate(shown):
            if layer == 0 and off[0]:
                continue  # removing a head changes no other head in its layer
            drawn = torch.zeros(4, 23, 23).double()
            for head, query in itertools.product(range(4), range(23)):
                for place, share in part["weights"][head][query]:
                    drawn[head, query, ord(place) - ord("a")] = share
                letter, most = part["adds"][head][query]
                added = adds[layer][head, query] - adds[layer][head, query].mean()
                assert letter == letters[added.argmax()]
                assert abs(most - added.max()) < 0.501
            seen = weights[layer] >= 0.06
            assert torch.equal(drawn > 0, seen)
            assert (drawn - 100 * weights[layer])[seen].abs().max() < 0.501


def test_heads_are_removed(figure: Locator) -> None:
    said, right = figure.locator(".said"), figure.locator("output")
    assert said.inner_text() == (
        "After c the model predicts m, 100%. Right. Layer 1 attends most to d, n, f, h. "
        "Layer 2 attends most to m, m, m, m."
    )
    assert right.inner_text() == "right: 9 of 9"
    for head in (0, 1, 3):
        switch(figure, 2, head).uncheck()
    assert said.inner_text().startswith("After c the model predicts m, 99%. Right.")
    assert right.inner_text() == "right: 8 of 9"
    assert figure.locator(".adds.off").all_inner_texts() == ["mean"] * 3
    switch(figure, 2, 2).press("Space")
    assert right.inner_text() == "right: 0 of 9"
    switch(figure, 1, 2).tap()  # the heads of layer 2 come back
    assert [switch(figure, 2, head).is_checked() for head in range(4)] == [True] * 4
    assert right.inner_text() == "right: 6 of 9"
    assert figure.locator(".wrong").all_inner_texts() == ["a", "d", "d"]
    assert said.inner_text().startswith("After c the model predicts d, 98%. Wrong: it is m.")
    assert figure.locator(".due").all_inner_texts() == ["m 100 %"]  # with all heads
    figure.locator(".heard", has_text=said.inner_text()).wait_for(state="attached")
    switch(figure, 1, 0).uncheck()  # only one head of layer 1 at a time
    assert switch(figure, 1, 2).is_checked()
    switch(figure, 1, 0).check()
    assert right.inner_text() == "right: 9 of 9"


def test_a_letter_is_picked(figure: Locator, page: Page) -> None:
    said, cells = figure.locator(".said"), figure.get_by_role("gridcell")
    cells.nth(2).click()
    assert said.inner_text().startswith("In the first half, nothing is predictable. Layer 1")
    assert figure.locator(".adds").nth(2).inner_text() == "c +25"
    page.keyboard.press("ArrowDown")
    assert "p is not marked: a jump, or the block begins again." in said.inner_text()
    page.keyboard.press("ArrowRight")
    assert said.inner_text().startswith("After p the model predicts c, 100%. Right.")
    page.keyboard.press("End")
    assert said.inner_text().startswith("After f the model predicts d")
    assert cells.nth(22).evaluate("cell => cell.getRootNode().activeElement === cell")
    cells.nth(16).tap()
    assert said.inner_text().startswith("After c the model predicts m")
    assert figure.locator("[aria-selected=true]").count() == 1
