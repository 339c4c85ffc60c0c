"""Chapter 7: what its text claims beyond what its cells print."""

import pytest
import torch

from tests.support.chapters import Chapter

chapter = Chapter("07_positional_encoding.ipynb")


def test_a_deal_holds_each_card_once_at_most_and_all_orders_differ():
    deal = chapter.run("deal")["deal"]
    cards = deal(300, 12, torch.Generator().manual_seed(1))
    assert cards.shape == (300, 12)
    assert all(len(set(row)) == 12 for row in cards.tolist())
    assert len({tuple(row) for row in cards.tolist()}) == 300
    assert cards.unique().tolist() == list(range(52))


def test_the_exam_asks_for_the_card_two_back():
    found = chapter.run("deal", "reader-class", "ways", "lesson-code", "exam", "right")

    def oracle(cards: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        names = torch.zeros(*cards.shape, 52, device=cards.device)
        names[:, 2:].scatter_(-1, cards[:, :-2, None], 1.0)
        return names, torch.zeros(len(cards), 1, cards.size(1), cards.size(1))

    assert found["right"](oracle).eq(1).all()
    assert found["right"](lambda cards: oracle(cards.roll(1, 1))).mean() < 0.05


@pytest.mark.parametrize("direction", [(1.0,) * 16, tuple(range(-5, 11))])
def test_a_number_has_its_favorite_at_an_end_along_any_direction(direction):
    favorites = chapter.run("favorites")["favorites"]
    places = torch.arange(12.0)[:, None] * torch.tensor(direction)
    assert favorites(places) == [0, 11]


def test_turning_the_other_way_would_move_the_curve_to_the_right():
    products = chapter.run("distance-figure")["products"]
    assert products["query turned by M(−2)"].argmax() - 20 == -2
    cell = chapter.source("distance-figure").replace("rotation_matrix(-2", "rotation_matrix(2")
    turned = chapter.run("distance-figure", **{"distance-figure": cell})["products"]
    assert turned["query turned by M(−2)"].argmax() - 20 == 2


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("ridge", ["0.001", "1.0"])
def test_what_hides_places_is_the_part_of_words_in_their_directions(seed, ridge, capsys):
    fit = chapter.source("readable-run").replace("0.01", ridge)
    cell = chapter.source("readable-widths").replace("manual_seed(0)", f"manual_seed({seed})")
    capsys.readouterr()
    changed = {"readable-run": fit, "readable-widths": cell}
    chapter.run("readable-run", "readable-inside", "readable-widths", **changed)
    lines = [line.split("|")[1].split() for line in capsys.readouterr().out.splitlines()[1:]]
    found = [int(places.rstrip("%")) for _, places, *_ in lines]
    narrow, wider, widest, many_places, long_step = found
    assert narrow < wider - 10 < widest - 20
    assert abs(many_places - widest) <= 5
    assert narrow < long_step - 30
    assert [[words, *without] for words, _, *without in lines] == [["100%"] * 3] * 5


@pytest.fixture(scope="module")
def cards():
    """Sections 7.7, 7.12 and 7.14 before they train, with the number of steps free."""
    lesson = chapter.source("lesson-code").replace("shuffled=False)", "shuffled=False, steps=150)")
    return chapter.run(
        *("deal", "reader-class", "ways", "lesson-code", "exam", "right", "rotary"),
        *("more-ways", "rotary-widths", "near-only", "loud-run"),
        **{
            "lesson-code": lesson.replace("steps=150)\n    return", "steps=steps)\n    return"),
            "more-ways": chapter.source("more-ways").partition("tried = ")[0],
            "rotary-widths": chapter.source("rotary-widths").partition("for way, wide")[0],
            "near-only": chapter.source("near-only").partition("for way in")[0],
            "loud-run": chapter.source("loud-run").partition("for words")[0],
        },
    )


def test_hiding_far_cards_helps_a_rotary_head_more_than_hiding_as_many_at_random(cards):
    """What 7.12 says of the mask, at half the width, where most ground is lost."""
    torch.manual_seed(0)
    steps = torch.arange(48) - torch.arange(48)[:, None]
    order = torch.rand(48, 48).masked_fill((steps == -2) | (steps == 0), 2).argsort(descending=True)
    some = order.argsort() < (steps.abs() < 12).sum(-1, keepdim=True)  # as many, with −2 and 0

    def at_random(model):
        def read(hand):
            mixed, weights = model.attend(model.place(model.embed(hand)), mask=some)
            return model.name(mixed), weights

        return read

    head = cards["relative"](16)["rotary"]
    for seed in range(3):
        model = cards["taught"](torch.nn.Identity, seed, head)
        seen = model, at_random(model), cards["near_only"](model)
        full, random, near = (cards["right"](read, 48).mean().item() for read in seen)
        assert full + 0.2 < random < near - 0.1


def test_a_wide_rotary_head_loses_ground_again_after_more_steps(cards):
    head = cards["relative"](64)["rotary"]
    model = cards["taught"](torch.nn.Identity, 2, head, steps=600)
    assert cards["right"](model, 48).mean() < 0.9 < cards["right"](model, 12).mean()


def test_quiet_places_are_enough_after_ten_times_the_steps(cards):
    def quiet():
        return cards["Louder"](1, 1 / 4)

    assert cards["right"](cards["taught"](quiet, 0)).mean() < 0.3
    assert cards["right"](cards["taught"](quiet, 0, steps=1500)).mean() > 0.9


@pytest.mark.parametrize("deviation", [1 / 16, 1 / 32**0.5])
def test_a_table_of_small_words_needs_no_factor(cards, monkeypatch, deviation):
    """Small numbers in the table, and not a factor: what 7.14 says of the paper's."""

    class Small(cards["Reader"]):
        def __init__(self, place, attend):
            super().__init__(place, attend)
            torch.nn.init.normal_(self.embed.weight, std=deviation)

    monkeypatch.setitem(cards, "Reader", Small)
    assert cards["right"](cards["taught"](cards["add_sinusoids"], 1)).mean() > 0.9
