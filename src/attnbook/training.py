"""One plain training loop, for every model in the book; and the same for trainings of minutes."""

import math
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch
from torch import Tensor, nn

from attnbook.checks import check_size

KEEP_EVERY = 100  # steps from one checkpoint to the next


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


def train_long(
    model: nn.Module,
    loss: Callable[[nn.Module], Tensor],
    steps: int,
    lr: float,
    *,
    warm_up: int = 0,
    clip: float = math.inf,
    grid: float = 0.0,
    generator: torch.Generator | None = None,
    file: Path | str | None = None,
) -> list[float]:
    """Train as `train` does, but for minutes: begin gently, end gently, and be able to go on.

    The learning rate rises to `lr` in the first `warm_up` steps, then falls to 0, both in a
    straight line. A gradient longer than `clip`, all parameters together, is cut to that length.
    After each step the parameters are rounded to multiples of `grid`: in float64 two machines then
    stay together to the last bit, although each adds up in an order of its own.

    In `file` everything is kept every KEEP_EVERY steps, the random numbers and the `generator` that
    `loss` draws from included. If it is there, the same call goes on from it, and ends with the
    same bits as without the break. Where somebody looks on, a bar moves.

    Returns: the loss at each step, before that step's correction
    Raises:  TypeError, ValueError as `train`; ValueError if `file` is of another training
    Source:  Vaswani et al. 2017, §5.3 (warm-up, and Adam's 0.98); Pascanu et al. 2013 (clipping)
    """
    check_size("steps", steps)
    check_size("warm_up", warm_up, at_least=0)
    optimizer = torch.optim.Adam(model.parameters(), lr, betas=(0.9, 0.98))
    what: dict[str, float | str] = {"steps": steps, "lr": lr, "warm_up": warm_up}
    what |= {"clip": clip, "grid": grid} | shapes(model)
    checkpoint = Checkpoint(file, what, model, optimizer, generator)
    losses = checkpoint.go_on()
    settle(model, grid)
    try:
        for step in watched(range(len(losses), steps)):
            optimizer.param_groups[0]["lr"] = lr * share_of_rate(step, steps, warm_up)
            now = loss(model)
            if now.numel() != 1:
                raise ValueError(f"loss of shape {tuple(now.shape)}: it must be one number")
            optimizer.zero_grad()
            now.backward()
            nn.utils.clip_grad_norm_(model.parameters(), clip)
            optimizer.step()
            settle(model, grid)
            losses.append(now.item())
            if len(losses) % KEEP_EVERY == 0 or len(losses) == steps:
                checkpoint.keep(losses)
    except KeyboardInterrupt:
        print(f"Stopped in step {len(losses) + 1} of {steps}. {checkpoint.says()}")
        raise
    return losses


def share_of_rate(step: int, steps: int, warm_up: int) -> float:
    """Which share of the learning rate a step gets: up to 1 in the warm-up, then down to 0."""
    if step < warm_up:
        return (step + 1) / warm_up
    return (steps - step) / (steps - warm_up)


@torch.no_grad()
def settle(model: nn.Module, grid: float) -> None:
    """Round each parameter to the nearest multiple of `grid`; with 0, leave it as it is."""
    for parameter in model.parameters() if grid else ():
        parameter.copy_((parameter / grid).round() * grid)


class Checkpoint:
    """The file from which a training can go on; there is none if its name is None."""

    def __init__(
        self,
        file: Path | str | None,
        what: dict[str, float | str],
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        generator: torch.Generator | None,
    ) -> None:
        self.file, self.what = file and Path(file), what
        self.model, self.optimizer, self.generator = model, optimizer, generator
        self.steps = 0

    def keep(self, losses: list[float]) -> None:
        """Write beside the old file, then put it in its place: at any moment one is whole."""
        if not self.file:
            return
        state: dict[str, Any] = {"what": self.what, "losses": losses}
        state["model"], state["optimizer"] = self.model.state_dict(), self.optimizer.state_dict()
        state["random"] = [torch.get_rng_state(), *torch.cuda.get_rng_state_all()]
        state["generator"] = self.generator and self.generator.get_state()
        beside = self.file.with_name(self.file.name + ".part")
        torch.save(state, beside)
        os.replace(beside, self.file)
        self.steps = len(losses)

    def go_on(self) -> list[float]:
        """Put everything where the file has it, and return the losses so far; or begin the file."""
        if not self.file or not self.file.exists():
            self.keep([])  # a name that cannot be written is known now, not in minutes
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

    def says(self) -> str:
        """What is left of a training that was stopped."""
        if not self.file:
            return "Nothing is kept: for that, name a file."
        return f"{self.file} holds {self.steps} of them: call again to go on."

    def _read(self, file: Path) -> dict[str, Any]:
        """What the file holds, if it is a checkpoint of this very training."""
        try:
            state = torch.load(file, map_location="cpu", weights_only=True)
            what = state["what"]
        except (UnpicklingError, RuntimeError, EOFError, KeyError, TypeError):
            raise ValueError(f"{file} is damaged, or no checkpoint of a training") from None
        for name in self.what | what:
            here, there = self.what.get(name), what.get(name)
            if here != there:
                raise ValueError(f"{file} is of another training: {name} is {there}, here {here}")
        return state


def shapes(model: nn.Module) -> dict[str, float | str]:
    """What each parameter of a model looks like, by its name."""
    return {name: f"{p.dtype} {tuple(p.shape)}" for name, p in model.state_dict().items()}


def watched(steps: range) -> Iterator[int]:
    """The steps, and a bar that moves with them and goes at the end, where somebody looks on."""
    draw = painter()
    try:
        for count, step in enumerate(steps):
            if 50 * count // len(steps) != 50 * (count - 1) // len(steps):
                draw(f"{'█' * (50 * count // len(steps)):░<50} step {step} of {steps.stop}")
            yield step
    finally:
        draw("")


def painter() -> Callable[[str], None]:
    """How to show a line in the place of the last one: in a terminal, in a notebook, or not at all.

    A notebook that a program runs, as it is when the book is made, says that it has nobody to ask.
    """
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if getattr(getattr(shell, "kernel", None), "_allow_stdin", False):
        from IPython.display import display  # later than all else, since it is slow

        handle = display({"text/plain": ""}, raw=True, display_id=True)
        return lambda line: handle.update({"text/plain": line}, raw=True)
    if sys.stderr.isatty():
        return lambda line: print(f"\r\033[K{line}", end="", file=sys.stderr, flush=True)
    return lambda line: None
