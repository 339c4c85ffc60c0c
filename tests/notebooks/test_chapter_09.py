"""Chapter 9: the stored translators of other seeds are those of its training."""

import inspect
from typing import Any

import pytest
import torch

from attnbook.translation import TRANSLATORS, Vocabulary, load_translator
from tools.translators import CELLS, CHAPTER, FIRST, TRAININGS, run_cells


@pytest.fixture(scope="module")
def chapter() -> dict[str, Any]:
    return run_cells(CHAPTER, CELLS)


@pytest.mark.parametrize(("seed", "farthest"), TRAININGS)
def test_a_stored_translator_is_what_the_chapter_would_train(chapter, seed, farthest):
    """If not, train them again: CONTRIBUTING.md, "Change code or a number in a chapter"."""
    stored = torch.load(TRANSLATORS, weights_only=True)["trainings"][seed, farthest]
    assert stored["steps"] == inspect.signature(chapter["teach"]).parameters["steps"].default
    model, losses = chapter["teach"](farthest, seed, steps=FIRST)
    assert losses == pytest.approx(stored["first_losses"], rel=1e-9)
    loaded = load_translator(chapter["chinese"], chapter["english"], seed, farthest)
    assert {n: p.shape for n, p in loaded.state_dict().items()} == {
        n: p.shape for n, p in model.state_dict().items()
    }


def test_nothing_is_stored_that_the_chapter_does_not_load():
    assert set(torch.load(TRANSLATORS, weights_only=True)["trainings"]) == set(TRAININGS)


def test_a_translator_says_what_it_does_not_fit(chapter):
    chinese, english = chapter["chinese"], chapter["english"]
    with pytest.raises(ValueError, match=r"seed=7, farthest=8: .*\(1, 8\)"):
        load_translator(chinese, english, seed=7)
    own = Vocabulary([["我", "喝", "茶"]])
    with pytest.raises(ValueError, match=r"7 Chinese and .* teach"):
        load_translator(own, english, seed=1)
