"""Chapter 7: what its text claims beyond what its cells print."""

import math

import pytest
import torch
from torch import Tensor, nn

from attnbook import (
    MultiHeadAttention,
    SelfAttention,
    causal_mask,
    scaled_dot_product_attention,
    sinusoidal_encoding,
)
from attnbook.corpus import life_is_short
from attnbook.exercises.catalog import ALL
from tests.support.chapters import Chapter

chapter = Chapter("07_positional_encoding.ipynb")


@pytest.mark.parametrize("seed", range(3))
def test_without_a_mask_rows_move_and_with_a_causal_mask_most_change(seed):
    torch.manual_seed(seed)
    x, order, causal = torch.randn(6, 16), [3, 0, 4, 1, 2, 5], causal_mask(6)
    head = SelfAttention(16, 4, 4)
    torch.testing.assert_close(head(x[order])[0], head(x)[0][order])
    changed = ~torch.isclose(head(x[order], causal)[0], head(x, causal)[0][order]).all(-1)
    assert changed.tolist() == [True] * 5 + [False]  # the last word has seen the same words


def test_wherever_attention_is_called_blind_to_order_it_has_no_mask():
    assert "attention *without a mask* is" in chapter.source("orders-seen")
    assert "Without a mask, none of this depends on the order" in chapter.source("opening")
    assert "Attention without a mask is" in chapter.source("summary")
    assert "without a mask" in ALL["07.order"].prompt


@pytest.mark.parametrize("width", [16, 64])
def test_a_matrix_reads_words_off_their_sums_with_a_number(width):
    generator = torch.Generator().manual_seed(0)
    words = torch.randn(1000, width, generator=generator)
    word = torch.randint(1000, (6000,), generator=generator)
    t = torch.randint(50, (6000, 1), generator=generator).float()
    sums, parts = words[word] + t, torch.cat((words[word], t), dim=-1)
    w = torch.linalg.lstsq(sums[:5000], parts[:5000]).solution
    read, at = (sums[5000:] @ w).split([width, 1], dim=-1)
    named = torch.cdist(read, words).argmin(-1) == word[5000:]
    assert named.float().mean() > 0.97
    assert (at - t[5000:]).abs().mean() < 0.3
    assert "By cosine similarity, the position drowns out" in chapter.source("drown-seen")


@pytest.mark.parametrize("n_cards", [12, 48, 200])
def test_three_heads_whose_scores_are_straight_lines_find_the_card_two_back(n_cards):
    cards = torch.stack([torch.randperm(n_cards) for _ in range(50)])  # (B, L)
    one_hot = nn.functional.one_hot(cards).double()
    t = torch.arange(n_cards).double()[:, None]
    mixed = 0
    for falls_to, factor in ((1 / 20, 133), (1 / 10, -200), (1 / 5, 67)):
        key = -math.log(falls_to) * t  # (L, 1), a straight line; each query is 1
        heads = scaled_dot_product_attention(
            torch.ones_like(t), key, one_hot, causal_mask(n_cards)
        )[0]
        mixed = mixed + factor / (1 - falls_to) * heads
    assert mixed[:, 2:].argmax(-1).equal(cards[:, :-2])


@pytest.mark.parametrize("n_cards", [12, 24])
def test_after_one_head_the_card_two_back_has_the_third_largest_weight(n_cards):
    """So a network after the head can name it, although the largest weight is another's."""
    cards = torch.stack([torch.randperm(n_cards) for _ in range(50)])  # (B, L)
    t = math.log(4) * torch.arange(n_cards).double()[:, None]
    one_hot = nn.functional.one_hot(cards).double()
    mixed, _ = scaled_dot_product_attention(torch.ones_like(t), t, one_hot, causal_mask(n_cards))
    first, _, third = mixed[:, 2:].topk(3).indices.unbind(-1)
    assert third.equal(cards[:, :-2])
    assert first.equal(cards[:, 2:])
    assert "a network before or after the head, can do it" in chapter.source("favorites-seen")


def test_the_text_says_that_one_head_cannot_look_two_back_by_a_number():
    assert "for one head, it is impossible" in chapter.source("favorites-seen")
    assert "no single head can use it" in chapter.source("summary")


def test_the_next_sine_needs_the_cosine_at_every_position():
    p = sinusoidal_encoding(50, 16).double()
    sines, cosines = p[:, ::2], p[:, 1::2]

    def error(rows: Tensor, wanted: Tensor) -> Tensor:
        """How far off the best matrix is, for each row."""
        return (rows @ torch.linalg.lstsq(rows, wanted).solution - wanted).abs().amax(-1)

    alone = error(sines[:-1], sines[1:])
    later = error(sines[1:-1], sines[2:])  # without position 0
    torch.testing.assert_close(later.max(), alone.max(), rtol=0, atol=1e-4)
    assert alone[0] < 0.9 < alone.max()
    assert error(sines, cosines).max() > 0.9
    assert error(p[:-1], sines[1:]).max() < 1e-6


def test_a_deal_holds_each_card_once_at_most_and_all_orders_differ():
    deal = chapter.run("deal")["deal"]
    cards = deal(300, 12, torch.Generator().manual_seed(1))
    assert cards.shape == (300, 12)
    assert all(len(set(row)) == 12 for row in cards.tolist())
    assert len({tuple(row) for row in cards.tolist()}) == 300
    assert cards.unique().tolist() == list(range(52))


def test_right_asks_for_the_card_two_back():
    right = chapter.run("deal", "right")["right"]

    def oracle(cards: torch.Tensor) -> tuple[torch.Tensor, None]:
        names = torch.zeros(*cards.shape, 52, device=cards.device)
        names[:, 2:].scatter_(-1, cards[:, :-2, None], 1.0)
        return names, None

    assert right(oracle).eq(1).all()
    assert right(lambda cards: oracle(cards.roll(1, 1))).mean() < 0.05


@pytest.mark.parametrize("direction", [(1.0,) * 16, tuple(range(-5, 11))])
def test_a_number_has_its_favorite_at_an_end_along_any_direction(direction):
    favorites = chapter.run("favorites")["favorites"]
    numbers = torch.arange(12.0)[:, None] * torch.tensor(direction)
    assert favorites(numbers) == [0, 11]


def test_turning_the_other_way_would_move_the_curve_to_the_right():
    products = chapter.run("distance-figure")["products"]
    assert products["query turned by M(−2)"].argmax() - 20 == -2
    cell = chapter.source("distance-figure").replace("rotation_matrix(-2", "rotation_matrix(2")
    turned = chapter.run("distance-figure", **{"distance-figure": cell})["products"]
    assert turned["query turned by M(−2)"].argmax() - 20 == 2


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("ridge", ["0.001", "1.0"])
def test_what_hides_positions_is_the_part_of_words_in_their_directions(seed, ridge, capsys):
    fit = chapter.source("readable-run").replace("0.01", ridge)
    cell = chapter.source("readable-widths").replace("manual_seed(0)", f"manual_seed({seed})")
    capsys.readouterr()
    changed = {"readable-run": fit, "readable-widths": cell}
    chapter.run("readable-run", "readable-inside", "readable-widths", **changed)
    lines = [line.split("|")[1:] for line in capsys.readouterr().out.splitlines()[1:]]
    narrow, wide, long_step = (int(found.split()[1].rstrip("%")) for found, _ in lines)
    assert narrow < min(wide, long_step) - 30
    assert [[found.split()[0], *without.split()] for found, without in lines] == [["100%"] * 3] * 3


def test_twelve_encodings_need_six_directions_and_position_40_is_mostly_outside():
    p = sinusoidal_encoding(48, 32).double()
    main = torch.linalg.svd(p[:12]).Vh[:6]
    outside = (p - p @ main.T @ main).norm(dim=-1) / p.norm(dim=-1)
    assert outside[:12].max() < 0.013
    assert round(100 * outside[40].item()) == 74


def test_absolute_positions_can_count_on_from_the_memory():
    torch.manual_seed(0)
    x, p, causal = life_is_short()[1], sinusoidal_encoding(6, 16), causal_mask(6)
    head = MultiHeadAttention(16, 1)
    at_once = head(x + p, mask=causal)[0][3:]

    def in_two_halves(second: Tensor) -> Tensor:
        rows = x[3:] + second
        return head(rows, torch.cat(((x + p)[:3], rows)), mask=causal[3:])[0]

    torch.testing.assert_close(in_two_halves(p[3:]), at_once)
    assert (in_two_halves(p[:3]) - at_once).abs().max() > 0.01
    assert "has to count on" in chapter.source("xl-memory")


def test_one_answer_to_07_longer_is_literally_right_for_each_experiment():
    """Each experiment: whether the task needs order, the training lengths, the cards at once."""
    experiments = {
        "A": (False, {12}, 48),
        "B": (True, {12}, 48),
        "C": (True, set(range(3, 49)), 48),
        "D": (True, {12}, 12),
        "E": (True, {12}, 12),
    }
    prompt = " ".join(ALL["07.longer"].prompt.split())
    assert '`"seen"` (deals of 48 cards occur in training)' in prompt
    assert '`"length"` (in the test, the model never reads more than 12 cards at once)' in prompt
    for name, (needs_order, lengths, at_once) in experiments.items():
        holds = {"order": not needs_order, "seen": 48 in lengths, "length": at_once <= 12}
        found = [answer for answer, true in holds.items() if true] or ["fair"]
        assert found == [ALL["07.longer"].reference(name)]
