"""Run a reader's function on the cases of an exercise."""

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Generator, Tensor

from attnbook.exercises.checker import guard
from attnbook.exercises.checker.answers import dtype_error, matches, type_error
from attnbook.exercises.checker.gradients import argument_gradients
from attnbook.exercises.checker.limits import TimeLimitExceeded
from attnbook.exercises.exercise import Case, Exercise
from attnbook.language import _
from attnbook.notebook.show import device

TOTAL_LIMIT = 4  # the time limit for all cases together, as a multiple of that for one call

REFERENCE_SECONDS = 60.0  # the reference, too, is slow on a busy machine


class SolvedCase(NamedTuple):
    """A case, the reference's answer to it, and the gradients of that answer."""

    case: Case
    wanted: Any
    gradients: list[Tensor | None]


class Trial(NamedTuple):
    """A case, the right answer, and the outcome of the reader's function."""

    case: Case
    wanted: Any
    outcome: guard.Outcome
    right: bool


def solve_cases(exercise: Exercise, seed: int) -> list[SolvedCase]:
    """Draw the cases, move them to the exercise's device, and solve each with the reference.

    The gradients are empty if the exercise compares none.
    """
    solved_cases = []
    where = torch.device("cpu") if exercise.on_cpu else device()
    for case in draw_cases(exercise, Generator().manual_seed(seed)):
        moved = tuple(a.to(where) if isinstance(a, Tensor) else a for a in case.arguments)
        case = Case(moved, case.sizes, case.note)
        wanted = exercise.reference(*moved)
        is_real = isinstance(wanted, Tensor) and wanted.is_floating_point()
        gradients = []
        if exercise.code and exercise.gradients and is_real:
            found = argument_gradients(exercise.reference, case, REFERENCE_SECONDS).answer
            gradients = [None if g is None or not g.numel() else g for g in found]
        if all(gradient is None for gradient in gradients):
            gradients = []
        solved_cases.append(SolvedCase(case, wanted, gradients))
    return solved_cases


def draw_cases(exercise: Exercise, generator: Generator) -> list[Case]:
    """Draw the cases twice, or once if nothing in them is random."""
    before = generator.get_state()
    cases = [*exercise.cases(generator)]
    if not generator.get_state().equal(before):
        cases += exercise.cases(generator)
    return cases


def run_trials(
    exercise: Exercise, function: Callable[..., Any], solved_cases: Sequence[SolvedCase]
) -> list[Trial]:
    """Run the function on each case; stop after the stub's exception or an exceeded limit."""
    trials: list[Trial] = []
    budget = guard.new_budget()  # for all cases, whose answers and exceptions stay in memory
    seconds_left = TOTAL_LIMIT * guard.SECONDS
    for case, wanted, _gradients in solved_cases:
        started = time.process_time()
        seconds = min(seconds_left, guard.SECONDS)
        outcome = guard.call(function, case.arguments, seconds=seconds, budget=budget)
        seconds_left = max(seconds_left - (time.process_time() - started), 0.1)
        trials.append(Trial(case, wanted, outcome, is_right(exercise, case, outcome, wanted)))
        has_no_more = guard.is_out_of_memory(outcome.error)
        if is_untouched(outcome) or has_no_more or isinstance(outcome.error, TimeLimitExceeded):
            break
    return trials


def is_untouched(outcome: guard.Outcome) -> bool:
    """Return whether the exception is the stub's, which has no message, unlike PyTorch's."""
    return isinstance(outcome.error, NotImplementedError) and not outcome.error.args


def is_right(exercise: Exercise, case: Case, outcome: guard.Outcome, wanted: Any) -> bool:
    """Return whether a call raised no error, modified no argument, and gave the right answer."""
    if outcome.error is not None or outcome.modified or not matches(outcome.answer, wanted):
        return False
    if exercise.code and type_error(outcome.answer, wanted):
        return False
    if exercise.asks_for_dtype and dtype_error(outcome.answer, wanted):
        return False
    return not property_error(exercise, case, outcome.answer)


def property_error(exercise: Exercise, case: Case, answer: Any) -> str:
    """Return the message of the first property that this answer lacks, or ""."""
    for wanted in exercise.properties:
        try:
            if wanted.holds(answer, case):
                continue
        except Exception:  # the property cannot be computed for an answer of another type
            continue
        return _(wanted.message)
    return ""
