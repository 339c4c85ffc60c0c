"""Section 12.10: the stored models come from its training, and its claims about positions hold."""

import inspect
from typing import Any

import pytest
import torch

from attnbook import device
from attnbook.corpus import BEGIN, END, PAD, Pair, Vocabulary
from attnbook.training.trained import ONE_SEQUENCE, load_one_sequence
from tools.train.translators import FIRST, ONE_STACK, run_cells


@pytest.fixture(scope="module")
def chapter() -> dict[str, Any]:
    return run_cells(ONE_STACK.chapter, ONE_STACK.cells)


@pytest.mark.parametrize(("seed", "farthest"), ONE_STACK.trainings)
def test_a_stored_model_is_what_the_chapter_would_train(chapter, seed, farthest):
    """If this fails, retrain as in CONTRIBUTING.md, "Change code or a number in a chapter"."""
    stored = torch.load(ONE_SEQUENCE, weights_only=True)["trainings"][seed, farthest]
    assert stored["steps"] == inspect.signature(chapter["teach"]).parameters["steps"].default
    model, losses = chapter["teach"](farthest, seed, steps=FIRST)
    assert losses == pytest.approx(stored["first_losses"], rel=1e-9)
    loaded = load_one_sequence(chapter["joint"], seed, farthest)
    assert {n: p.shape for n, p in loaded.state_dict().items()} == {
        n: p.shape for n, p in model.state_dict().items()
    }


def test_nothing_is_stored_that_the_chapter_does_not_load():
    assert set(torch.load(ONE_SEQUENCE, weights_only=True)["trainings"]) == set(ONE_STACK.trainings)


def test_a_model_says_what_it_does_not_fit(chapter):
    with pytest.raises(ValueError, match=r"seed=7, farthest=8: .*\(1, 8\)"):
        load_one_sequence(chapter["joint"], seed=7, farthest=8)
    with pytest.raises(ValueError, match=r"7 Chinese and English words: .* the 618 of .* teach"):
        load_one_sequence(Vocabulary([["我", "drink", "茶"]]), seed=1, farthest=8)


def test_labels_count_the_english_only(chapter):
    joint = chapter["joint"]
    tokens, labels = chapter["join"]([Pair(("茶", "很", "贵"), ("the", "tea")), Pair((), ("is",))])
    tea, the, is_ = (joint.encode([word])[0] for word in ("tea", "the", "is"))
    assert tokens.tolist()[0][3:] == [BEGIN, the, tea]
    assert labels.tolist() == [[PAD, PAD, PAD, the, tea, END], [is_, END, PAD, PAD, PAD, PAD]]


@torch.no_grad()
@pytest.mark.parametrize("longest", [None, 4])
def test_translating_with_the_cache_takes_the_most_probable_word_each_time(chapter, longest):
    """Positions that are scaled by hand, without a cache, lead to the same words."""
    model = load_one_sequence(chapter["joint"], seed=0, farthest=0).to(device())
    pairs = [*chapter["corpus"].longer[:3], *chapter["corpus"].new_combinations[:3]]

    def scale(n: int) -> float:
        return longest / n if longest else 1

    for pair, said in zip(pairs, chapter["translate"](model, pairs, scale), strict=True):
        n, tokens = len(pair.chinese), [*chapter["joint"].encode(pair.chinese), BEGIN]
        while tokens[-1] != END:
            places = scale(n) * torch.arange(len(tokens))
            logits = model(torch.tensor([tokens]).to(device()), positions=places.to(device()))
            tokens.append(int(logits[0, -1].argmax()))
        assert chapter["joint"].decode(tokens[n:]) == said


@torch.no_grad()
def test_moving_the_whole_sequence_changes_nothing(chapter):
    model = load_one_sequence(chapter["joint"], seed=0, farthest=0).to(device())
    tokens, _ = chapter["join"](chapter["corpus"].longer[:20])
    order = torch.arange(tokens.size(1)).to(device())
    torch.testing.assert_close(model(tokens, positions=order + 100), model(tokens))
