"""Mistakes of functions that are made of lines, each of which a reader can get wrong.

An exercise states how to make its function from a Head, the three lines of attention, and gets a
mistake for each wrong line and for each pair of wrong lines:

    common_mistakes=MistakeSet(lambda head: head.scores, SCORE_MISTAKES)
"""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

from attnbook.exercises.exercise import Mistake
from attnbook.mistakes.head import RIGHT, WrongLine, scaled_scores


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
        right: Any = RIGHT,
    ) -> None:
        self.build, self.right = build, right
        # The function in each WrongLine gets the exercise's arguments and returns the wrong line.
        self.wrong_lines = [
            WrongLine(line, lambda *arguments, wrong=wrong: wrong, message)
            for group in groups
            for line, wrong, message, _fault in group
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
            lines = {wrong.line: wrong.wrong(*arguments) for wrong in wrong_lines}
            return self.build(replace(self.right, **lines))(*arguments)

        return wrong
