"""The parts of an exercise: a card, a reference, cases, mistakes that learners make, and hints."""

import functools
import inspect
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
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


@dataclass(frozen=True)
class Property:
    """A property of every right answer, and the message for an answer that does not have it.

    `holds(answer, case)` may ask for more than nearly equal numbers, such as an exact 0.
    """

    message: str
    holds: Callable[[Any, Case], bool]


@dataclass(frozen=True)
class Exercise:
    """One exercise: what is asked, how answers are judged, and what learners are told.

    The answer is code, with `mistakes` and `common_mistakes`, or one of several `choices`: then
    each case is a question.
    """

    title: str
    level: int  # 1, 2 or 3 stars
    minutes: int
    section: str  # the one that the exercise needs, which may be a second reading
    prompt: str
    reference: Callable[..., Any]  # the solution
    cases: Callable[[Generator], Sequence[Case]]  # draws cases, the smallest first
    hints: tuple[str, str, str]
    insight: str  # shown after a right answer, with `comes_back` and `others`
    id: str = ""  # if left out, that of the reference's file: 06.heads for chapters/ch06/heads.py
    second_reading: bool = False
    stub: str = ""  # if left out, the reference's signature and an empty body
    comes_back: str = ""  # where the idea is used again
    others: tuple[Callable[..., Any], ...] = ()  # one or two right answers that look different
    mistakes: tuple[Mistake, ...] = ()
    common_mistakes: Iterable[Mistake] = ()  # those of a MistakeSet, the single ones first
    choices: Mapping[tuple[Any, Any], str] = field(default_factory=dict, hash=False)  # see below
    axes: str = ""  # names of the answer's axes, "B H Lq Dv"; with fewer axes, the last of them
    properties: tuple[Property, ...] = ()
    without: tuple[str, ...] = ()  # names that the card forbids
    gradients: bool = True  # whether the gradients of an answer are compared
    asks_for_gradients: bool = False  # otherwise an answer that loses them passes with a note
    asks_for_dtype: bool = False  # otherwise an answer in another dtype passes with a note
    on_cpu: bool = False  # if the obvious answer needs an operation that is random on CUDA

    def __post_init__(self) -> None:
        if not self.id:
            chapter, name = self.reference.__module__.split(".")[-2:]
            object.__setattr__(self, "id", f"{chapter.removeprefix('ch')}.{name}")
        if not self.stub:
            stub = f"def {self.call}:\n    raise NotImplementedError"
            object.__setattr__(self, "stub", stub)
        if self.choices:
            object.__setattr__(self, "mistakes", choices(self.reference, self.choices))

    @property
    def code(self) -> bool:
        """Whether the answer is code, and not one of several choices."""
        return not self.choices

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
        section = (
            _("section {section} (second reading)")
            if self.second_reading
            else _("section {section}")
        )
        facts = _("{stars} · {minutes} minutes · needs {section}").format(
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


EVERY = object()  # instead of the questions in the keys of `choices`


def choices(
    reference: Callable[..., Any], messages: Mapping[tuple[Any, Any], str]
) -> tuple[Mistake, ...]:
    """Return a mistake for each entry: `{("a", "eat"): "message"}`.

    `("a", "eat")` is the wrong answer "eat" to question "a", the reference's first argument;
    `(("a", "b"), "eat")` is this answer to "a" or "b", and `(EVERY, "eat")` to any question. A
    wrong answer may be a function. Its parameters are some of the reference's, such as
    `lambda B, L: (L, B)`, or `right`, the right answer. On the card, the case's note is shown
    before the message.
    """
    names = list(inspect.signature(reference).parameters)
    right = functools.cache(reference)  # since each mistake answers every question

    def wrong_function(questions: Any, answer: Any) -> Callable[..., Any]:
        asked = questions if isinstance(questions, tuple) else (questions,)

        def wrong(*arguments: Any) -> Any:
            if EVERY not in asked and arguments[0] not in asked:
                return right(*arguments)
            if not callable(answer):
                return answer
            known = dict(zip(names, arguments, strict=True), right=right(*arguments))
            return answer(*(known[name] for name in inspect.signature(answer).parameters))

        return wrong

    return tuple(Mistake(wrong_function(*entry), text) for entry, text in messages.items())


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
