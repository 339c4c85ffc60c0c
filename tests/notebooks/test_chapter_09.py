"""Chapter 9: the stored translators, and the one on its page, come from its training."""

import inspect
import json
import math
from typing import Any

import pytest
import torch
from torch.optim.optimizer import register_optimizer_step_post_hook

from attnbook import device, greedy_decode
from attnbook.corpus import BEGIN, END, PAD, Pair, Vocabulary, make_batch
from attnbook.positions.absolute import SinusoidalPositions
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


def test_without_the_shift_a_model_learns_to_copy(chapter):
    """Section 9.4: the model's loss is nearly 0, but when it generates, it repeats BEGIN."""
    batches = chapter["stream"](torch.Generator().manual_seed(0), size=16)
    model = chapter["new_model"](0, d_model=32, n_layers=1)

    def copying(model):
        b = next(batches)
        return chapter["word_loss"](model, b, labels=b.target)

    losses = chapter["train_long"](model, copying, 120, 0.02, warm_up=20, clip=1.0)
    assert losses[-1] < 0.1
    b = next(batches)
    model.eval()
    said, _ = greedy_decode(model, b.source, b.source_mask, begin=BEGIN, end=END, max_length=8)
    assert (said == BEGIN).all()


def test_a_broken_batch_does_harm_through_both_averages_of_adam(chapter):
    """Section 9.5: with Adam's average gradient restored, the loss does not rise but stays high."""
    exec(NOTEBOOK.source("cares-run"), chapter)

    def put_back(adam, *_):
        for p, state in adam.state.items():
            if state["step"] == 29:
                kept[p] = state["exp_avg"].clone()
            if state["step"] == 30:
                state["exp_avg"].copy_(kept[p])

    def losses():
        return chapter["small_training"](0, broken=30, clip=math.inf)[1]

    kept: dict[torch.Tensor, torch.Tensor] = {}
    broken = losses()
    hook = register_optimizer_step_post_hook(put_back)
    repaired = losses()
    hook.remove()
    assert repaired[39] < repaired[28] < broken[39]
    assert 3 < chapter["end_of"](repaired) < chapter["end_of"](broken)  # 2.5 with clipping


def test_low_probabilities_warn_of_senseless_sentences(chapter):
    """Section 9.14: 60% of changed inputs and 3% to 5% of others yield a word with p < 0.5."""
    chinese, english = chapter["chinese"], chapter["english"]
    as_they_are = chapter["corpus"].new_combinations
    generator, changed = torch.Generator().manual_seed(0), []
    for pair in as_they_are:
        words = list(pair.chinese)
        at = torch.randint(len(words), (), generator=generator)
        words[at] = chinese.words[torch.randint(4, len(chinese), (), generator=generator)]
        changed.append(Pair(tuple(words), ()))

    def unsure(model, pairs):
        said = chapter["translate"](model, pairs)
        own = [Pair(p.chinese, s) for p, s in zip(pairs, said, strict=True)]
        b = make_batch(own, chinese, english, device())
        written = model(b.source, b.target, b.source_mask).softmax(-1)
        written = written.gather(-1, b.labels[..., None])[..., 0]
        return ((written < 0.5) & (b.labels != PAD)).any(-1).double().mean()

    first, _, _ = load_packed(TRANSLATOR.read_text("utf-8"))
    models = [first, *(load_translator(chinese, english, seed) for seed in (1, 2))]
    with torch.no_grad():
        for model in (each.to(device()) for each in models):
            assert 0.025 < unsure(model, as_they_are) < 0.055
            assert 0.58 < unsure(model, changed) < 0.62


def test_positions_met_often_do_not_mend_longer_sentences(chapter):
    """Section 9.9: beginning at position 9 helps, but no more than training with starts 0 to 8."""

    def right(seed, farthest, first):
        model = load_translator(chapter["chinese"], chapter["english"], seed, farthest)
        model.positions = From(model.d_model, first)
        model.to(device())
        longer = chapter["corpus"].longer
        said = chapter["translate"](model, longer)
        return sum(s == p.english for s, p in zip(said, longer, strict=True))

    assert right(1, 20, first=0) < right(1, 20, first=9) <= right(1, 8, first=0)


class From(SinusoidalPositions):
    """Positions that begin at `first`, as in section 9.9."""

    def __init__(self, d_model: int, first: int) -> None:
        super().__init__(d_model)
        self.first = first

    def forward(self, x: torch.Tensor, start: int = 0) -> torch.Tensor:
        return super().forward(x, self.first + start)


def test_the_translator_in_the_page_knows_the_words_of_the_chapter(chapter):
    """If this fails, retrain as in CONTRIBUTING.md, "Change code or a number in a chapter"."""
    text = TRANSLATOR.read_text("utf-8")
    assert load_packed(text)[2].words == chapter["english"].words
    assert json.loads(text)["chinese"] == chinese_words(chapter["chinese"])
