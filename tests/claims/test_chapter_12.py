"""Chapter 12: what its text claims beyond what its cells print, tried in other experiments."""

from typing import Any

import pytest
import torch

from attnbook import device, keep_top_k
from attnbook.training.trained import load_language_model
from tests.support.chapters import Chapter
from tests.support.claims import claim
from tools.train.language_models import CELLS, CHAPTER, SEEDS
from tools.train.translators import run_cells

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


@pytest.mark.parametrize("seed", SEEDS)
def test_temperature_lowers_and_cutting_raises_what_is_grammatical_in_each_model(judging, seed):
    ways = ({"temperature": 0.5}, {"p": 0.8}, {}, {"temperature": 1.5})
    counts = [judging["judge"](judging["models"][seed], seed=seed + 5, **way) for way in ways]
    sharper, cut, as_learned, flatter = (right for right, *_ in counts)
    assert min(sharper, cut) > as_learned > flatter + 20


@claim("Here moderate settings of each gave more grammatical sentences, and more different ones;")
@pytest.mark.parametrize("seed", SEEDS)
def test_moderate_settings_leave_more_different_grammatical_sentences(judging, seed):
    """Different sentences don't prove variety: nearly all ungrammatical ones differ."""
    ways = ({"temperature": 0.8}, {"k": 30}, {"p": 0.9}, {}, {"temperature": 1.5})
    counts = [judging["judge"](judging["models"][seed], seed=seed + 5, **way) for way in ways]
    *moderate, as_learned, flatter = (different for _, different, _ in counts)
    assert min(moderate) > as_learned > flatter + 20


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


@claim(
    "The loss of a language model has a floor, the entropy of its data. For our grammar it is about"
    " 1.6 nats per token, and our three models with 111,040 parameters end about 0.07 above it."
)
@pytest.mark.parametrize("seed_of_sentences", [104, 301, 303])
@torch.no_grad()
def test_other_fresh_sentences_have_a_similar_floor_and_gap(space, seed_of_sentences):
    """The ranges are those that the text names, widened by half of their last digit."""
    exec(chapter.source("floor-code").partition("judged =")[0], space)
    fresh, _ = space["draw_sentences"](400, seed=seed_of_sentences)
    n_tokens = space["count_tokens"](fresh)
    floor = sum(map(space["grammar_nats"], fresh)) / n_tokens
    assert 1.515 < floor < 1.615
    for seed in SEEDS:
        model = load_language_model(seed)[0].to(device())
        assert 0.045 < space["nats"](model, fresh).sum().item() / n_tokens - floor < 0.095
