"""Checkpoints: files from which a long training run resumes to the same bits."""

import os
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch
from torch import nn


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
