"""The translators of chapters 9 and 12 come from their training, and the text says what holds.

Both chapters draw the same 60,000 pairs, which takes seconds. In one file they are drawn once.
"""

import inspect
import json
from typing import Any

import pytest
import torch

from attnbook import device
from attnbook.corpus import BEGIN, END, PAD, Pair, Vocabulary, make_batch
from attnbook.corpus.grammar.lexicon import nouns
from attnbook.training.trained import load_one_sequence, load_translator
from tests.support.chapters import Chapter
from tools.train.live_models import TRANSLATOR, chinese_words, load_packed
from tools.train.translators import FIRST, ONE_STACK, TWO_STACKS, run_cells

NOTEBOOK = Chapter("09_translation.ipynb")
STORED = {"nine": TWO_STACKS, "twelve": ONE_STACK}
TRAININGS = [(name, *key) for name, stored in STORED.items() for key in stored.trainings]


@pytest.fixture(scope="module")
def nine() -> dict[str, Any]:
    return run_cells(TWO_STACKS.chapter, TWO_STACKS.cells)


@pytest.fixture(scope="module")
def twelve() -> dict[str, Any]:
    return run_cells(ONE_STACK.chapter, ONE_STACK.cells)


@pytest.mark.parametrize(("name", "seed", "farthest"), TRAININGS)
def test_a_stored_model_is_what_its_chapter_would_train(name, seed, farthest, request):
    """If this fails, retrain as in CONTRIBUTING.md, "Change code or a number in a chapter"."""
    chapter, of = request.getfixturevalue(name), STORED[name]
    stored = torch.load(of.file, weights_only=True)["trainings"][seed, farthest]
    assert stored["steps"] == inspect.signature(chapter["teach"]).parameters["steps"].default
    model, losses = chapter["teach"](farthest, seed, steps=FIRST)
    assert losses == pytest.approx(stored["first_losses"], rel=1e-9)
    loaded = of.load(*(chapter[words] for words in of.words.values()), seed, farthest)
    assert {n: p.shape for n, p in loaded.state_dict().items()} == {
        n: p.shape for n, p in model.state_dict().items()
    }


@pytest.mark.parametrize("stored", STORED.values(), ids=STORED)
def test_nothing_is_stored_that_the_chapter_does_not_load(stored):
    assert set(torch.load(stored.file, weights_only=True)["trainings"]) == set(stored.trainings)


# --- chapter 9 -------------------------------------------------------------------------------


def test_a_translator_says_what_it_does_not_fit(nine):
    chinese, english = nine["chinese"], nine["english"]
    with pytest.raises(ValueError, match=r"seed=7, farthest=8: .*\(1, 8\)"):
        load_translator(chinese, english, seed=7)
    own = Vocabulary([["我", "喝", "茶"]])
    with pytest.raises(ValueError, match=r"7 Chinese and .* teach"):
        load_translator(own, english, seed=1)


def is_quality(chinese) -> bool:
    return len(chinese) > 2 and chinese[-2] == "很" and chinese[-1] != "喜欢"  # not “like”


def test_no_training_sentence_joins_two_things_with_their_qualities(nine):
    spoken_of = {noun.zh for noun in nouns}
    for pair in nine["corpus"].train:
        first, comma, second = " ".join(pair.chinese).partition(" ， ")
        if comma and is_quality(first.split()) and is_quality(second.split()):
            assert not spoken_of & {*second.split()}, pair.chinese


def test_the_cache_of_a_decoder_also_keeps_the_source(nine):
    b = make_batch([nine["corpus"].longer[0]], nine["chinese"], nine["english"], device())
    model = load_translator(nine["chinese"], nine["english"], seed=1).to(device())
    cache = model.new_cache()
    model.decode(b.target, model.encode(b.source, b.source_mask)[0], b.source_mask, cache)
    assert [kept.length for kept in cache[0]] == [b.target.size(1), b.source.size(1)]


def test_the_translator_in_the_page_knows_the_words_of_the_chapter(nine):
    """If this fails, retrain as in CONTRIBUTING.md, "Change code or a number in a chapter"."""
    text = TRANSLATOR.read_text("utf-8")
    assert load_packed(text)[2].words == nine["english"].words
    assert json.loads(text)["chinese"] == chinese_words(nine["chinese"])


def test_the_text_says_what_the_claims_try():
    assert "No mask helps" in NOTEBOOK.source("unshifted")
    assert "don't combine clauses freely" in NOTEBOOK.source("summary")
    assert "hasn't learned to combine clauses freely" in NOTEBOOK.source("memory-seen")


# --- section 12.10 ---------------------------------------------------------------------------


def test_a_model_says_what_it_does_not_fit(twelve):
    with pytest.raises(ValueError, match=r"seed=7, farthest=8: .*\(1, 8\)"):
        load_one_sequence(twelve["joint"], seed=7, farthest=8)
    with pytest.raises(ValueError, match=r"7 Chinese and English words: .* the 618 of .* teach"):
        load_one_sequence(Vocabulary([["我", "drink", "茶"]]), seed=1, farthest=8)


def test_labels_count_the_english_only(twelve):
    joint = twelve["joint"]
    tokens, labels = twelve["join"]([Pair(("茶", "很", "贵"), ("the", "tea")), Pair((), ("is",))])
    tea, the, is_ = (joint.encode([word])[0] for word in ("tea", "the", "is"))
    assert tokens.tolist()[0][3:] == [BEGIN, the, tea]
    assert labels.tolist() == [[PAD, PAD, PAD, the, tea, END], [is_, END, PAD, PAD, PAD, PAD]]


@torch.no_grad()
@pytest.mark.parametrize("longest", [None, 4])
def test_translating_with_the_cache_takes_the_most_probable_word_each_time(twelve, longest):
    """Positions that are scaled by hand, without a cache, lead to the same words."""
    model = load_one_sequence(twelve["joint"], seed=0, farthest=0).to(device())
    pairs = [*twelve["corpus"].longer[:3], *twelve["corpus"].new_combinations[:3]]

    def scale(n: int) -> float:
        return longest / n if longest else 1

    for pair, said in zip(pairs, twelve["translate"](model, pairs, scale), strict=True):
        n, tokens = len(pair.chinese), [*twelve["joint"].encode(pair.chinese), BEGIN]
        while tokens[-1] != END:
            places = scale(n) * torch.arange(len(tokens))
            logits = model(torch.tensor([tokens]).to(device()), positions=places.to(device()))
            tokens.append(int(logits[0, -1].argmax()))
        assert twelve["joint"].decode(tokens[n:]) == said


@torch.no_grad()
def test_moving_the_whole_sequence_changes_nothing(twelve):
    model = load_one_sequence(twelve["joint"], seed=0, farthest=0).to(device())
    tokens, _ = twelve["join"](twelve["corpus"].longer[:20])
    order = torch.arange(tokens.size(1)).to(device())
    torch.testing.assert_close(model(tokens, positions=order + 100), model(tokens))
