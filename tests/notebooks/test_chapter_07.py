"""Chapter 7: what its text and pictures claim, where nbval compares only what its cells print."""

from functools import cache
from typing import Any

import pytest
import torch

from tests.support.chapters import Chapter

pytestmark = pytest.mark.usefixtures("undisturbed")

chapter = Chapter("07_positional_encoding.ipynb")
FIGURES = ("distance-figure", "look-figure", "longer-figure", "learned-bias-figure")


@cache
def drawn() -> dict[str, dict[str, torch.Tensor]]:
    """The curves of each figure, from one run of the whole chapter."""
    found: dict[str, Any] = {}
    curves = {}
    for name in chapter.code:
        exec(chapter.source(name), found)
        if name in FIGURES:
            curves[name] = {way: curve.clone().cpu() for way, curve in found["curves"].items()}
    return curves


def test_a_deal_holds_each_card_once_at_most_and_all_orders_differ():
    deal = chapter.run("deal")["deal"]
    cards = deal(300, 12, torch.Generator().manual_seed(1))
    assert cards.shape == (300, 12)
    assert all(len(set(row)) == 12 for row in cards.tolist())
    assert len({tuple(row) for row in cards.tolist()}) == 300
    assert cards.unique().tolist() == list(range(52))


def test_the_exam_asks_for_the_card_two_back():
    found = chapter.run("deal", "reader-class", "ways", "lesson-code", "exam")

    def oracle(cards: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        names = torch.zeros(*cards.shape, 52, device=cards.device)
        names[:, 2:].scatter_(-1, cards[:, :-2, None], 1.0)
        return names, torch.zeros(len(cards), 1, cards.size(1), cards.size(1))

    assert found["right"](oracle).eq(1).all()
    assert found["right"](lambda cards: oracle(cards.roll(1, 1))).mean() < 0.05


@pytest.mark.parametrize("direction", [(1.0,) * 16, tuple(range(-5, 11))])
def test_a_number_has_its_favourite_at_an_end_along_any_direction(direction):
    favourites = chapter.run("favourites")["favourites"]
    places = torch.arange(12.0)[:, None] * torch.tensor(direction)
    assert favourites(places) == [0, 11]


def test_turning_the_other_way_would_move_the_curve_to_the_right():
    curves = chapter.run("distance-figure")["curves"]
    assert curves["query turned by M(−2)"].argmax() - 20 == -2
    cell = chapter.source("distance-figure").replace("rotation_matrix(-2", "rotation_matrix(2")
    turned = chapter.run("distance-figure", **{"distance-figure": cell})["curves"]
    assert turned["query turned by M(−2)"].argmax() - 20 == 2


def test_the_dot_product_falls_as_the_picture_says():
    plain = drawn()["distance-figure"]["as they are"]
    assert "peak of 32 at distance 0" in chapter.alt("distance-figure")
    assert plain[20] == pytest.approx(32, abs=1e-4)
    assert "to about 19" in chapter.alt("distance-figure")
    assert plain.min() == pytest.approx(19, abs=0.5)
    torch.testing.assert_close(plain, plain.flip(0), rtol=0, atol=1e-4)


def test_the_trained_head_looks_as_the_picture_says():
    curves = drawn()["look-figure"]
    trained = curves["trained"]
    assert "about 0.65 at distance minus 2" in chapter.alt("look-figure")
    assert trained[9] == pytest.approx(0.65, abs=0.05)
    assert "shoulders of about 0.2 at minus 1 and minus 3" in chapter.alt("look-figure")
    assert trained[[8, 10]].tolist() == pytest.approx([0.2, 0.2], abs=0.06)
    assert trained[:8].max() < 0.03
    assert trained[11:].max() < 0.03
    assert "near one twelfth" in chapter.alt("look-figure")
    for name in ("before training", "shuffled answers"):
        assert (curves[name] - 1 / 12).abs().max() < 0.03


def test_longer_deals_end_as_the_picture_says():
    curves = drawn()["longer-figure"]
    assert "Shaw stays at 1 everywhere" in chapter.alt("longer-figure")
    assert curves["Shaw"].min() > 0.98
    assert "Learned rows are at 1 up to position 11 and near 0 after it" in chapter.alt(
        "longer-figure"
    )
    assert curves["learned"][:10].min() > 0.9
    assert curves["learned"][10:].max() < 0.1
    assert "Sinusoids lie between 0.5 and 1 up to position 11" in chapter.alt("longer-figure")
    sinusoids = curves["sinusoids"]
    assert sinusoids[:10].min() >= 0.5
    beyond = sinusoids[10:]
    assert beyond.argmax() + 12 == 35
    assert beyond[:18].max() < 0.2  # positions 12 … 29
    assert beyond[28:].max() < 0.1  # positions 40 … 47


def test_the_distances_learned_are_those_of_the_picture():
    curves = drawn()["learned-bias-figure"]
    assert "highest point at distance minus 2" in chapter.alt("learned-bias-figure")
    for curve in curves.values():
        assert curve.argmax() - 8 == -2
    shaw = curves["Shaw"]
    assert "flat beyond minus 4 and 4" in chapter.alt("learned-bias-figure")
    assert shaw[:5].unique().numel() == 1
    assert shaw[12:].unique().numel() == 1
    others = torch.cat((shaw[:6], shaw[7:]))
    assert "single spike" in chapter.alt("learned-bias-figure")
    assert shaw[6] - others.max() > 5


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("ridge", ["0.001", "1.0"])
def test_words_and_places_are_read_off_whatever_the_seed_and_the_ridge(seed, ridge, capsys):
    cell = chapter.source("readable-run").replace("manual_seed(0)", f"manual_seed({seed})")
    cell = cell.replace("0.01", ridge)
    capsys.readouterr()
    chapter.run("readable-run", **{"readable-run": cell})
    lines = capsys.readouterr().out.splitlines()
    assert [line.count("100%") for line in lines[2:]] == [2, 2]  # D = 32 and 64
    assert lines[0].count("100%") == 0  # D = 8
