"""The training loop for the models of the book, and one with checkpoints for longer runs."""

import math
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch
from torch import Tensor, nn

from attnbook.checks.sizes import check_size

CHECKPOINT_EVERY = 100  # steps


def train(
    model: nn.Module, loss: Callable[[nn.Module], Tensor], steps: int, lr: float = 0.01
) -> list[float]:
    """Train a model for some steps of Adam with the learning rate `lr`.

    `loss(model)` draws its own examples and returns one number. Each parameter moves by about `lr`
    per step while its gradient stays about the same, and by less if it shrinks or changes sign.

    Returns: the loss at each step, before that step's update
    Raises:  TypeError, ValueError if steps is not a positive int or the loss not a single number
    Source:  Kingma and Ba 2015 (Adam)
    """
    check_size("steps", steps)
    optimizer = torch.optim.Adam(model.parameters(), lr)
    losses: list[float] = []
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


class Checkpoint:
    """A file from which a training run can resume; without a path, nothing is saved."""

    def __init__(
        self,
        file: Path | str | None,
        settings: dict[str, float | str],
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        generator: torch.Generator | None,
    ) -> None:
        self.file, self.settings = file and Path(file), settings
        self.model, self.optimizer, self.generator = model, optimizer, generator
        self.steps = 0

    def save(self, losses: list[float]) -> None:
        """Write a new file, then replace the old one, so that a complete file always exists."""
        if not self.file:
            return
        state: dict[str, Any] = {"settings": self.settings, "losses": losses}
        state["model"], state["optimizer"] = self.model.state_dict(), self.optimizer.state_dict()
        state["random"] = [torch.get_rng_state(), *torch.cuda.get_rng_state_all()]
        state["generator"] = self.generator and self.generator.get_state()
        partial = self.file.with_name(self.file.name + ".part")
        torch.save(state, partial)
        os.replace(partial, self.file)
        self.steps = len(losses)

    def load(self) -> list[float]:
        """Restore the state in the file and return the losses so far; create the file if needed."""
        if not self.file or not self.file.exists():
            self.save([])  # a file that cannot be written fails now, not after minutes
            return []
        state = self._read(self.file)
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        torch.set_rng_state(state["random"][0])
        torch.cuda.set_rng_state_all(state["random"][1 : torch.cuda.device_count() + 1])
        if self.generator:
            self.generator.set_state(state["generator"])
        self.steps = len(state["losses"])
        return state["losses"]

    def describe(self) -> str:
        """A message about what a stopped training run has saved."""
        if not self.file:
            return "Nothing is saved. To save the training, pass a file."
        return f"{self.file} holds {self.steps} of them: call again to continue."

    def _read(self, file: Path) -> dict[str, Any]:
        """Read the file.

        Raises:  ValueError if it is damaged, is not a checkpoint, or belongs to another run
        """
        try:
            state = torch.load(file, map_location="cpu", weights_only=True)
            saved = state["settings"]
        except (UnpicklingError, RuntimeError, EOFError, KeyError, TypeError):
            raise ValueError(f"{file} is damaged, or not a checkpoint of a training run") from None
        for name in self.settings | saved:
            ours, theirs = self.settings.get(name), saved.get(name)
            if ours != theirs:
                raise ValueError(
                    f"{file} belongs to another training run: {name} is {theirs}, here {ours}"
                )
        return state


def parameter_shapes(model: nn.Module) -> dict[str, float | str]:
    """The dtype and the shape of each parameter and buffer, by name."""
    return {name: f"{p.dtype} {tuple(p.shape)}" for name, p in model.state_dict().items()}


def with_progress(steps: range) -> Iterator[int]:
    """Yield the steps and show a progress bar, which is removed at the end."""
    show_line = progress_line()
    try:
        for count, step in enumerate(steps):
            if 50 * count // len(steps) != 50 * (count - 1) // len(steps):
                show_line(f"{'█' * (50 * count // len(steps)):░<50} step {step} of {steps.stop}")
            yield step
    finally:
        show_line("")


def progress_line() -> Callable[[str], None]:
    """A function that shows a line in place of the previous one, in a terminal or a notebook.

    The function does nothing elsewhere, or in a notebook that is run by a program, as when the book
    is built: such a notebook's kernel does not allow input.
    """
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if getattr(getattr(shell, "kernel", None), "_allow_stdin", False):
        from IPython.display import display  # imported here because it is slow

        handle = display({"text/plain": ""}, raw=True, display_id=True)
        return lambda line: handle.update({"text/plain": line}, raw=True)
    if sys.stderr.isatty():
        return lambda line: print(f"\r\033[K{line}", end="", file=sys.stderr, flush=True)
    return lambda line: None
