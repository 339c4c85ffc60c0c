"""Chapter 7: what its text claims beyond what its cells print, tried in other experiments."""

import functools
from functools import partial

import pytest
import torch
from torch import nn

from attnbook import sinusoidal_encoding
from tests.support.chapters import Chapter

chapter = Chapter("07_positional_encoding.ipynb")


@pytest.fixture(scope="module")
def cards():
    """Section 7.7 without the model that has no positions, and section 7.12 before its training."""
    space = chapter.run(
        *("deal", "reader-class", "lesson-code", "right", "task-run", "look-figure"),
        *("rotary", "more-ways", "loud-run"),
        **{
            "task-run": chapter.source("task-run").replace('"no positions": nn.Identity, ', ""),
            "look-figure": chapter.source("look-figure").partition("shown =")[0],
            "more-ways": chapter.source("more-ways").partition("tried =")[0],
            "loud-run": chapter.source("loud-run").partition("for words")[0],
        },
    )
    space["rotation_matrix"] = functools.cache(space["rotation_matrix"])  # reused in every step
    return space


def heads(cards, width: int) -> dict[str, partial]:
    """The heads of 7.12 at another width."""
    return {
        "shaw": partial(cards["ShawAttention"], width, 1, max_distance=4),
        "rotary": partial(cards["MultiHeadAttention"], width, 1, attend=cards["rotary"]),
        "sinusoids": partial(cards["MultiHeadAttention"], width, 1),
    }


def share(cards, model, length: int = 48) -> float:
    return cards["right"](model, length).mean().item()


@pytest.mark.parametrize("seed", range(2))
def test_sinusoids_are_of_no_use_if_the_answers_have_another_order(cards, seed):
    torch.manual_seed(seed)
    model = cards["Reader"](cards["ways"]["sinusoids"](), cards["MultiHeadAttention"](32, 1))
    generator = torch.Generator().manual_seed(seed)

    def loss(model: nn.Module) -> torch.Tensor:
        dealt = cards["deal"](32, 12, generator).to(cards["device"]())
        answers = dealt[:, torch.randperm(12, generator=generator)][:, :-2]
        guesses = model(dealt)[0][:, 2:].flatten(0, 1)
        return nn.functional.cross_entropy(guesses, answers.flatten())

    cards["train"](model.to(cards["device"]()), loss, 150)
    assert share(cards, model.eval(), 12) < 0.15


def test_a_number_finds_the_first_card_and_no_other(cards):
    for model in cards["models"]["t"]:
        found = cards["right"](model)
        assert found[0] > 0.9
        assert found[1:].mean() < 0.01


def test_heads_on_sinusoids_look_two_back(cards):
    two_back = [cards["by_distance"](model)[9] for model in cards["models"]["sinusoids"]]
    assert min(two_back) > 0.5


def test_relative_heads_do_not_notice_that_a_sentence_moves(cards):
    torch.manual_seed(0)
    x = torch.randn(6, 16)
    later = torch.cat((torch.randn(4, 16), x))
    sentence = (torch.arange(10) >= 4).expand(10, 10)
    for name, make in heads(cards, 16).items():
        head = make()
        add = cards["SinusoidalPositions"](16) if name == "sinusoids" else nn.Identity()
        moved = head(add(later), mask=sentence)[0][4:]
        assert torch.allclose(moved, head(add(x))[0], atol=1e-5) == (name != "sinusoids")


def test_without_far_cards_rotary_heads_recover(cards):
    def near_only(model):
        def read(hand):
            position = torch.arange(hand.size(1), device=hand.device)
            near = (position - position[:, None]).abs() < 12
            mixed, weights = model.attend(model.positions(model.embed(hand)), mask=near)
            return model.name(mixed), weights

        return read

    for seed in range(5):
        model = cards["taught"](nn.Identity, seed, cards["rotary_head"])
        assert share(cards, model) < 0.9 < share(cards, near_only(model))


def test_at_half_the_width_rotary_heads_fail_and_shaws_do_not(cards):
    for seed in range(2):
        rotary, shaw = (
            cards["taught"](nn.Identity, seed, heads(cards, 16)[name])
            for name in ("rotary", "shaw")
        )
        assert share(cards, rotary) < 0.5
        assert share(cards, shaw) > 0.9


class FromAnywhere(nn.Module):
    """Sinusoids that start at a random position in training, and at position 0 afterward."""

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        n = rows.size(-2)
        start = int(torch.randint(48 - n + 1, ())) if self.training else 0
        return rows + sinusoidal_encoding(start + n, 32).to(rows)[start:]


def test_random_positions_in_training_help_the_sinusoids(cards):
    for seed, usual in enumerate(cards["models"]["sinusoids"]):
        helped = cards["taught"](FromAnywhere, seed)
        assert share(cards, usual) < 0.5 < share(cards, helped)


def test_small_encodings_are_enough_after_ten_times_the_steps(cards):
    small = partial(cards["Scaled"], 1, 1 / 4)
    longer = chapter.source("lesson-code").replace("steps=150", "steps=1500")
    exec(longer, space := dict(cards))
    assert share(cards, space["taught"](small, 0), 12) > 0.9


@pytest.mark.parametrize("deviation", [1 / 16, 1 / 32**0.5])
def test_a_table_of_small_words_needs_no_factor(cards, monkeypatch, deviation):
    """Small numbers in the embedding table replace the paper's factor, as 7.14 says."""

    class Small(cards["Reader"]):
        def __init__(self, positions, attend):
            super().__init__(positions, attend)
            nn.init.normal_(self.embed.weight, std=deviation)

    monkeypatch.setitem(cards, "Reader", Small)
    model = cards["taught"](cards["ways"]["sinusoids"], 1)
    assert share(cards, model, 12) > 0.9
