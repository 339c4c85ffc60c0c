"""Chapter 3: S1's digits stand on its page, and its claims hold beyond the draws that it shows.

The code is the chapter's own: its cells are run, with other seeds than the chapter's.
"""

import re

import pytest
import torch

from attnbook import softmax
from attnbook.figures import canvas
from attnbook.sentence import life_is_short
from tests.support.chapters import Chapter

pytestmark = pytest.mark.usefixtures("undisturbed")

chapter = Chapter("03_single_head.ipynb")

# What S1 prints, typed from its text.
OMEGA = "8.5808 -7.6597 3.2558 1.0395 11.1466 -0.4800"
ALPHA = "0.2912 0.0106 0.0982 0.0625 0.4917 0.0458"
CONTEXT = """
-1.5993 0.0156 1.2670 0.0032 -0.6460 -1.1407 -0.4908 -1.4632 0.4747 1.1926 0.4506 -0.7110 0.0602
0.7125 -0.1628 -2.0184 0.3838 -2.1188 -0.8136 -1.5694 0.7934 -0.2911 -1.3640 -0.2366 -0.9564
-0.5265 0.0624 1.7084
"""


@pytest.mark.parametrize(
    ("cell", "digits"),
    [
        ("s1-matrices", "(24,) (24,) (28,)"),
        ("s1-keys", "keys (6, 24)  values (6, 28) 11.1466"),
        ("s1-scores", OMEGA),
        ("s1-weights", ALPHA),
        ("s1-context", CONTEXT),
    ],
)
def test_what_s1_prints_stands_on_the_page(cell, digits):
    assert " ".join(digits.split()) in " ".join(chapter.printed(cell).split())


def test_every_shape_of_s2_stands_on_the_page():
    shapes = dict(re.findall(r"^(.*?) *(\(\d+, \d+\))$", chapter.printed("s2-shapes"), re.M))
    assert shapes == {
        "X": "(3, 4)", "W_Q, W_K, W_V": "(4, 64)", "Q, K, V": "(3, 64)", "Kᵀ": "(64, 3)",
        "scores": "(3, 3)", "weights": "(3, 3)", "output": "(3, 64)",
    }  # fmt: skip


@pytest.fixture(scope="module")
def s1():
    """The chapter's names after S1's example, up to its matrix form."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(canvas, "display", lambda svg: None)
        return chapter.run(
            "head-figure", "s1-matrices", "s1-keys", "s1-scores", "s1-weights", "s1-context",
            "loop-code", "loop-check", "matrix", "overflow", "own-spread", "own-reason",
        )  # fmt: skip


def test_the_row_figure_says_in_words_what_it_draws(s1):
    sides = chapter.alt("s1-row-figure").split("Weights: ")
    for side, numbers in zip(sides, (s1["scaled"][1], s1["weights_2"]), strict=True):
        for word, number in zip(s1["words"], numbers, strict=True):
            said = f"{word} {number:.2f}".replace("-", "minus ")
            assert said in side


def test_a_float32_exponential_ends_between_88_and_89():
    assert torch.tensor(88.7).exp().isfinite()
    assert torch.tensor(89.0).exp().isinf()


def test_the_row_s1_shows_is_the_one_spread_out_most(s1):
    assert softmax(s1["scaled"]).amax(dim=-1).argmin() == 1
    assert s1["totals"].abs().argmin() == 1


@pytest.mark.parametrize("seed", range(10))
def test_sums_of_rows_explain_scores_for_any_draw_of_torch_rand(seed):
    _, x = life_is_short()
    torch.manual_seed(seed)
    raw = x @ torch.rand(24, 16).T @ (x @ torch.rand(24, 16).T).T
    totals = x.sum(dim=-1)
    left = (raw - 6 * totals[:, None] * totals[None, :]).var() / raw.var()
    assert left < 0.15
    assert raw.std() / 24**0.5 > 8


@pytest.mark.parametrize("name", ["normal", "uniform", "signs"])
def test_the_variance_needs_no_bell_curve(name):
    generator = torch.Generator().manual_seed(0)
    for d_k in (4, 64, 512):
        q, k = torch.rand(2, 20_000, d_k, generator=generator)
        if name == "normal":
            q, k = (2**0.5 * torch.erfinv((2 * n - 1).clamp(-1 + 1e-6, 1 - 1e-6)) for n in (q, k))
        elif name == "uniform":
            q, k = (12**0.5 * (n - 0.5) for n in (q, k))
        else:
            q, k = ((n > 0.5) * 2.0 - 1 for n in (q, k))
        assert (q * k).sum(-1).var() == pytest.approx(d_k, rel=0.05)


def test_the_jacobian_s_norm_is_at_most_one_half_and_reaches_it():
    a = softmax(3 * torch.randn(2000, 6, generator=torch.Generator().manual_seed(0)).double())
    a = torch.cat([a, torch.tensor([[0.5, 0.5, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0]]).double()])
    jacobian = torch.diag_embed(a) - a[:, :, None] * a[:, None, :]
    norm = torch.linalg.matrix_norm(jacobian, ord=2)
    assert norm.max() <= 0.5 + 1e-12
    assert norm[-2:].tolist() == pytest.approx([0.5, 0.0])


def test_the_norms_fall_ever_more_steeply_raw_and_stay_level_scaled():
    norms = chapter.run("variance", "jacobian-norms")["norms"]
    steps = [b / a for a, b in zip(norms["raw"], norms["raw"][1:], strict=False)]
    assert steps == sorted(steps, reverse=True)
    assert norms["raw"][-1] < 1e-5
    assert all(0.25 < n < 0.31 for n in norms["scaled"])


@pytest.fixture(scope="module")
def game():
    return chapter.run("game", "game-model")


def miss_after_training(game, width, tied, readout, seed):
    torch.manual_seed(seed)
    model = game["player"](width, tied, readout)
    game["train"](model, game["miss"], steps=200, lr=0.1)
    with torch.no_grad():
        return game["miss"](model, n=2000).item()


@pytest.mark.parametrize("seed", range(5, 10))
def test_tying_keys_and_values_costs_from_other_starts_too(game, seed):
    assert miss_after_training(game, 2, False, False, seed) < 0.01
    assert 0.5 < miss_after_training(game, 2, True, False, seed) < 0.75


@pytest.mark.parametrize("seed", [5, 6])
def test_what_width_and_a_readout_give_back(game, seed):
    two, three, four = (miss_after_training(game, n, True, True, seed) for n in (2, 3, 4))
    assert 0.5 < two < 0.75
    assert 0.2 < three < 0.35
    assert four < 0.01


def test_the_two_baselines_of_the_game(game):
    torch.manual_seed(0)
    x, answer = game["deal"](5000)
    content = x[..., 4:]
    assert answer.square().mean().item() == pytest.approx(1, abs=0.05)
    error = (answer - content.mean(dim=1, keepdim=True)).square().mean().item()
    assert error == pytest.approx(0.75, abs=0.05)


@pytest.fixture(scope="module")
def reader():
    return chapter.run(
        "lexicon", "clause-code", "sentences-code", "reader-code", "reader-loss", "exam-code"
    )


def test_pairs_of_the_exam_are_never_trained_on(reader):
    def pairs(unseen):
        found = set()
        for _ in range(300):
            ids, asks, holds = reader["sentences"](20, unseen)
            found |= {tuple(p) for p in ids[:, [asks[0], holds[0]]].tolist()}
            found |= {tuple(p) for p in ids[:, [asks[2], holds[2]]].tolist()}
        return found

    torch.manual_seed(0)
    trained, examined = pairs(unseen=False), pairs(unseen=True)
    assert not trained & examined
    assert len(examined) == 2 * 6
    assert len(trained) == 2 * 6 * 5
    sweet_apple = (reader["ID"]["苹果"], reader["ID"]["甜"])
    black_night = (reader["ID"]["夜"], reader["ID"]["黑"])
    assert {sweet_apple, black_night} <= examined


def test_who_asks_and_who_holds_the_answer_are_noun_and_quality_in_changing_places(reader):
    nouns = {reader["ID"][w] for w in reader["FOODS"] + reader["THINGS"]}
    qualities = {reader["ID"][w] for w in reader["TASTES"] + reader["COLOURS"]}
    torch.manual_seed(0)
    seen = set()
    for _ in range(200):
        ids, asks, holds = reader["sentences"](3)
        seen.add((asks[0], holds[0], ids.size(1)))
        assert {*ids[:, asks[0]].tolist(), *ids[:, asks[2]].tolist()} <= nouns
        assert {*ids[:, holds[0]].tolist(), *ids[:, holds[2]].tolist()} <= qualities
        assert (asks[1], asks[3], holds[1], holds[3]) == (holds[0], holds[2], asks[0], asks[2])
    assert len(seen) >= 15


def test_the_loss_never_sees_the_weights(reader):
    torch.manual_seed(0)
    model = reader["Reader"]().double().to(reader["device"]())

    def blindfolded(ids):
        guesses, weights = reader["Reader"].forward(model, ids)
        return guesses, torch.full_like(weights, torch.nan)

    torch.manual_seed(1)
    expected = reader["loss"](model)
    torch.manual_seed(1)
    assert reader["loss"](blindfolded) == expected


def test_heads_from_other_starts_learn_where_to_look_and_the_shuffled_do_not(reader):
    apple_is_sweet = torch.tensor([[reader["ID"][word] for word in ("苹果", "很", "甜")]])
    good = 0
    for seed in range(5, 10):
        looks = {}
        for shuffled in (False, True):
            torch.manual_seed(seed)
            model = reader["Reader"]().double().to(reader["device"]())
            untrained, _ = reader["examine"](model)
            reader["train"](model, lambda m, s=shuffled: reader["loss"](m, s), steps=200)
            looks[shuffled], _ = reader["examine"](model)
            if not shuffled:
                weights = model(apple_is_sweet.to(reader["device"]()))[1][0]
        assert untrained < 0.2
        there = looks[False] > 0.8 and bool(weights[0, 2] > 0.5 and weights[2, 0] > 0.5)
        good += there and looks[True] < 0.4
    assert good >= 4
