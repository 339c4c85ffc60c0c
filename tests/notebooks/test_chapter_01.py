"""Chapter 1: what its text and pictures claim, where nbval compares only what its cells print."""

import re
from functools import cache

import numpy as np
import pytest

from tests.support.chapters import Chapter

pytestmark = pytest.mark.usefixtures("undisturbed")

chapter = Chapter("01_library.ipynb")


def run(until: str, **replaced: str) -> dict:
    """The chapter's names after its code cells up to `until`, some cells replaced."""
    return chapter.run(*chapter.until(until), **replaced)


@cache
def measured() -> tuple[dict, dict]:
    """What is left of the first input, and the gradient that reaches one, per kind of network."""
    names = run("gradients")
    return tuple({n: c.cpu() for n, c in names[x].items()} for x in ("signal", "reach"))


@pytest.mark.parametrize(
    "question", ["", "?!", "AI", "ai, Ai; AI", "AI " * 2000, "人工智能的伦理", "can't we cook?"]
)
def test_the_readers_cell_survives_any_question(question):
    code = re.sub(
        r'question = ".*"', lambda _: f"question = {question!r}", chapter.source("your-question")
    )
    assert repr(question) in code
    names = run("your-report", **{"your-question": code})
    assert names["your_weights"].sum() == pytest.approx(1)
    assert names["your_report"].sum() == pytest.approx(100)
    asked = len(re.findall(r"\bai\b", question.lower()))
    assert names["your_query"].tolist() == [0, asked, 0, 0, 0, 0, 0, 0]


def test_every_book_has_a_hundred_pages():
    assert np.array(run("contents")["pages"]).sum(axis=1).tolist() == [100] * 10


def test_the_look_ups_pictures_say_what_they_show():
    names = run("your-report")
    first, yours = chapter.alt("lookup-figure"), chapter.alt("your-report")
    for weight in sorted(names["weights"])[-3:]:
        assert f"{weight:.3f}" in first
    for amount, content in zip(names["report"], names["contents"], strict=True):
        assert re.search(rf"\b{amount:.0f} (pages )?of {content}", first)
    for weight in names["your_weights"]:
        assert f"{weight:.3f}" in yours
    for content in (0, 3):
        amount, name = names["your_report"][content], names["contents"][content]
        assert re.search(rf"\b{amount:.0f} (pages )?of {name}", yours)


def test_the_decay_pictures_say_what_they_show():
    signal, reach = measured()
    for curves, text in (
        (signal, chapter.alt("signal-figure")),
        (reach, chapter.alt("gradient-figure")),
    ):
        lost = [int((curves[n] < 1e-8).nonzero()[0]) for n in ("RNN", "LSTM", "RNN, orthogonal")]
        assert "{}, {} and {}".format(*lost) in text
    assert f"{signal['attention'][63]:.3f} at step 63" in chapter.alt("signal-figure")
    assert signal["LSTM, gate open"].min() > 0.5
    for name in ("attention", "LSTM, gate open"):
        assert reach[name][1:].min() > 0.01
        assert reach[name][1:].max() < 0.04


def test_attention_shares_itself_out_but_does_not_fade():
    signal, reach = (curves["attention"].numpy() for curves in measured())
    np.testing.assert_allclose(signal * np.arange(1, 65), 1, atol=0.25)
    by_distance = reach[1:].reshape(9, 7).mean(axis=1)
    np.testing.assert_allclose(by_distance, 1 / 64, atol=0.003)


def test_hard_look_up_answers_the_slide_with_one_jump():
    names = run("slide")
    query, cooking, keys = names["query"], names["cooking"], names["keys"]
    parts = np.linspace(0, 1, 1001)[:, None]
    scores = ((1 - parts) * query + parts * cooking) @ keys.T
    soft = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True) @ names["recipes"]
    hard = names["recipes"][scores.argmax(axis=1)]
    assert (np.diff(hard) != 0).sum() == 1
    assert set(hard) == {0, 50}  # "by fifty pages", says the text
    assert (np.diff(soft) > 0).all()
