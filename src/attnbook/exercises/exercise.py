"""The parts of an exercise: a card, a reference, cases, mistakes that learners make, and hints."""

import functools
import inspect
import re
import textwrap
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Generator, Tensor

from attnbook.exercises import source
from attnbook.language import _

STUB_COMMENT = re.compile(r"(?<=raise NotImplementedError  # ).+")


@dataclass(frozen=True)
class Case:
    """Arguments for a function, their sizes by name, and a note on what is special about them.

    All sizes differ, so that each axis can be recognized by its length.
    """

    arguments: tuple[Any, ...]
    sizes: Mapping[str, int] = field(default_factory=dict)
    note: str = ""


@dataclass(frozen=True)
class Mistake:
    """A misunderstanding: a function based on it, and the message for readers who share it.

    `single` is false for a combination of two mistakes; `second` is then the message of the second.
    """

    wrong: Callable[..., Any]
    message: str
    single: bool = True
    second: str = ""

    @property
    def told(self) -> str:
        """What the reader is told, in the reader's language."""
        if not self.second:
            return _(self.message)
        return _("Two mistakes. {first}\n{second}").format(
            first=_(self.message), second=_(self.second)
        )


class Choices(tuple[Mistake, ...]):
    """The mistakes of an exercise whose answer is a choice: wrong answers to its questions."""


@dataclass(frozen=True)
class Property:
    """A property of every right answer, and the message for an answer that does not have it.

    `holds(answer, case)` may ask for more than nearly equal numbers, such as an exact 0.
    """

    message: str
    holds: Callable[[Any, Case], bool]


@dataclass(frozen=True)
class Exercise:
    """One exercise.

    `id` is by default that of the reference's file: "06.heads" for chapters/ch06/heads.py.
    `section` is the one that the exercise needs, which may be a second reading. `reference` is the
    solution. `stub` is what the reader starts from; if it is left out, it has the reference's
    signature and an empty body. `cases` draws cases, the smallest first. `axes` names the axes of
    the answer, such as "B H Lq Dv"; an answer with fewer axes has the last ones. `common_mistakes`
    are mistakes of a MistakeSet that this function can contain, the single ones first. `without`
    contains names that the card forbids. A reader who solves the exercise is shown `insight`, the
    later use of the idea in `comes_back`, and `others`: one or two right answers that look
    different. `gradients` is false if the gradients of an answer are not compared. Lost gradients
    are reported, and an answer without them fails only if the card asks for gradients. A wrong
    dtype, too, fails only if the card asks for one. `on_cpu` keeps the cases on the CPU, because
    the obvious answer needs an operation that is not deterministic on CUDA. `code` is false if the
    mistakes are choices: then each case is a question, and the answer is one of several.
    """

    title: str
    level: int
    minutes: int
    section: str
    prompt: str
    reference: Callable[..., Any]
    cases: Callable[[Generator], Sequence[Case]]
    mistakes: tuple[Mistake, ...]
    hints: tuple[str, str, str]
    insight: str
    id: str = ""
    second_reading: bool = False
    stub: str = ""
    comes_back: str = ""
    others: tuple[Callable[..., Any], ...] = ()
    axes: str = ""
    properties: tuple[Property, ...] = ()
    common_mistakes: Iterable[Mistake] = ()
    without: tuple[str, ...] = ()
    gradients: bool = True
    asks_for_gradients: bool = False
    asks_for_dtype: bool = False
    on_cpu: bool = False
    code: bool = True

    def __post_init__(self) -> None:
        if not self.id:
            chapter, name = self.reference.__module__.split(".")[-2:]
            object.__setattr__(self, "id", f"{chapter.removeprefix('ch')}.{name}")
        if not self.stub:
            stub = f"def {self.call}:\n    raise NotImplementedError"
            object.__setattr__(self, "stub", stub)
        if isinstance(self.mistakes, Choices):
            object.__setattr__(self, "code", False)

    @property
    def name(self) -> str:
        """The name of the reader's function."""
        return self.reference.__name__

    @property
    def call(self) -> str:
        """The call that the card asks for, such as "my_scores(query, key)"."""
        return f"{self.name}({', '.join(inspect.signature(self.reference).parameters)})"

    def card(self) -> str:
        """Return, in Markdown, the card that the chapter shows above the stub."""
        stars = "★" * self.level + "☆" * (3 - self.level)
        section = _("{section} (second reading)") if self.second_reading else "{section}"
        facts = _("{stars} · {minutes} minutes · needs section {section}").format(
            stars=stars, minutes=self.minutes, section=section.format(section=self.section)
        )
        quoted = textwrap.indent(f"{facts}\n\n{_(self.prompt.strip())}", "> ", lambda line: True)
        lines = [line.rstrip() for line in quoted.splitlines()]
        title = _("Exercise {id}: {title}").format(id=self.id, title=_(self.title))
        return f"### {title}\n\n" + "\n".join(lines)

    def reader_stub(self) -> str:
        """Return the stub as readers see it, with the comment on what to do in their language."""
        return STUB_COMMENT.sub(lambda comment: _(comment[0]), self.stub.strip())

    @property
    def head(self) -> str:
        """The heading of the checker's cards."""
        return f"{self.id} {_(self.title)}"

    @property
    def footer(self) -> str:
        """The last line of the cards for wrong answers."""
        return _('hint("{id}") gives a hint.').format(id=self.id)

    def solution(self) -> str:
        """Return the reference's source as readers see it and as it runs in the chapter."""
        return source.reader_source(self.reference)


def choices(reference: Callable[..., Any], messages: Mapping[tuple[Hashable, Any], str]) -> Choices:
    """Return a mistake for each message: `{("a", "eat"): "message"}`.

    `("a", "eat")` is the wrong answer "eat" to question "a", and `(("a", "b"), "eat")` to each of
    "a" and "b". The question is the reference's first argument. On the card, the case's note is
    shown before the message. If the reference has more arguments, the answer is an expression in
    their names: `("query", "B, L, H * Dk")`.
    """
    names = list(inspect.signature(reference).parameters)[1:]
    right = functools.cache(reference)  # since each mistake answers every question

    def wrong_function(asked: Hashable, answer: Any) -> Callable[..., Any]:
        questions = asked if isinstance(asked, tuple) else (asked,)

        def wrong(question: Hashable, *sizes: int) -> Any:
            if question not in questions:
                return right(question, *sizes)
            return eval(answer, {}, dict(zip(names, sizes, strict=True))) if names else answer

        return wrong

    return Choices(Mistake(wrong_function(q, a), message) for (q, a), message in messages.items())


def named_sizes(axes: str, sizes: Sequence[int]) -> dict[str, int]:
    """Give these sizes the names of the last axes: `named_sizes("B Lq Lk", (3, 5))`."""
    names = axes.split()
    return dict(zip(names[len(names) - len(sizes) :], sizes, strict=True))


def draw(generator: Generator, *shape: int) -> Tensor:
    """Draw normally distributed float64 numbers on the CPU, the same on every machine."""
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def limited_to(n: int, what: str) -> type[Tensor]:
    """Return a tensor class that raises an error if a result has more than n numbers.

    `what` names a tensor of n numbers in the message.
    """

    class Limited(Tensor):
        @classmethod
        def __torch_function__(
            cls, function: Any, types: Any, arguments: Any = (), keywords: Any = None
        ) -> Any:
            result = super().__torch_function__(function, types, arguments, keywords or {})
            if isinstance(result, Tensor) and result.numel() > n:
                shape = tuple(result.shape)
                message = _("a tensor of shape {shape} is larger than {what}")
                raise RuntimeError(message.format(shape=shape, what=what))
            return result

    return Limited


def some_sizes(generator: Generator, n: int) -> list[int]:
    """Draw n different sizes, none of which is half, the square or the logarithm of another."""
    return [(3, 5, 7, 11, 13)[i] for i in torch.randperm(5, generator=generator)[:n].tolist()]
