"""What an exercise is: a card, a reference, cases, mistakes that learners make, and hints."""

import functools
import inspect
import textwrap
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

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
    """A misunderstanding: what it computes, and what to tell who has it.

    It may be two at once.
    """

    wrong: Callable[..., Any]
    says: str
    single: bool = True


@dataclass(frozen=True)
class Property:
    """Something that a right answer has, to the last bit if it says so: `holds(answer, case)`."""

    says: str
    holds: Callable[[Any, Case], bool]


@dataclass(frozen=True)
class Exercise:
    """One exercise. `reference` is the one place where its solution lives.

    `axes` names the axes of the answer, "B H Lq Dv"; a case with fewer has the last of them.
    `cases` draws cases, the smallest first. `stub` is what the reader starts from. `slips` are
    those of attention's family that this function can have, and `without` the names that its card
    forbids. Who has solved it is told `insight`, where the idea `comes_back`, and `others`: one or
    two right answers that look different. Where `gradients` is true, those of an answer are
    compared too. Where `code` is false, each case is a question, and the answer one of several.
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
    comes_back: str = ""
    others: tuple[Callable[..., Any], ...] = ()
    axes: str = ""
    properties: tuple[Property, ...] = ()
    slips: Iterable[Mistake] = ()
    without: tuple[str, ...] = ()
    gradients: bool = True
    code: bool = True

    @property
    def name(self) -> str:
        """What the reader's function is called."""
        return self.reference.__name__

    @property
    def call(self) -> str:
        """How the card asks for it to be called: "my_scores(query, key)"."""
        return f"{self.name}({', '.join(inspect.signature(self.reference).parameters)})"

    def card(self) -> str:
        """The exercise as the chapter prints it, above its stub."""
        stars = "★" * self.level + "☆" * (3 - self.level)
        facts = f"{stars} · {self.minutes} minutes · needs section {self.section}"
        quoted = textwrap.indent(f"{facts}\n\n{self.prompt.strip()}", "> ", lambda _: True)
        lines = [line.rstrip() for line in quoted.splitlines()]
        return f"### Exercise {self.id}: {self.title}\n\n" + "\n".join(lines)

    def solution(self) -> str:
        """The reference as readers are shown it: it runs in the chapter."""
        return source.shown(self.reference)


def choices(
    reference: Callable[..., Any], sentences: Mapping[tuple[Hashable, Any], str]
) -> tuple[Mistake, ...]:
    """A mistake for each wrong answer to a question: `{("a", "eat"): "what to tell"}`.

    The question is the reference's first argument; on the card its case's note stands before the
    sentence. Where the reference takes more, the answer is written in their names: `("query",
    "B, L, H * Dk")`.
    """
    _, *names = inspect.signature(reference).parameters
    right = functools.cache(reference)  # each mistake is asked every question

    def instead(question: Hashable, answer: Any) -> Callable[..., Any]:
        def wrong(asked: Hashable, *sizes: int) -> Any:
            if asked != question:
                return right(asked, *sizes)
            return eval(answer, {}, dict(zip(names, sizes, strict=True))) if names else answer

        return wrong

    return tuple(Mistake(instead(q, a), says) for (q, a), says in sentences.items())


def draw(generator: Generator, *shape: int) -> Tensor:
    """Normal float64 numbers, drawn on the CPU so that they are the same everywhere."""
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def some_sizes(generator: Generator, n: int) -> list[int]:
    """Different sizes without an accident: none is another's half, square or logarithm."""
    return [(3, 5, 7, 11, 13)[i] for i in torch.randperm(5, generator=generator)[:n].tolist()]
