"""Chapter 6: what its text claims beyond what its cells print."""

import math

import pytest
import torch
from torch.nn import functional as F

from attnbook import causal_mask, scaled_dot_product_attention
from attnbook.training.loop import train
from tests.support.chapters import Chapter

chapter = Chapter("06_masked_attention.ipynb")
SENTENCE = ("exam", "masks-picture", "projections", "matrix-code", "after")
PLAIN = {
    "masks-picture": "everyone = torch.ones(length, length, dtype=torch.bool)",
    "matrix-code": "causal = causal_mask(length)",
}


@pytest.fixture(scope="module")
def search():
    """Sections 6.2 to 6.5, and the leak detector of 6.11 without its picture."""
    drawn = chapter.source("detector-one").replace("plot_leaks(", "(")
    return chapter.run(
        *SENTENCE, "batch", "detector-code", "detector-one", **PLAIN | {"detector-one": drawn}
    )


@pytest.fixture(scope="module")
def clock():
    """Section 6.13 without its training runs."""
    return chapter.run("walks", "guesser-code", "teacher", "writing")


def test_after_the_softmax_the_last_word_has_half_the_gradient(search):
    slopes = {}
    for name in ("masked_after", "masked_before"):
        rows = search["x"].clone().requires_grad_()
        first = (search[name](search["score"](rows)) @ search["project"](rows)[2])[0]
        (slope,) = torch.autograd.grad(first.sum(), rows)
        slopes[name] = slope.norm(dim=-1)
    late, early = slopes["masked_after"], slopes["masked_before"]
    assert 0.45 < late[-1] / late[0] < 0.55
    assert early[0] > 1
    assert not early[1:].any()


def test_a_row_divided_by_its_sum_is_lost_if_the_last_word_is_30_times_as_large(search):
    large = search["x"] * torch.tensor([1, 1, 1, 1, 1, 30])[:, None]
    cut = search["masked_after"](search["score"](large))
    repaired = cut / cut.sum(-1, keepdim=True)
    assert repaired[0].isnan().all()
    torch.testing.assert_close(repaired[1:], search["masked_before"](search["score"](large))[1:])


def test_ones_and_zeros_hide_nothing_in_pytorch_and_are_refused_here(search):
    query, key, value = search["qkv"]
    ones = search["causal"].float()
    rows = F.scaled_dot_product_attention(query, key, value, attn_mask=ones)
    scores = (search["scores"] + ones).softmax(-1)
    torch.testing.assert_close(rows, scores @ value)
    with pytest.raises(ValueError, match="must be boolean"):
        scaled_dot_product_attention(query, key, value, ones)


def test_the_layer_gives_nan_or_zeros_by_what_it_is_asked_for():
    torch.manual_seed(0)
    layer = torch.nn.MultiheadAttention(16, 2, batch_first=True).eval()
    x, hidden = torch.randn(1, 6, 16), torch.ones(6, 6, dtype=torch.bool)
    zeros = {}
    for asked in (True, False):
        for recording in (True, False):
            with torch.set_grad_enabled(recording):
                rows, _ = layer(x, x, x, attn_mask=hidden, need_weights=asked)
            zeros[asked, recording] = not rows.isnan().any()
    assert {case for case, answer in zeros.items() if answer} == {(False, True)}


def slopes(attend, x, mask):
    """The leak detector's map, from gradients: True where output i depends on word j."""
    slope = torch.autograd.functional.jacobian(lambda rows: attend(rows, mask), x)
    return slope.ne(0).any(3).any(1)


def draws(seed: int) -> torch.Tensor:
    return torch.randn(8, 6, 16, generator=torch.Generator().manual_seed(seed)).double()


def test_a_single_draw_can_miss_a_leak_and_eight_find_it(search):
    head, moved, x, fresh = (search[name] for name in ("head", "moved", "x64", "fresh"))
    everyone = search["everyone"]
    assert moved(head, x, everyone).all()
    assert not moved(head, x, everyone, fresh[:1]).all()


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize(("size", "misses"), [(0.3, False), (3, True)])
def test_large_vectors_hide_leaks_that_small_ones_show(search, size, misses, seed):
    head, moved = search["head"], search["moved"]
    slip, rows = search["everyone"].tril(1), size * search["x64"]
    missed = slopes(head, rows, slip) & ~moved(head, rows, slip, size * draws(seed))
    assert missed.any() == misses


def test_random_vectors_miss_leaks_that_zeros_and_copies_find(search):
    def counting(x, mask):
        return search["head"](x, mask) / x.any(-1).sum()

    def repeating(x, mask):
        return search["head"](x, mask) + (x[-1] == x[:-1]).all(-1).any()

    x, moved = search["x64"], search["moved"]
    special = torch.stack([torch.zeros_like(x), x.roll(1, dims=0)])
    for leaky in (counting, repeating):
        found = [moved(leaky, x, search["causal"], o).triu(1).any() for o in (draws(0), special)]
        assert found == [False, True]


def test_a_row_divided_by_its_sum_is_marked_and_right_up_to_rounding(search):
    def repaired(x, mask):
        cut = search["score"](x).softmax(-1) * mask
        return cut / cut.sum(-1, keepdim=True) @ search["project"](x)[2]

    x, causal = search["x64"], search["causal"]
    assert search["moved"](repaired, x, causal).triu(1).any()
    torch.testing.assert_close(repaired(x, causal), search["head"](x, causal))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("leaks", [False, True])
def test_what_a_leak_costs_and_where_the_weight_goes(clock, leaks, seed):
    mask_of = clock["leaking_mask"] if leaks else causal_mask
    torch.manual_seed(seed)
    model = clock["Guesser"]().to(clock["device"]())
    train(model, lambda m: clock["exam"](m, mask_of), steps=150)
    low, high = (0, 0.01) if leaks else (math.log(2) - 0.01, 0.75)
    assert low < clock["exam"](model, mask_of) < high
    steps = clock["write"](model, mask_of)
    if leaks:
        assert (steps == 0).float().mean() > 0.8
    else:
        assert ((steps == 1) | (steps == 2)).all()
    rows = model.hours(clock["walks"](64)) + model.positions.weight
    _, weights = model.head(rows, mask_of(8).to(rows.device))
    assert (weights.mean(0)[:5].diagonal(offset=int(leaks)) > 0.5).all()


def test_a_model_without_a_leak_learns_16_walks_by_heart(clock):
    def loss_on(walk, model):
        guesses = model(walk, causal_mask(8))[:, :-1]
        return F.cross_entropy(guesses.flatten(0, 1), walk[:, 1:].flatten())

    torch.manual_seed(0)
    sixteen = clock["walks"](16)
    model = clock["Guesser"]().to(clock["device"]())
    train(model, lambda m: loss_on(sixteen, m), steps=300)
    torch.manual_seed(100)
    new = clock["walks"](64)
    assert not (new[:, None] == sixteen).all(-1).any()
    assert loss_on(sixteen, model) < 0.3
    assert loss_on(new, model) > 4


def test_the_causal_mask_hides_padding_on_the_right_from_real_words(search):
    rows = search["batch_qkv"]
    real = torch.arange(6) < torch.tensor([6, 3])[:, None, None]
    both, _ = scaled_dot_product_attention(*rows, search["causal"] & real)
    one, _ = scaled_dot_product_attention(*rows, search["causal"])
    torch.testing.assert_close(both[0], one[0])
    torch.testing.assert_close(both[1, :3], one[1, :3])
