"""Chapter 9: its stored translators come from its training, and its text says what holds."""

import inspect
import json
from typing import Any

import pytest
import torch

from attnbook import device
from attnbook.corpus import Vocabulary, make_batch
from attnbook.corpus.grammar.lexicon import nouns
from attnbook.training.trained import TRANSLATORS, load_translator
from tests.support.chapters import Chapter
from tools.train.live_models import TRANSLATOR, chinese_words, load_packed
from tools.train.translators import FIRST, TWO_STACKS, run_cells

NOTEBOOK = Chapter("09_translation.ipynb")


@pytest.fixture(scope="module")
def chapter() -> dict[str, Any]:
    return run_cells(TWO_STACKS.chapter, TWO_STACKS.cells)


@pytest.mark.parametrize(("seed", "farthest"), TWO_STACKS.trainings)
def test_a_stored_translator_is_what_the_chapter_would_train(chapter, seed, farthest):
    """If this fails, retrain as in CONTRIBUTING.md, "Change code or a number in a chapter"."""
    stored = torch.load(TRANSLATORS, weights_only=True)["trainings"][seed, farthest]
    assert stored["steps"] == inspect.signature(chapter["teach"]).parameters["steps"].default
    model, losses = chapter["teach"](farthest, seed, steps=FIRST)
    assert losses == pytest.approx(stored["first_losses"], rel=1e-9)
    loaded = load_translator(chapter["chinese"], chapter["english"], seed, farthest)
    assert {n: p.shape for n, p in loaded.state_dict().items()} == {
        n: p.shape for n, p in model.state_dict().items()
    }


def test_nothing_is_stored_that_the_chapter_does_not_load():
    assert set(torch.load(TRANSLATORS, weights_only=True)["trainings"]) == set(TWO_STACKS.trainings)


def test_a_translator_says_what_it_does_not_fit(chapter):
    chinese, english = chapter["chinese"], chapter["english"]
    with pytest.raises(ValueError, match=r"seed=7, farthest=8: .*\(1, 8\)"):
        load_translator(chinese, english, seed=7)
    own = Vocabulary([["我", "喝", "茶"]])
    with pytest.raises(ValueError, match=r"7 Chinese and .* teach"):
        load_translator(own, english, seed=1)


def is_quality(chinese) -> bool:
    return len(chinese) > 2 and chinese[-2] == "很" and chinese[-1] != "喜欢"  # not “like”


def test_no_training_sentence_joins_two_things_with_their_qualities(chapter):
    spoken_of = {noun.zh for noun in nouns}
    for pair in chapter["corpus"].train:
        first, comma, second = " ".join(pair.chinese).partition(" ， ")
        if comma and is_quality(first.split()) and is_quality(second.split()):
            assert not spoken_of & {*second.split()}, pair.chinese


def test_the_cache_of_a_decoder_also_keeps_the_source(chapter):
    b = make_batch([chapter["corpus"].longer[0]], chapter["chinese"], chapter["english"], device())
    model = load_translator(chapter["chinese"], chapter["english"], seed=1).to(device())
    cache = model.new_cache()
    model.decode(b.target, model.encode(b.source, b.source_mask)[0], b.source_mask, cache)
    assert [kept.length for kept in cache[0]] == [b.target.size(1), b.source.size(1)]


def test_the_translator_in_the_page_knows_the_words_of_the_chapter(chapter):
    """If this fails, retrain as in CONTRIBUTING.md, "Change code or a number in a chapter"."""
    text = TRANSLATOR.read_text("utf-8")
    assert load_packed(text)[2].words == chapter["english"].words
    assert json.loads(text)["chinese"] == chinese_words(chapter["chinese"])


def test_the_text_says_what_the_claims_try():
    assert "No mask helps" in NOTEBOOK.source("unshifted")
    assert "don't combine clauses freely" in NOTEBOOK.source("summary")
    assert "hasn't learned to combine clauses freely" in NOTEBOOK.source("memory-seen")
