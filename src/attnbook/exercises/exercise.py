"""What an exercise is: a card, a reference, cases, mistakes that learners make, and hints."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Generator, Tensor

from attnbook.exercises import source


@dataclass(frozen=True)
class Case:
    """Arguments to call a function with, the sizes in them by name, and what is special about it.

    All sizes differ, so that an axis can be told by its length.
    """

    arguments: tuple[Any, ...]
    sizes: Mapping[str, int] = field(default_factory=dict)
    note: str = ""


@dataclass(frozen=True)
class Mistake:
    """A misunderstanding: what it is called, what it computes, and what to tell who has it."""

    name: str
    wrong: Callable[..., Any]
    says: str


@dataclass(frozen=True)
class Property:
    """Something that holds for every right answer; `holds(answer, case)` tests it."""

    says: str
    holds: Callable[[Any, Case], bool]


@dataclass(frozen=True)
class Exercise:
    """One exercise. `reference` is the one place where its solution lives.

    `axes` names the axes of the answer, "B H Lq Dv", or of each answer of several,
    "B H Lq Dv; B H Lq Lk"; a case with fewer axes has the last of them. `cases` draws them, the
    smallest first. `stub` is what the reader starts from, and `insight` what a solver is told.
    """

    id: str
    title: str
    level: int
    minutes: int
    section: str
    prompt: str
    stub: str
    reference: Callable[..., Any]
    cases: Callable[[Generator], Sequence[Case]]
    mistakes: tuple[Mistake, ...]
    hints: tuple[str, str, str]
    insight: str
    axes: str = ""
    properties: tuple[Property, ...] = ()
    code: bool = True

    @property
    def name(self) -> str:
        """What the reader's function is called in the stub."""
        return self.stub.split("def ", 1)[1].split("(", 1)[0]

    def card(self) -> str:
        """The exercise as the chapter prints it, above its stub."""
        stars = "★" * self.level + "☆" * (3 - self.level)
        return (
            f":::{{admonition}} Exercise {self.id}: {self.title}\n"
            f":class: exercise\n"
            f"{stars} · {self.minutes} minutes · needs section {self.section}\n\n"
            f"{self.prompt.strip()}\n"
            f":::"
        )

    def solution(self) -> str:
        """The reference as readers are shown it: it runs in the chapter."""
        return source.shown(self.reference)


def same(got: Any, wanted: Any) -> bool:
    """Whether an answer is right: equal words and whole numbers, close real ones, same shapes."""
    if isinstance(wanted, Tensor):
        if not isinstance(got, Tensor) or got.shape != wanted.shape or got.device != wanted.device:
            return False
        if not wanted.is_floating_point():
            return got.dtype == wanted.dtype and bool(got.cpu().eq(wanted.cpu()).all())
        if not got.is_floating_point():
            return False
        here, there = got.detach().cpu().double(), wanted.detach().cpu().double()
        return torch.allclose(here, there, rtol=1e-5, atol=1e-7, equal_nan=True)
    if isinstance(wanted, (tuple, list)):
        if not isinstance(got, (tuple, list, torch.Size)) or len(got) != len(wanted):
            return False
        return all(same(g, w) for g, w in zip(got, wanted, strict=True))
    if isinstance(wanted, (bool, int, float)):
        number = got.item() if isinstance(got, Tensor) and got.numel() == 1 else got
        if isinstance(number, bool) or isinstance(wanted, bool):
            return number is wanted
        return isinstance(number, (int, float)) and math.isclose(
            number, wanted, rel_tol=1e-6, abs_tol=1e-9
        )
    if isinstance(wanted, str):
        return isinstance(got, str) and got.strip().lower() == wanted.strip().lower()
    return type(got) is type(wanted) and bool(np.all(got == wanted))


def except_for(reference: Callable[..., Any], question: Any, wrong: Any) -> Callable[..., Any]:
    """A learner's belief: right, but for one question, the function's first argument.

    `wrong` is the answer to it, or a function of the other arguments that computes it.
    """

    def belief(first: Any, *others: Any) -> Any:
        if first != question:
            return reference(first, *others)
        return wrong(*others) if callable(wrong) else wrong

    return belief


def draw(generator: Generator, *shape: int) -> Tensor:
    """Normal float64 numbers, drawn on the CPU so that they are the same everywhere."""
    return torch.randn(*shape, generator=generator, dtype=torch.float64)
