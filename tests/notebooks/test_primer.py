"""The primer: what its text claims beyond what its cells print."""

import itertools
import math

import pytest
import torch
from torch import nn

from attnbook.training import train
from tests.support.chapters import Chapter

primer = Chapter("primer.ipynb")


def test_a_rate_of_a_quarter_divides_the_loss_by_four_from_the_first_step_on():
    """Logarithmic axis: the curve is straight, but not from the very beginning."""
    names = primer.run("points", "loss", "step-code", "rates")
    losses = names["runs"]["lr = 0.25"]
    factors = [before / after for before, after in itertools.pairwise(losses)]
    assert factors[0] > 30
    assert factors[1:8] == pytest.approx([4] * 7, rel=1e-3)


@pytest.mark.parametrize(("flat", "least", "most"), [(10, 0.1, 0.12), (1000, 0.4, 0.6)])
def test_adam_takes_longer_steps_when_a_slope_gets_steeper_late(flat, least, most):
    """Early in a training run, the longest step hardly exceeds the rate of 0.1."""
    places = []

    class Slope(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.place = nn.Parameter(torch.zeros(()))

    def loss(model):
        places.append(model.place.item())
        return model.place * (1.0 if len(places) <= flat else 1000.0)

    train(Slope(), loss, steps=flat + 50, lr=0.1)
    moved = [abs(after - before) for before, after in itertools.pairwise(places)]
    assert moved[flat // 2] == pytest.approx(0.1, rel=0.01)
    assert least < max(moved) < most
    assert "much steeper after hundreds of steps" in primer.source("adam")


def test_the_logarithm_of_cross_entropy_is_the_natural_one():
    cost = nn.functional.cross_entropy(torch.tensor([0.9, 0.09, 0.01]).log(), torch.tensor(1))
    assert cost.item() == pytest.approx(-math.log(0.09))
    assert "-log 2.41" in primer.printed()
    assert "log is the natural logarithm" in primer.source("cross-entropy-ask")
