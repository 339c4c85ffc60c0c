"""Chapter 3: what its text claims beyond the draws that its cells show."""

import math

import pytest
import torch

from attnbook.corpus.sentence import life_is_short
from tests.support.chapters import Chapter

chapter = Chapter("03_single_head.ipynb")


def test_the_two_baselines_of_the_game():
    game = chapter.run("game")
    torch.manual_seed(0)
    x, answer = game["deal"](5000)
    content = x[..., 4:]
    assert answer.square().mean().item() == pytest.approx(1, abs=0.05)
    error = (answer - content.mean(dim=1, keepdim=True)).square().mean().item()
    assert error == pytest.approx(0.75, abs=0.05)


def test_the_division_lets_a_wide_head_learn_with_other_seeds_too():
    game = chapter.run("game", "wide-head", "play")
    divisors = {"none": 1, "root": 32, "width": 1024}
    ends = {name: game["play"](divisor, seed=1)[1] for name, divisor in divisors.items()}
    assert ends == {"none": 0, "root": 5, "width": 5}
    assert game["play"](32, lr=0.7, seed=1)[1] < 3
    assert game["play"](1024, lr=0.7, seed=1)[1] == 5


def test_divided_by_the_width_a_step_of_adam_moves_scores_equally_far_at_every_width():
    game = chapter.run("game", "wide-head", "play")
    moves = [game["play"](d_k, steps=2, d_k=d_k)[0] for d_k in (16, 64, 256, 1024)]
    assert max(moves) < 1.3 * min(moves)


def test_the_sum_of_its_embedding_makes_a_row_even_or_sharp():
    words, x = life_is_short()
    names = chapter.run("s1-matrices", **{"s1-matrices": with_rows("s1-matrices")})

    def largest(word, total):
        i, nudged = words.index(word), x.clone()
        nudged[i] += (total - x[i].sum()) / 16
        query, keys = nudged[i] @ names["w_query"].T, nudged @ names["w_key"].T
        return (query @ keys.T / 24**0.5).softmax(-1).max()

    assert largest("is", 4.0) > 0.98
    assert largest("short", x[1].sum()) < 0.5


def with_rows(name):
    """Return the source of a cell, preceded by a line that defines the sentence that it needs."""
    return "words, x = life_is_short()\n" + chapter.source(name)


def test_a_wider_matrix_can_hold_label_and_content():
    names = chapter.run("twins-code")
    attend = names["scaled_dot_product_attention"]
    to_q, to_k, to_v = names["by_hand"]
    both = torch.cat([to_k, to_v], dim=1)
    to_label = torch.cat([to_q, torch.zeros(4, 2)], dim=1) * 2**0.5
    for _, rows in names["twins"].values():
        output, weights = attend(rows @ to_q, rows @ to_k, rows @ to_v)
        wide, same = attend(rows @ to_label, rows @ both, rows @ both)
        torch.testing.assert_close(same, weights)
        torch.testing.assert_close(wide[:, 2:], output)


@pytest.fixture(scope="module")
def reader():
    return chapter.run(
        "lexicon", "sentences-code", "reader-code", "reader-loss", "exam-code", "grow-code"
    )


def test_pairs_of_the_exam_are_never_trained_on(reader):
    words, asks, holds = reader["WORDS"], reader["ASKS"], reader["HOLDS"]
    torch.manual_seed(0)
    pairs = {}
    for unseen in (False, True):
        ids = reader["sentences"](3000, unseen)[:, [asks, holds]]  # (3000, 2, 4)
        pairs[unseen] = {(words[a], words[b]) for a, b in ids.mT.flatten(0, 1).tolist()}
    assert not pairs[False] & pairs[True]
    assert (len(pairs[False]), len(pairs[True])) == (2 * 2 * 6 * 5, 2 * 2 * 6)
    assert {("苹果", "甜"), ("甜", "苹果"), ("夜", "黑"), ("黑", "夜")} <= pairs[True]


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


def test_the_loss_never_sees_the_weights(reader):
    torch.manual_seed(0)
    model = reader["Reader"]().double().to(reader["device"]())

    def blindfolded(ids):
        guesses, weights = reader["Reader"].forward(model, ids)
        return guesses, torch.full_like(weights, torch.nan)

    torch.manual_seed(1)
    expected = reader["reading_loss"](model)
    torch.manual_seed(1)
    assert reader["reading_loss"](blindfolded) == expected


def test_one_nan_reaches_the_head_and_no_row_of_a_word_that_had_no_part_in_it(reader):
    torch.manual_seed(0)
    model = reader["Reader"]()
    asks, holds = reader["ASKS"], reader["HOLDS"]
    ids, model = reader["sentences"](64).cpu(), model.cpu()
    rows = model.embed(ids)
    scores = model.head.w_q(rows) @ model.head.w_k(rows).mT
    high = torch.zeros_like(scores)
    high[0, asks[0], 0] = 1000  # its exponential is infinite
    powers = (scores + high).exp()
    mixed = powers / powers.sum(-1, keepdim=True) @ model.head.w_v(rows)
    answers = model.guess(mixed)[:, asks]
    torch.nn.functional.cross_entropy(answers.flatten(0, 1), ids[:, holds].flatten()).backward()
    torch.optim.Adam(model.parameters()).step()
    assert all(w.weight.isnan().all() for w in (model.head.w_q, model.head.w_k, model.head.w_v))
    assert model.embed.weight[ids[0]].isnan().all()
    elsewhere = sorted(set(ids[1:].flatten().tolist()) - set(ids[0].tolist()))
    assert model.embed.weight[elsewhere].isfinite().all()
    assert model(ids)[0].isnan().all()
