"""Chapter 3: what its text claims beyond the draws that its cells show."""

import pytest
import torch

from attnbook.sentence import life_is_short
from tests.support.chapters import Chapter

chapter = Chapter("03_single_head.ipynb")


def test_a_float32_exponential_ends_between_88_and_89():
    assert torch.tensor(88.7).exp().isfinite()
    assert torch.tensor(89.0).exp().isinf()


def test_sums_of_rows_explain_scores_for_any_draw_of_torch_rand():
    _, x = life_is_short()
    totals = x.sum(dim=-1)
    for seed in range(10):
        torch.manual_seed(seed)
        raw = x @ torch.rand(24, 16).T @ (x @ torch.rand(24, 16).T).T
        left = (raw - 6 * totals[:, None] * totals[None, :]).var() / raw.var()
        assert left < 0.15
        assert raw.std() / 24**0.5 > 8


def test_the_two_baselines_of_the_game():
    game = chapter.run("game")
    torch.manual_seed(0)
    x, answer = game["deal"](5000)
    content = x[..., 4:]
    assert answer.square().mean().item() == pytest.approx(1, abs=0.05)
    error = (answer - content.mean(dim=1, keepdim=True)).square().mean().item()
    assert error == pytest.approx(0.75, abs=0.05)


def test_start_and_steps_both_matter_from_other_starts_too():
    game = chapter.run("game", "wide-head", "exercised")
    factors = (1 / 32, 1 / 32), (1 / 32, 1), (1, 1 / 32), (1, 1)
    ends = [game["players"](game["exercised"](*pair, seed=1)) for pair in factors]
    assert ends == [5, 0, 0, 0]


def test_adam_leaves_the_same_share_of_a_move_at_any_width_and_coins_do_not():
    """A move of a score is a sum of d_k products: how many agree with it, what does not cancel."""
    names = chapter.run("game", "step-code")

    def agree(d_k, rule):
        torch.manual_seed(0)
        before = torch.randn(2, 6, d_k).double().div(2).requires_grad_()
        cards, answer = (x.cpu() for x in names["deal"](200))
        weights = (cards @ before[0] @ (cards @ before[1]).mT).softmax(-1)
        torch.nn.functional.mse_loss(weights @ cards[..., 4:], answer).backward()
        after = before.detach() - rule(before.grad)
        products = [(cards @ w[0])[:, :, None] * (cards @ w[1])[:, None] for w in (after, before)]
        moves = (products[0] - products[1]).detach()  # (200, 4, 4, d_k)
        total = moves.sum(-1)
        left = (total.abs() / moves.abs().sum(-1)).mean().item()
        return (moves * total[..., None] > 0).double().mean().item(), left

    for d_k in (64, 1024):
        same, left = agree(d_k, names["adam"])
        assert same > 0.6
        assert left == pytest.approx(0.46, abs=0.04)
        assert agree(d_k, lambda slopes: names["adam"](torch.randn_like(slopes)))[1] < 0.15


def test_divided_by_the_width_all_heads_learn_with_either_rate_and_by_the_root_they_do_not():
    game = chapter.run("game", "wide-head", "exercised")
    for d_k in (16, 256):
        for lr in (0.1, 0.7):
            assert game["players"](game["exercised"](1 / d_k, 1 / d_k, lr, d_k=d_k, seed=1)) == 5
    assert game["players"](game["exercised"](1 / 16, 1 / 16, 0.7, d_k=256, seed=1)) < 3


def test_scores_of_size_1_find_all_targets_at_the_small_rates_only():
    rows = "words, x = life_is_short()\n"
    names = chapter.run(
        "s1-matrices",
        "seekers",
        "seek-code",
        **{"s1-matrices": rows + chapter.source("s1-matrices")},
    )
    torch.manual_seed(0)
    centered = torch.randn(2, 24, 16).double() / 4
    for steps, lr, low, high in ((200, 0.05, 120, 120), (1000, 0.01, 120, 120), (200, 0.2, 0, 110)):
        code = chapter.source("seek-code").replace("200, lr=0.05", f"{steps}, lr={lr}")
        exec(code, names)
        assert low <= names["found"](*centered, 1)[1] <= high


@pytest.fixture(scope="module")
def reader():
    return chapter.run(
        "lexicon", "clause-code", "sentences-code", "reader-code", "reader-loss", "exam-code"
    )


def test_pairs_of_the_exam_are_never_trained_on_and_stand_in_changing_places(reader):
    nouns = {reader["ID"][w] for w in reader["FOODS"] + reader["THINGS"]}
    qualities = {reader["ID"][w] for w in reader["TASTES"] + reader["COLORS"]}
    torch.manual_seed(0)
    pairs, places = {True: set(), False: set()}, set()
    for unseen in [False, True] * 300:
        ids, asks, holds = reader["sentences"](20, unseen)
        places.add((asks[0], holds[0], ids.size(1)))
        assert (asks[1], asks[3], holds[1], holds[3]) == (holds[0], holds[2], asks[0], asks[2])
        for clause in (0, 2):
            pairs[unseen] |= {tuple(p) for p in ids[:, [asks[clause], holds[clause]]].tolist()}
    assert not pairs[False] & pairs[True]
    assert (len(pairs[False]), len(pairs[True])) == (2 * 6 * 5, 2 * 6)
    assert all(noun in nouns and quality in qualities for noun, quality in pairs[False])
    assert (reader["ID"]["苹果"], reader["ID"]["甜"]) in pairs[True]
    assert (reader["ID"]["夜"], reader["ID"]["黑"]) in pairs[True]
    assert len(places) >= 15


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
    ids, asks, holds = reader["sentences"](64)
    ids, model = ids.cpu(), model.cpu()
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
