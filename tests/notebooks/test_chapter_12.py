"""Chapter 12: the stored models come from its training, and its text's claims hold."""

import inspect
import re
from collections.abc import Callable
from typing import Any

import pytest
import torch
from transformers import Llama4TextConfig

from attnbook import FeedForward, GatedFeedForward, device, keep_top_k, keep_top_p
from attnbook.corpus import BEGIN
from attnbook.corpus.grammar.corpus import is_for_training
from attnbook.corpus.grammar.recognize import ways
from attnbook.training.trained import LANGUAGE_MODELS, load_language_model
from tests.support.chapters import Chapter
from tools.train.language_models import CELLS, CHAPTER, SEEDS
from tools.train.translators import FIRST, run_cells

chapter = Chapter("12_language_model.ipynb")
LIKES = "your grandmother likes"


@pytest.fixture(scope="module")
def space() -> dict[str, Any]:
    return run_cells(CHAPTER, CELLS)


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


def test_strong_cuts_leave_fewer_different_grammatical_sentences_than_moderate_ones():
    moderate, strong = ({"k = 30", "k = 10", "p = 0.9"}, {"k = 5", "p = 0.5"})
    different = {
        name: int(rest.split()[1])
        for name, rest in re.findall(r"^([kp] = [\d.]+) +(.*)$", chapter.printed(), re.M)
    }
    assert max(different[name] for name in strong) < min(different[name] for name in moderate)


def test_a_gated_network_two_thirds_as_wide_has_as_many_weights():
    counts = [
        sum(p.numel() for p in network.parameters() if p.dim() == 2)
        for network in (GatedFeedForward(64, 160), FeedForward(64, 240))
    ]
    assert counts == [30_720, 30_720]
    assert "30,720" in chapter.source("gate-size")


def test_multiplied_embeddings_replace_the_norms_in_the_short_training():
    """What the table shows is the size of the embeddings."""
    (output,) = chapter.cells["parts-table"]["outputs"]
    rows = re.findall(r"^(\w+) +([\d.]+) +([\d.]+)$", "".join(output["text"]), re.M)
    as_it_is, without, scaled = ([float(loss) for loss in losses] for _, *losses in rows)
    assert without[0] - as_it_is[0] > 0.5
    assert all(abs(a - b) < 0.1 for a, b in zip(as_it_is, scaled, strict=True))
    assert "these embeddings are too small" in chapter.source("parts-seen")


def test_the_training_data_give_a_held_out_pair_no_probability(space):
    exec(chapter.source("memorized-run").partition("by_grammar =")[0], space)
    assert len(space["new_pairs"]) == 60
    for words in space["new_pairs"]:
        assert words not in space["trained"]
        assert not any(is_for_training(made) for made, _ in ways(words))
    assert "not a shortcoming of the models" in chapter.source("memorized-seen")


@torch.no_grad()
def test_each_cut_keeps_the_words_that_the_text_counts():
    text = chapter.source("explore-sampling-seen")
    model, english = load_language_model(0)

    def kept(beginning: str, cut: Callable[..., torch.Tensor], limit: float) -> torch.Tensor:
        logits = model(torch.tensor([[BEGIN, *english.encode(beginning.split())]]))[0, -1]
        return logits.softmax(-1)[cut(logits, limit).isfinite()]

    by_k = kept("every morning", keep_top_k, 10)
    assert f"a probability of {by_k.max():.2f}" in text
    assert f"down to {by_k.min():.4f}" in text
    mother, grandmother = (kept(f"{x}", keep_top_p, 0.9) for x in ("my mother", LIKES))
    assert f"{(mother < 0.01).sum()} of the {len(mother)} words" in text
    assert f"after “{LIKES}” {(grandmother < 0.01).sum()} of {len(grandmother)}" in text


def test_the_reasons_in_12_11_have_the_numbers_of_the_experiment():
    (output,) = chapter.cells["gap-run"]["outputs"]
    both, left = (
        re.findall(rf"{name} +(\d+).* (\d+)$", "".join(output["text"]), re.M)[0]
        for name in ("both sides", "left only")
    )
    text = chapter.source("three-table")
    assert f"the first word of {both[0]} of 500" in text
    assert f"only the left, {left[0]}." in text
    assert f"the numbers are {both[1]} and {left[1]}" in text


def test_not_every_llama_consists_of_the_blocks_of_this_chapter():
    assert Llama4TextConfig().num_local_experts > 1
    assert "In Llama 2 and Llama 3, its layers are the same." in chapter.source("chat")
    assert "mixture of experts" in chapter.source("chat")
    assert "LLaMA, Llama 2 and Llama 3 consist of blocks like ours" in chapter.source("summary")
    assert "the published Llama models" not in chapter.source("summary")


def test_the_first_decoder_only_model_and_the_first_joint_sequence_are_cited():
    link = "[Liu et al., 2018](bibliography.md#liu-et-al-2018)"
    (named,) = [s for s in chapter.source("one-stack").split(". ") if "**decoder-only**" in s]
    assert f"({link};" in named
    assert link in chapter.source("joint")


def test_the_text_says_what_the_claims_try():
    assert "and less variety" not in chapter.source("summary")
    assert "a floor from 1.52 to 1.61, and gaps from 0.05 to 0.09" in chapter.source("train-seen")
