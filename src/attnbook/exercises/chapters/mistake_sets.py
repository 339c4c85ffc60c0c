"""Mistakes of functions that are made of lines, each of which a reader can get wrong.

An exercise states how to make its function from a Head, the three lines of attention, and gets a
mistake for each wrong line and for each pair of wrong lines:

    common_mistakes=MistakeSet(lambda head: head.scores, SCORE_MISTAKES)
"""

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import torch
from torch import Tensor

from attnbook.exercises.exercise import Mistake


def scaled_scores(size: float, query: Tensor, key: Tensor) -> Tensor:
    return query @ key.mT / math.sqrt(size)


def masked_softmax(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    if mask is None:
        return scores.softmax(-1)
    return scores.masked_fill(~mask, -torch.inf).softmax(-1).masked_fill(~mask, 0.0)


@dataclass(frozen=True)
class Head:
    """The three lines of attention. Each is right unless it is replaced."""

    scores: Callable[[Tensor, Tensor], Tensor] = lambda q, k: scaled_scores(q.size(-1), q, k)
    weights: Callable[..., Tensor] = masked_softmax  # (scores, mask)
    output: Callable[..., Tensor] = lambda weights, q, k, v: weights @ v

    def __call__(self, query: Tensor, key: Tensor, value: Tensor, *mask: Tensor) -> Tensor:
        weights = self.weights(self.scores(query, key), *mask)
        return self.output(weights, query, key, value)


class WrongLine(NamedTuple):
    """A wrong version of a line, and the message for readers who wrote it.

    `line` names the line: a field of Head, or of the dataclass used instead.
    """

    line: str
    wrong: Callable[..., Any]
    message: str


class MistakeSet:
    """The mistakes of an exercise: each wrong line alone, then each pair of wrong lines.

    `build` makes the exercise's function from a Head. `widths` names more sizes whose square
    root a learner may divide by, each with a function that reads the size from the exercise's
    arguments. `right` replaces the default Head: it is a Head with a different right line, or
    another dataclass with its own wrong lines.
    """

    def __init__(
        self,
        build: Callable[[Any], Callable[..., Any]],
        *groups: Sequence[WrongLine],
        widths: Mapping[str, Callable[..., int]] | None = None,
        right: Any = Head(),
    ) -> None:
        self.build, self.right = build, right
        # The function in each WrongLine gets the exercise's arguments and returns the wrong line.
        self.wrong_lines = [
            WrongLine(line, lambda *arguments, wrong=wrong: wrong, message)
            for group in groups
            for line, wrong, message in group
        ]
        for name, size in (widths or {}).items():
            message = (
                f"You divided the scores by √{name}. A dot product sums over the width of the "
                "queries and keys, so divide by √Dk."
            )
            wrong = lambda *arguments, size=size: partial(scaled_scores, size(*arguments))  # noqa: E731
            self.wrong_lines.append(WrongLine("scores", wrong, message))

    def __iter__(self) -> Iterator[Mistake]:
        return iter(self.mistakes)

    @cached_property
    def mistakes(self) -> list[Mistake]:
        """A mistake for each wrong line alone, then for each pair."""
        return [
            *self.singles(),
            *(
                Mistake(self.replace_lines(*pair), pair[0].message, False, pair[1].message)
                for pair in itertools.combinations(self.wrong_lines, 2)
                if pair[0].line != pair[1].line
            ),
        ]

    def singles(self) -> Iterator[Mistake]:
        """Yield a mistake for each wrong line alone."""
        for wrong_line in self.wrong_lines:
            yield Mistake(self.replace_lines(wrong_line), wrong_line.message)

    def replace_lines(self, *wrong_lines: WrongLine) -> Callable[..., Any]:
        """Return the exercise's function with these lines in place of the right ones."""

        def wrong(*arguments: Any) -> Any:
            lines = {line: make(*arguments) for line, make, _ in wrong_lines}
            return self.build(replace(self.right, **lines))(*arguments)

        return wrong
