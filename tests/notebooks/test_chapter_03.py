"""Chapter 3: what its text claims beyond the draws that its cells show."""

import pytest
import torch

from attnbook import softmax
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


@pytest.mark.parametrize("name", ["normal", "uniform", "signs"])
def test_the_variance_needs_no_bell_curve(name):
    generator = torch.Generator().manual_seed(0)
    for d_k in (4, 64):
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


def test_the_two_baselines_of_the_game():
    game = chapter.run("game")
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
