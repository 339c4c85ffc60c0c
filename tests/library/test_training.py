"""The training loop: it is Adam, it learns, it repeats itself, and it is silent."""

import pytest
import torch
from torch import nn

from attnbook.training import train

X = torch.randn(20, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
TARGET = X @ torch.tensor([[1.0], [-2.0], [0.5]], dtype=torch.float64)


def fresh() -> nn.Linear:
    torch.manual_seed(1)
    return nn.Linear(3, 1, bias=False).double()


def loss(model: nn.Module) -> torch.Tensor:
    return nn.functional.mse_loss(model(X), TARGET)


def test_it_takes_the_steps_of_adam():
    ours, theirs = fresh(), fresh()
    losses = train(ours, loss, steps=7, lr=0.05)
    optimizer = torch.optim.Adam(theirs.parameters(), lr=0.05)
    expected = []
    for _ in range(7):
        optimizer.zero_grad()
        value = loss(theirs)
        expected.append(value.item())
        value.backward()
        optimizer.step()
    assert losses == expected
    torch.testing.assert_close(ours.weight, theirs.weight, rtol=0, atol=0)


def test_it_learns_what_can_be_learnt():
    model = fresh()
    losses = train(model, loss, steps=300, lr=0.1)
    assert losses[0] > 1
    assert losses[-1] < 1e-6
    assert model.weight.squeeze().tolist() == pytest.approx([1.0, -2.0, 0.5], abs=1e-3)


def test_old_gradients_are_not_added_to_new_ones():
    model, other = fresh(), fresh()
    loss(model).backward()
    assert train(model, loss, steps=3) == train(other, loss, steps=3)


def test_the_loss_is_asked_once_per_step():
    asked = []

    def counting(model: nn.Module) -> torch.Tensor:
        asked.append(1)
        return loss(model)

    assert len(train(fresh(), counting, steps=5)) == len(asked) == 5


def test_it_is_silent(capsys):
    train(fresh(), loss, steps=2)
    assert capsys.readouterr() == ("", "")


BAD = [
    (ValueError, lambda: train(fresh(), loss, steps=0), "steps=0: it must be at least 1"),
    (TypeError, lambda: train(fresh(), loss, steps=2.0), "steps must be an int, got float"),
    (ValueError, lambda: train(fresh(), lambda m: m(X), steps=1), r"shape \(20, 1\): it must be"),
]


@pytest.mark.parametrize(("error", "call", "message"), BAD)
def test_bad_input_is_named(error, call, message):
    with pytest.raises(error, match=message):
        call()
