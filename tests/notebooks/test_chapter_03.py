"""Chapter 3: what its text claims beyond the draws that its cells show."""

import math

import pytest
import torch

from attnbook import SelfAttention, scaled_dot_product_attention, softmax
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


def test_divided_by_the_width_a_step_of_adam_moves_scores_equally_far_at_every_width():
    game = chapter.run("game", "wide-head", "play")
    moves = [game["play"](d_k, steps=2, d_k=d_k)[0] for d_k in (16, 64, 256, 1024)]
    assert max(moves) < 1.3 * min(moves)


def test_the_text_does_not_say_that_an_undivided_head_gets_no_gradient():
    summary = chapter.source("summary")
    assert "many rows then pass hardly any gradient" in summary
    assert "hardly any gradient gets through" not in summary
    assert "*more* gradient" in chapter.source("from-there-more")


def test_how_many_rows_of_a_wide_undivided_head_saturate_depends_on_the_number_of_keys():
    """Sections 3.8 and 3.15: most of eight keys' rows at width 1,024, fewer of a thousand keys'."""
    torch.manual_seed(0)
    dead = {}
    for n_keys in (8, 1024):
        queries = torch.randn(20, 10, 1024)
        weights = softmax(queries @ torch.randn(20, n_keys, 1024).mT)  # (20, 10, n_keys)
        dead[n_keys] = ((weights * (1 - weights)).amax(-1) < 0.001).double().mean()
    assert dead[8] > 0.55
    assert 0.3 < dead[1024] < 0.55


def test_linear_layers_give_scores_a_third_of_the_spread():
    """Section 3.8: queries and keys have a third of the inputs' variance, so scores a ninth.

    Inputs that are ten times shorter, as in section 3.12, leave a hundredth of that.
    """
    _, x = life_is_short()
    torch.manual_seed(0)
    short = SelfAttention(16, 1024, 8).w_q(0.1 * x).var().item()
    assert short == pytest.approx(1 / 300, rel=0.15)
    assert "but inputs with variance 1" in chapter.source("from-there-more")
    for d_k in (24, 1024):
        variances, spreads = [], []
        for seed in range(20):
            torch.manual_seed(seed)
            head = SelfAttention(16, d_k, 8)
            query, key = head.w_q(x), head.w_k(x)
            variances.append(query.var().item())
            spreads.append((query @ key.T / math.sqrt(d_k)).std().item())
        assert sum(variances) / 20 == pytest.approx(1 / 3, abs=0.03)
        assert sum(spreads) / 20 == pytest.approx(1 / 3, abs=0.03)


def test_a_long_row_overflows_before_89():
    row = torch.full((1000,), 82.0)
    assert row.exp().isfinite().all()
    assert row.exp().sum().isinf()
    assert torch.tensor(88.0).exp().isfinite()
    assert torch.tensor(89.0).exp().isinf()


def test_the_sum_of_its_embedding_makes_a_row_even_or_sharp():
    words, x = life_is_short()
    names = chapter.run("s1-matrices", **{"s1-matrices": matrices()})

    def largest(word, total):
        i, nudged = words.index(word), x.clone()
        nudged[i] += (total - x[i].sum()) / 16
        query, keys = nudged[i] @ names["w_query"], nudged @ names["w_key"]
        return (query @ keys.T / 24**0.5).softmax(-1).max()

    assert largest("is", 4.0) > 0.98
    assert largest("short", x[1].sum()) < 0.5


def matrices():
    """Return the cell of S1's matrices, after a line that defines the sentence that it needs."""
    return "words, x = life_is_short()\n" + chapter.source("s1-matrices")


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


def test_one_matrix_for_keys_and_values_is_enough_to_say_that_a_taste_is_there():
    """Section 3.11: the label tells a taste from no taste, but not one taste from another."""
    names = chapter.run("twins-code", "tie-kv")
    to_q, to_k, _ = names["by_hand"]
    (_, sweet), (_, sour) = names["twins"].values()
    plain = torch.cat([sweet[:2], sweet[1:2]])  # 苹果 很 很
    outputs = [
        scaled_dot_product_attention(rows @ to_q, rows @ to_k, rows @ to_k)[0][0]
        for rows in (sweet, sour, plain)
    ]
    torch.testing.assert_close(outputs[0], outputs[1])
    assert outputs[0][0] - outputs[2][0] > 0.5


def test_a_head_that_was_never_trained_can_have_a_sharp_map():
    """Section 3.12: so the sharpness of a map doesn't even show that the head was trained."""
    _, x = life_is_short()
    names = chapter.run("s1-matrices", **{"s1-matrices": matrices()})
    scores = x @ names["w_query"] @ (x @ names["w_key"]).T / math.sqrt(24)
    assert (softmax(scores).amax(dim=-1) > 0.99).sum() == 4
    assert "shows that a head was trained" not in chapter.source("watch-question")


def test_without_projections_a_word_may_find_another_word_first():
    """Section 3.3: a longer row can win, though the word asks for nothing but itself."""
    rows = torch.tensor([[1.0, 0], [3, 1], [0, 1]])
    assert (rows @ rows.T).argmax(dim=-1).tolist() == [1, 1, 1]
    assert "To find something else first" not in chapter.source("three-matrices")


def test_with_one_matrix_only_the_scores_are_the_same_in_both_directions():
    """Section 3.11: a word can attend to another that hardly attends to it."""
    projected = torch.tensor([[1.0, 0], [10, 0], [0, 1]])  # queries and keys at once
    weights = scaled_dot_product_attention(projected, projected, projected)[1]
    assert weights[0, 1] > 0.99
    assert weights[1, 0] < 0.01
    assert "one-sidedly" not in chapter.source("tie-qk-seen")


def test_the_weight_responds_36_times_as_strongly_with_the_root():
    """Section 3.8: the slopes per unit of q · k, which the cell prints with four digits."""
    names = chapter.run(
        "spread",
        "explore-scaling",
        **{"explore-scaling": chapter.source("explore-scaling").partition("explore_scaling(")[0]},
    )
    slopes = {}
    for divisor in (32, 1024):
        share = softmax(names["races_run"][1024] / divisor)[2]
        slopes[divisor] = share * (1 - share) / divisor
    assert round((slopes[32] / slopes[1024]).item()) == 36
    assert "about 36 times" in chapter.source("from-there")


def test_the_text_says_what_the_claims_try():
    assert "steps at a learning rate of 0.3" in chapter.source("gradient-norms-seen")
