"""A wrong answer, and the known mistakes that have the same outcome."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from torch import Tensor

from attnbook.exercises.checker import guard
from attnbook.exercises.checker.answers import matches
from attnbook.exercises.checker.trial import Trial, is_right
from attnbook.exercises.exercise import Exercise, Mistake
from attnbook.language import _


@dataclass(frozen=True)
class Attempt:
    """A wrong answer to an exercise: the trials that were run, and the first one that failed."""

    exercise: Exercise
    function: Callable[..., Any]
    trials: Sequence[Trial]
    failed: Trial

    @cached_property
    def mistake(self) -> str:
        """The message of the mistake that gives the reader's outcome in every case, or "".

        Two mistakes at once are named only if no single one fits the failed case.
        """
        known = next(filter(self.always_agrees, self.exercise.mistakes), None)
        if known:
            return known.told
        error = self.failed.outcome.error
        # Two mistakes may give the same number or exception, but rarely the same tensor.
        most = 1 if isinstance(self.failed.wanted, Tensor) and not error else 2
        singles = itertools.islice(filter(self.always_agrees, self.singles()), most)
        fitting = list(dict.fromkeys(m.told for m in singles))
        if error:  # an exception has many possible causes: name a mistake only if it is unambiguous
            return fitting[0] if len(fitting) == 1 else ""
        if len(fitting) == 2:
            message = _("{first}\nOr this, which has the same result: {second}")
            return message.format(first=fitting[0], second=fitting[1])
        if fitting:
            return fitting[0]
        pairs = (m for m in self.exercise.common_mistakes if not m.single)
        pair = next(filter(self.always_agrees, pairs), None)
        if pair and self.single_mistakes:
            return in_this_case(self.single_mistakes[0])
        return pair.told if pair else ""

    def singles(self) -> Iterator[Mistake]:
        return itertools.takewhile(lambda m: m.single, self.exercise.common_mistakes)

    @cached_property
    def single_mistakes(self) -> list[Mistake]:
        """The common mistakes, without pairs, that give the reader's outcome in the failed case."""
        return [m for m in self.singles() if self.agrees(m, self.failed)]

    @cached_property
    def possible_mistake(self) -> str:
        """The message of the only mistake that fits the failed case, or "".

        If other cases also went wrong, the mistake must fit one of them, to rule out a coincidence.
        """
        own = [m for m in self.exercise.mistakes if m.single and self.agrees(m, self.failed)]
        fitting = [*own, *self.single_mistakes]
        wrong = [t for t in self.trials if not t.right]
        others = [t for t in wrong if not matches(t.wanted, self.failed.wanted)]
        if len(fitting) != 1 or (others and not any(self.agrees(fitting[0], t) for t in others)):
            return ""
        return in_this_case(fitting[0])

    def agrees(self, mistake: Mistake, trial: Trial) -> bool:
        """Return whether the mistake's function has the same outcome as the reader's function."""
        expected = guard.call_trusted(mistake.wrong, trial.case.arguments)
        outcome = trial.outcome
        if expected.error is not None or outcome.error is not None:
            same_type = type(expected.error) is type(outcome.error)
            return same_type and str(expected.error) == str(outcome.error)
        if expected.modified != outcome.modified or not matches(outcome.answer, expected.answer):
            return False
        return is_right(self.exercise, trial.case, expected, trial.wanted) == trial.right

    def always_agrees(self, mistake: Mistake) -> bool:
        return all(self.agrees(mistake, trial) for trial in (self.failed, *self.trials))


def in_this_case(mistake: Mistake) -> str:
    """Return the message for a mistake that gives the reader's outcome only in some cases."""
    message = _("In this case, but not in all, the problem looks like this: {mistake}")
    return message.format(mistake=mistake.told)
