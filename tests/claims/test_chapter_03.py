"""Chapter 3: what its text claims beyond what its cells print, tried in other experiments."""

import functools
import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from attnbook import scaled_dot_product_attention, softmax
from tests.support.chapters import Chapter

chapter = Chapter("03_single_head.ipynb")


def test_the_division_lets_a_wide_head_learn_with_other_seeds_too():
    game = chapter.run("game", "wide-head", "play")
    divisors = {"none": 1, "root": 32, "width": 1024}
    ends = {name: game["play"](divisor, seed=1)[1] for name, divisor in divisors.items()}
    assert ends == {"none": 0, "root": 5, "width": 5}
    assert game["play"](32, lr=0.7, seed=1)[1] < 3
    assert game["play"](1024, lr=0.7, seed=1)[1] == 5


@pytest.mark.parametrize("seed", [0, 1])
def test_wide_undivided_heads_get_more_gradient_and_most_learn_by_plain_steps(seed):
    """Section 3.9: what ruins them with Adam is the length of its steps."""
    game = chapter.run("game", "wide-head")

    def errors(players: nn.Module, n: int) -> Tensor:
        cards, answer = game["deal"](5, n)
        return (players(cards) - answer).square().mean(dim=(1, 2, 3))  # (5,)

    gradient, dead = {}, {}
    for divisor in (1, 32, 1024):
        torch.manual_seed(seed)
        players = game["Players"](1024, divisor).to(game["device"]())
        errors(players, 200).sum().backward()
        both = torch.cat([players.w_q.grad, players.w_k.grad], dim=1).flatten(1)
        gradient[divisor] = both.norm(dim=1).mean()
        weights = softmax(players.scores(game["deal"](5, 200)[0]))
        dead[divisor] = ((weights * (1 - weights)).amax(-1) < 0.001).double().mean()
    assert gradient[1] > 2 * gradient[32] > 40 * gradient[1024]
    assert dead[1] > 0.6
    assert max(dead[32], dead[1024]) < 0.01

    learned = {}
    for lr in (0.3, 3):
        torch.manual_seed(seed)
        players = game["Players"](1024, 1).to(game["device"]())
        by_plain_steps(players, lambda model: errors(model, 32).sum(), 400, lr)
        learned[lr] = (errors(players, 320) < 0.2).sum().item()
    assert learned[0.3] >= 3
    assert learned[3] == 0


def test_nearly_all_heads_of_width_64_learn_the_game_undivided():
    game = chapter.run("game", "wide-head", "play")
    assert game["play"](1, d_k=64, seed=1)[1] == 5
    assert game["play"](1, d_k=64, seed=4)[1] >= 3


def test_a_gradient_by_the_width_is_too_small_for_plain_steps():
    """Section 3.8: wide heads that are divided by d_k learn the game because of Adam."""
    game = chapter.run("game", "wide-head", "play")
    plain = {"train": by_plain_steps}
    assert game["play"](1024)[1] == 5
    game |= plain
    exec(chapter.source("play"), game)
    assert [game["play"](1024, lr)[1] for lr in (1, 5)] == [0, 0]


def by_plain_steps(
    model: nn.Module, loss: Callable[[nn.Module], Tensor], steps: int, lr: float
) -> None:
    """Train as `train` does, but with steps along the gradient."""
    optimizer = torch.optim.SGD(model.parameters(), lr)
    for _ in range(steps):
        optimizer.zero_grad()
        loss(model).backward()
        optimizer.step()


@pytest.fixture(scope="module")
def reader():
    """The apple's reader, with each model trained only once, when it is needed."""
    cells = "lexicon", "sentences-code", "reader-code", "reader-loss", "exam-code", "grow-code"
    made = chapter.run(*cells)
    return made | {"grow": functools.cache(made["grow"])}


def test_the_loss_falls_before_the_weights_move_and_not_below_ln_4_without_them(reader):
    for seed in range(5):
        _, losses, maps = reader["grow"](seed)
        assert losses[0] - losses[20] > 0.05
        assert (maps[20] - maps[0]).abs().max() < 0.05
        assert maps[200][0, 2] > 0.9
        assert maps[200][2, 0] > 0.9
    torch.manual_seed(0)
    even = reader["Reader"]().double().to(reader["device"]())
    torch.nn.init.zeros_(even.head.w_q.weight).requires_grad_(False)  # every score is 0
    losses = reader["train"](even, reader["reading_loss"], steps=200)
    assert min(losses) > math.log(4)


class Tied(nn.Module):
    """A reader with W_Q = W_K, whose words may attend to themselves or not."""

    def __init__(self, reader: nn.Module, own_place: bool) -> None:
        super().__init__()
        self.reader, self.own_place = reader, own_place

    def forward(self, ids: Tensor) -> tuple[Tensor, Tensor]:
        rows, head = self.reader.embed(ids), self.reader.head
        others = ~torch.eye(ids.size(1), dtype=torch.bool, device=ids.device)
        mask = None if self.own_place else others
        asked = head.w_q(rows)
        output, weights = scaled_dot_product_attention(asked, asked, head.w_v(rows), mask)
        return self.reader.guess(output), weights


def test_one_matrix_for_queries_and_keys_is_enough_if_no_word_finds_itself(reader):
    """Section 3.11: with one matrix a word can ask for something else, but finds itself first."""
    right = {}
    for own_place in (True, False):
        torch.manual_seed(0)
        model = Tied(reader["Reader"](), own_place).double().to(reader["device"]())
        reader["train"](model, reader["reading_loss"], steps=200)
        right[own_place] = reader["grade"](model)[1]
    assert right[True] < 0.5
    assert right[False] > 0.95


def test_the_heads_have_favorites_among_the_tastes(reader):
    """Section 3.12: one taste gets most of the weight, whichever is next to the apple."""
    words = "苹果 很 甜 ， 柠檬 很 酸".split()
    ids = torch.tensor([[reader["ID"][word] for word in words]]).to(reader["device"]())
    favorites = set()
    for seed in (0, 2):
        model, *_ = reader["grow"](seed)
        sweet, sour = model(ids)[1][0, 0, [2, 6]].tolist()
        assert max(sweet, sour) > 0.8
        favorites.add(sweet > sour)
    assert len(favorites) == 2


def test_the_controls_are_sharp_in_the_wrong_place(reader):
    for seed in (0, 1):
        model, *_ = reader["grow"](seed, shuffled=True)
        weights = model(reader["exam"])[1][:, reader["ASKS"]]  # (400, 4, 7)
        assert weights.amax(dim=-1).mean() > 3 / 7
        assert reader["grade"](model)[0] < 1 / 7
