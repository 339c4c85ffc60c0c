"""Chapter 1: what its text claims beyond what its cells print."""

import re

import numpy as np
import pytest

from tests.support.chapters import Chapter

chapter = Chapter("01_library.ipynb")


@pytest.fixture(scope="module")
def names() -> dict:
    """The names that the chapter has defined by the end of its look-ups."""
    return chapter.run(*chapter.until("slide"))


@pytest.mark.parametrize(
    "question", ["", "?!", "AI", "ai, Ai; AI", "AI " * 2000, "人工智能的伦理", "can't we cook?"]
)
def test_the_readers_cell_survives_any_question(question, names):
    code = re.sub(
        r'question = ".*"', lambda _: f"question = {question!r}", chapter.source("your-question")
    )
    assert repr(question) in code
    space = dict(names)
    exec(code, space)
    for name in ("your-report", "ask-library"):
        exec(chapter.source(name), space)
    assert space["your_weights"].sum() == pytest.approx(1)
    assert space["your_report"].sum() == pytest.approx(100)
    asked = len(re.findall(r"\bai\b", question.lower()))
    assert space["your_query"].tolist() == [0, asked, 0, 0, 0, 0, 0, 0]


def test_hard_look_up_answers_the_slide_with_one_jump(names):
    query, cooking, keys = names["query"], names["cooking"], names["keys"]
    parts = np.linspace(0, 1, 1001)[:, None]
    scores = ((1 - parts) * query + parts * cooking) @ keys.T
    soft = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True) @ names["recipes"]
    hard = names["recipes"][scores.argmax(axis=1)]
    assert (np.diff(hard) != 0).sum() == 1
    assert set(hard) == {0, 50}  # the text says "by fifty pages"
    assert (np.diff(soft) > 0).all()


def test_the_best_width_of_the_kernel_is_the_middle_one_for_most_days():
    space = chapter.run("kernel-data", "kernel")
    best = []
    for seed in range(200, 220):
        (hours, degrees), (asked, right) = (space["measurements"](s) for s in (seed, seed + 100))
        missed = {
            sigma: (space["kernel_weights"](asked, hours, sigma) @ degrees - right).square().mean()
            for sigma in (0.1, 1, 5)
        }
        best.append(min(missed, key=missed.__getitem__))
    assert best.count(1) >= 15
