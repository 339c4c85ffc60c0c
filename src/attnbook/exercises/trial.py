"""A function tried on the cases of an exercise."""

import time
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, NamedTuple

from torch import Generator, Tensor

from attnbook.exercises import guard
from attnbook.exercises.answers import kind_error, matches
from attnbook.exercises.exercise import Case, Exercise, Mistake
from attnbook.exercises.gradient import slopes
from attnbook.exercises.limit import TooLong
from attnbook.show import device

DRAWS = 2
ALL_CASES = 4  # times the limit of one call


class Question(NamedTuple):
    """A case, what is wanted of it, and the gradients that are wanted."""

    case: Case
    wanted: Any
    slopes: list[Tensor | None]


class Trial(NamedTuple):
    """One case: what is wanted, and what the function made of it."""

    case: Case
    wanted: Any
    outcome: guard.Outcome
    right: bool


def questions(exercise: Exercise, seed: int) -> list[Question]:
    """Two draws of the cases, on the device, each with what is wanted."""
    generator = Generator().manual_seed(seed)
    found = []
    for case in chain.from_iterable(exercise.cases(generator) for _ in range(DRAWS)):
        moved = tuple(a.to(device()) if isinstance(a, Tensor) else a for a in case.arguments)
        case = Case(moved, case.sizes, case.note)
        wanted = exercise.reference(*moved)
        real = isinstance(wanted, Tensor) and wanted.is_floating_point()
        wants_slopes = exercise.code and exercise.gradients and real
        back = slopes(exercise.reference, case).answer if wants_slopes else []
        found.append(Question(case, wanted, back if any(g is not None for g in back) else []))
    return found


def run_trials(
    exercise: Exercise, function: Callable[..., Any], asked: Sequence[Question]
) -> list[Trial]:
    """Each case with its outcome, until the stub's own line or the time limit stops it."""
    trials: list[Trial] = []
    left = ALL_CASES * guard.SECONDS
    for case, wanted, _ in asked:
        begun = time.process_time()
        outcome = guard.call(function, case.arguments, seconds=min(left, guard.SECONDS))
        left = max(left - (time.process_time() - begun), 0.1)
        trials.append(Trial(case, wanted, outcome, is_right(exercise, case, outcome, wanted)))
        if is_untouched(outcome) or isinstance(outcome.error, TooLong):
            break
    return trials


def is_untouched(outcome: guard.Outcome) -> bool:
    """Whether the stub raised this: PyTorch's own errors of that kind say what is missing."""
    return isinstance(outcome.error, NotImplementedError) and not outcome.error.args


def is_right(exercise: Exercise, case: Case, outcome: guard.Outcome, wanted: Any) -> bool:
    """Whether it raised nothing, wrote to no argument, and is what is wanted, as is wanted."""
    if outcome.error is not None or outcome.written or not matches(outcome.answer, wanted):
        return False
    if exercise.code and kind_error(outcome.answer, wanted):
        return False
    return not broken(exercise, case, outcome.answer)


def computes(exercise: Exercise, mistake: Mistake, trial: Trial) -> bool:
    """Whether the mistake gives what the function gave, and is as right or wrong."""
    one, other = guard.plain_call(mistake.wrong, trial.case.arguments), trial.outcome
    if one.error is not None or other.error is not None:
        return type(one.error) is type(other.error) and str(one.error) == str(other.error)
    same = one.written == other.written and matches(other.answer, one.answer)
    return same and is_right(exercise, trial.case, one, trial.wanted) == trial.right


def broken(exercise: Exercise, case: Case, answer: Any) -> str:
    """What is said of the first property that this answer has not; else ""."""
    for wanted in exercise.properties:
        try:
            if wanted.holds(answer, case):
                continue
        except Exception:  # of an answer of another kind nothing can be asked
            pass
        return wanted.says
    return ""


def what_it_printed(trial: Trial) -> tuple[str, ...]:
    """The first lines of what the function printed in a case."""
    lines = trial.outcome.printed.splitlines()
    more = [f"… and {len(lines) - 6} lines more"] if len(lines) > 6 else []
    text = "\n         ".join([*map(cut, lines[:6]), *more])
    return (f"printed  {text}",) if text else ()


def cut(line: str, width: int = 100) -> str:
    """A line, or as many of its words as fit."""
    if len(line) <= width:
        return line
    return (line[:width].rpartition(" ")[0] or line[:width]) + " …"
