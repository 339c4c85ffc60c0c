"""One plain training loop, for every model in the book."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from attnbook.checks import check_size


def train(
    model: nn.Module, loss: Callable[[nn.Module], Tensor], steps: int, lr: float = 0.01
) -> list[float]:
    """Correct the model's parameters `steps` times, each time a little, against the gradient.

    `loss(model)` draws its own examples and returns one number. Adam decides how far each
    parameter moves, about `lr` per step.

    Returns: the loss at each step, before that step's correction
    Raises:  TypeError, ValueError if steps is no positive int or the loss no single number
    Source:  Kingma and Ba 2015 (Adam)
    """
    check_size("steps", steps)
    optimizer = torch.optim.Adam(model.parameters(), lr)
    losses: list[float] = []
    for _ in range(steps):
        now = loss(model)
        if now.numel() != 1:
            raise ValueError(f"loss of shape {tuple(now.shape)}: it must be one number")
        optimizer.zero_grad()
        now.backward()
        optimizer.step()
        losses.append(now.item())
    return losses
