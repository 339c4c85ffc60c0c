"""Chapter 6: what its text claims beyond what its cells print, tried in other experiments."""

import itertools
import math

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from attnbook import SelfAttention, causal_mask
from attnbook.training.loop import train
from tests.support.chapters import Chapter

chapter = Chapter("06_masked_attention.ipynb")


@pytest.fixture(scope="module")
def clock():
    """Section 6.13 without its training runs."""
    return chapter.run("walks", "guesser-code", "teacher", "writing")


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


class LateHead(SelfAttention):
    """A head whose mask comes after the softmax, as in section 6.5."""

    def forward(self, x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        scores = self.w_q(x) @ self.w_k(x).mT / math.sqrt(self.w_k.out_features)
        weights = scores.softmax(-1) * mask
        return weights @ self.w_v(x), weights


@pytest.mark.parametrize(("late", "seed"), [(True, 0), (True, 1), (True, 2), (False, 0)])
def test_a_mask_after_the_softmax_passes_the_exam_at_first_and_leaks_later(clock, late, seed):
    torch.manual_seed(seed)
    model = clock["Guesser"]()
    if late:
        model.head = LateHead(32, 32, 32)
    model.to(clock["device"]())
    count, written = itertools.count(), []

    def loss(model: nn.Module) -> Tensor:
        if next(count) == 150:
            written.append(clock["write"](model, causal_mask))
        return clock["exam"](model, causal_mask)

    losses = torch.tensor(train(model, loss, steps=1000))
    (steps,) = written
    assert math.log(2) < losses[140:150].mean() < 0.85
    assert ((steps == 1) | (steps == 2)).float().mean() > 0.95
    last = losses[-10:].mean()
    assert last < 0.3 if late else last > math.log(2) - 0.01


def test_padding_that_is_counted_hides_the_coin_in_the_mean(clock):
    n_hours = 12
    torch.manual_seed(0)
    model = clock["Guesser"]()
    model.hours, model.guess = nn.Embedding(n_hours + 1, 32), nn.Linear(32, n_hours + 1)
    model.to(clock["device"]())

    def losses(model: nn.Module) -> tuple[Tensor, Tensor]:
        """The losses (64, 7), and which of the answers are hours."""
        walk = clock["walks"](64)
        lengths = torch.randint(2, 5, (64, 1)).to(walk.device)
        walk = walk.where(torch.arange(8, device=walk.device) < lengths, n_hours)
        guesses, answers = model(walk, causal_mask(8))[:, :-1], walk[:, 1:]
        return F.cross_entropy(guesses.mT, answers, reduction="none"), answers < n_hours

    train(model, lambda m: losses(m)[0].mean(), steps=150)
    each, real = losses(model)
    assert each.mean() < 0.5
    assert each[real].mean() > math.log(2)


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
