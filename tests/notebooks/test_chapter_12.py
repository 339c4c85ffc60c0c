"""Chapter 12: the stored models come from its training, and its text's claims hold."""

import inspect
import re
from typing import Any

import pytest
import torch

from attnbook import FeedForward, GatedFeedForward, device, keep_top_k
from attnbook.training.trained import LANGUAGE_MODELS, load_language_model
from tests.support.chapters import Chapter
from tools.train.language_models import CELLS, CHAPTER, SEEDS
from tools.train.translators import FIRST, run_cells

chapter = Chapter("12_language_model.ipynb")


@pytest.fixture(scope="module")
def space() -> dict[str, Any]:
    return run_cells(CHAPTER, CELLS)


@pytest.fixture(scope="module")
def judging(space) -> dict[str, Any]:
    """The chapter's names for writing and judging, with the stored models and fewer sentences."""
    space["models"] = [load_language_model(seed)[0].to(device()) for seed in SEEDS]
    space["model"] = space["models"][0]
    for name in ("writing-greedy", "judge-run"):
        exec(chapter.source(name).replace("500", "150"), space)
    return space


def test_nothing_else_is_stored_than_the_seeds_of_the_chapter():
    assert set(torch.load(LANGUAGE_MODELS, weights_only=True)["trainings"]) == set(SEEDS)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_stored_model_is_what_the_chapter_would_train(space, seed):
    """If this fails, retrain as in CONTRIBUTING.md, "Change code or a number in a chapter"."""
    stored = torch.load(LANGUAGE_MODELS, weights_only=True)["trainings"][seed]
    assert stored["steps"] == inspect.signature(space["fit"]).parameters["steps"].default
    model = space["new_model"](seed)
    losses = space["fit"](model, seed, FIRST)
    assert losses == pytest.approx(stored["first_losses"], rel=1e-9)
    loaded, vocabulary = load_language_model(seed)
    assert vocabulary.words == space["english"].words
    assert {n: p.shape for n, p in loaded.state_dict().items()} == {
        n: p.shape for n, p in model.state_dict().items()
    }


def test_the_stored_model_of_seed_0_is_as_good_as_the_one_that_the_chapter_trains(space):
    (output,) = chapter.cells["train-floor"]["outputs"]
    printed = re.match(r"grammar (.*), models (\S+) ", "".join(output["text"]))
    model, judged = load_language_model(0)[0].to(device()), space["fresh"][:400]
    with torch.no_grad():
        found = space["nats"](model, judged).sum() / space["count_tokens"](judged)
    assert found.item() == pytest.approx(sum(map(float, printed.groups())), abs=0.01)


def test_an_unknown_seed_is_named():
    with pytest.raises(ValueError, match=r"seed=7: the seeds stored are \[0, 1, 2\]"):
        load_language_model(7)


@pytest.mark.parametrize("seed", SEEDS)
def test_temperature_lowers_and_cutting_raises_what_is_grammatical_in_each_model(judging, seed):
    """With other random numbers, too, a low temperature leaves fewer different sentences."""
    ways = ({"temperature": 0.5}, {"p": 0.8}, {}, {"temperature": 1.5})
    counts = [judging["judge"](judging["models"][seed], seed=seed + 5, **way) for way in ways]
    right, _, different = zip(*counts, strict=True)
    sharper, cut, as_learned, flatter = right
    assert min(sharper, cut) > as_learned > flatter + 20
    assert different[0] < different[2] <= different[3]


def test_top_k_loses_variety_mostly_at_the_first_word(judging, monkeypatch):
    """If top-k does not apply to the first word, most of the lost variety returns."""
    write, model = judging["write"], judging["model"]

    def different(**options) -> int:
        return len(set(write(model, 500, **options)))

    as_learned, by_k = different(), different(k=10)
    cuts = iter([lambda logits, k: logits])
    monkeypatch.setattr(
        "attnbook.models.sampling.keep_top_k", lambda *given: next(cuts, keep_top_k)(*given)
    )
    first_word_free = different(k=10)
    assert by_k < first_word_free < as_learned
    assert first_word_free - by_k > (as_learned - by_k) / 2


@pytest.mark.parametrize("seed", SEEDS)
def test_top_p_keeps_more_variety_than_top_k_in_each_model(judging, seed):
    model = judging["models"][seed]
    by_k, by_p = (len(set(judging["write"](model, 500, **way))) for way in ({"k": 10}, {"p": 0.9}))
    assert by_p > by_k + 20


def test_a_gated_network_two_thirds_as_wide_has_as_many_weights():
    counts = [
        sum(p.numel() for p in network.parameters() if p.dim() == 2)
        for network in (GatedFeedForward(64, 160), FeedForward(64, 240))
    ]
    assert counts == [30_720, 30_720]
    assert "30,720" in chapter.source("gate-size")
