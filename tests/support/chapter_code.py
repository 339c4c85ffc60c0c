"""Chapters' code that both tests/notebooks and tests/claims need. Nothing is trained here."""

from typing import Any

import pytest

from tests.support.chapters import Chapter

__all__ = ["critics", "embeddings", "stacks", "translators"]


@pytest.fixture(scope="module")
def embeddings() -> dict[str, Any]:
    """What chapter 2 needs to train and measure embedding tables."""
    chapter = Chapter("02_embeddings.ipynb")
    cells = ["small-language", "gloss", "held-out-sentences", "model", "learning", "record"]
    cells += ["cosines", "exam-pairs", "shuffled"]
    return chapter.run(*cells, cosines=chapter.source("cosines").partition("torch.testing")[0])


@pytest.fixture(scope="module")
def stacks() -> dict[str, Any]:
    """The six stacks of 8.3, without the figure."""
    chapter = Chapter("08_transformer.ipynb")
    lines = chapter.source("depth-explore").splitlines()
    six = "\n".join(line for line in lines if not line.startswith(("at_top", "explore_depth")))
    return chapter.run("around-code", "around-measure", "depth-explore", **{"depth-explore": six})


@pytest.fixture(scope="module")
def critics() -> dict[str, Any]:
    """The classifier of reviews, and how chapter 8 trains it."""
    cells = ("classify-texts", "classify-batch", "classify-model", "classify-train")
    return Chapter("08_transformer.ipynb").run(*cells)


@pytest.fixture(scope="module")
def translators() -> dict[str, Any]:
    """Chapter 13's trained translators, and its ways to say which word matters."""
    cells = ("translator-load", "translator-pair", "translator-drop", "translator-ways")
    return Chapter("13_reading_attention.ipynb").run(*cells)
