"""The training loop for the models of the book, and one with checkpoints for longer runs."""

import math
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn

from attnbook.checks.sizes import check_size
from attnbook.training.checkpoint import Checkpoint, parameter_shapes
from attnbook.training.progress import with_progress

CHECKPOINT_EVERY = 100  # steps


def train(
    model: nn.Module, loss: Callable[[nn.Module], Tensor], steps: int, lr: float = 0.01
) -> list[float]:
    """Train a model for some steps of Adam with the learning rate `lr`.

    `loss(model)` draws its own examples and returns one number. Each parameter moves by about `lr`
    per step while its gradient stays about the same, and by less if it shrinks or changes sign.
    The model is put into training mode and stays in it: call `model.eval()` before using it.

    Returns: the loss at each step, before that step's update
    Raises:  TypeError, ValueError if steps is not a positive int or the loss not a single number
    Source:  Kingma and Ba 2015 (Adam)
    """
    check_size("steps", steps)
    optimizer = torch.optim.Adam(model.parameters(), lr)
    losses: list[float] = []
    model.train()
    for _ in range(steps):
        value = loss(model)
        if value.numel() != 1:
            raise ValueError(f"loss of shape {tuple(value.shape)}: it must be one number")
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
        losses.append(value.item())
    return losses


def train_long(
    model: nn.Module,
    loss: Callable[[nn.Module], Tensor],
    steps: int,
    lr: float,
    *,
    warm_up: int = 0,
    clip: float = math.inf,
    round_to: float = 0.0,
    generator: torch.Generator | None = None,
    file: Path | str | None = None,
) -> list[float]:
    """Train as `train` does, with a learning rate schedule, gradient clipping and checkpoints.

    The learning rate rises linearly to `lr` in the first `warm_up` steps, then falls linearly to 0.
    A gradient whose norm over all parameters exceeds `clip` is scaled down to `clip`. After each
    step the parameters are rounded to multiples of `round_to`. In float64 all machines then get
    the same parameters, although they add numbers in different orders.

    With a `file`, the state is saved there every CHECKPOINT_EVERY steps, including the states of
    the random number generators and of the `generator` that `loss` draws from. If the file exists,
    the same call resumes from it, and the result is the same to the last bit. A terminal or a
    notebook shows a progress bar.

    Returns: the loss at each step, before that step's update
    Raises:  TypeError, ValueError as in `train`; ValueError if `file` belongs to another run
    Source:  Vaswani et al. 2017, §5.3 (warm-up, and Adam's 0.98); Pascanu et al. 2013 (clipping)
    """
    check_size("steps", steps)
    check_size("warm_up", warm_up, at_least=0)
    optimizer = torch.optim.Adam(model.parameters(), lr, betas=(0.9, 0.98))
    settings: dict[str, float | str] = {"steps": steps, "lr": lr, "warm_up": warm_up}
    settings |= {"clip": clip, "round_to": round_to} | parameter_shapes(model)
    checkpoint = Checkpoint(file, settings, model, optimizer, generator)
    losses = checkpoint.load()
    round_parameters(model, round_to)
    model.train()
    try:
        for step in with_progress(range(len(losses), steps)):
            optimizer.param_groups[0]["lr"] = lr * lr_scale(step, steps, warm_up)
            value = loss(model)
            if value.numel() != 1:
                raise ValueError(f"loss of shape {tuple(value.shape)}: it must be one number")
            optimizer.zero_grad()
            value.backward()
            nn.utils.clip_grad_norm_(model.parameters(), clip)
            optimizer.step()
            round_parameters(model, round_to)
            losses.append(value.item())
            if len(losses) % CHECKPOINT_EVERY == 0 or len(losses) == steps:
                checkpoint.save(losses)
    except KeyboardInterrupt:
        print(f"Stopped in step {len(losses) + 1} of {steps}. {checkpoint.describe()}")
        raise
    return losses


def lr_scale(step: int, steps: int, warm_up: int) -> float:
    """The factor for the learning rate: it rises to 1 in the warm-up, then falls toward 0."""
    if step < warm_up:
        return (step + 1) / warm_up
    return (steps - step) / (steps - warm_up)


@torch.no_grad()
def round_parameters(model: nn.Module, round_to: float) -> None:
    """Round each parameter to the nearest multiple of `round_to`; with 0, change nothing."""
    for parameter in model.parameters() if round_to else ():
        parameter.copy_((parameter / round_to).round() * round_to)
