"""One plain training loop, for every model in the book."""

import sys
from collections.abc import Callable

import torch
from torch import Tensor, nn

from attnbook.checks import check_size


def train(
    model: nn.Module,
    loss: Callable[[nn.Module], Tensor],
    steps: int,
    lr: float = 0.01,
    progress: bool = False,
) -> list[float]:
    """Correct the model's weights `steps` times, each time a little, against the gradient.

    `loss(model)` draws its own examples and returns one number. Adam decides how far each
    weight moves, about `lr` per step. Nothing is printed unless `progress` asks for a bar,
    on stderr.

    Returns: the loss at each step, before that step's correction
    Raises:  TypeError, ValueError if steps is no positive int or the loss no single number
    Source:  Kingma and Ba 2015 (Adam)
    """
    check_size("steps", steps)
    optimizer = torch.optim.Adam(model.parameters(), lr)
    losses: list[float] = []
    for step in range(1, steps + 1):
        now = loss(model)
        if now.numel() != 1:
            raise ValueError(f"loss of shape {tuple(now.shape)}: it must be one number")
        optimizer.zero_grad()
        now.backward()
        optimizer.step()
        losses.append(now.item())
        if progress:
            _draw_bar(step, steps, losses[-1])
    return losses


def _draw_bar(step: int, steps: int, loss: float) -> None:
    done = 30 * step // steps
    bar = "#" * done + "." * (30 - done)
    print(f"\r{bar} {step}/{steps}  loss {loss:.3g}", end="", file=sys.stderr, flush=True)
    if step == steps:
        print(file=sys.stderr)
