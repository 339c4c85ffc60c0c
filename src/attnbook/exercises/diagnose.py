"""From a wrong answer to the sentence that helps. FINDERS is the order of what is looked for."""

import inspect
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch

from attnbook.exercises import choice, guard
from attnbook.exercises.answers import kind_error, shape_error
from attnbook.exercises.compare import beside
from attnbook.exercises.exercise import Exercise, Mistake
from attnbook.exercises.feedback import Feedback
from attnbook.exercises.gradient import gradient_error, slopes
from attnbook.exercises.keep import kept
from attnbook.exercises.limit import TooLong
from attnbook.exercises.relation import relation
from attnbook.exercises.source import is_filled_in, names_used, own_line, shown
from attnbook.exercises.trial import (
    Trial,
    broken,
    computes,
    is_untouched,
    questions,
    run_trials,
    what_it_printed,
)

STILL_RAISES = ": its line `raise NotImplementedError` still stops it; delete that line."
IN_THIS_CASE = "In this case, though not in all, it comes to the same as another slip: "


@dataclass(frozen=True)
class Attempt:
    """A wrong answer to an exercise: its trials, as far as they got, and the first that failed."""

    exercise: Exercise
    function: Callable[..., Any]
    trials: Sequence[Trial]
    failed: Trial

    @cached_property
    def mistake(self) -> str:
        """What is said of the slip that computes the same in every case."""
        if found := next(filter(self.agrees_always, self.exercise.mistakes), None):
            return found.says
        if not self.failed.outcome.error:
            return next((m.says for m in self.exercise.slips if self.agrees_always(m)), "")
        singles = (m for m in self.exercise.slips if m.single)  # an exception has many causes
        fitting = list(itertools.islice(filter(self.agrees_always, singles), 2))
        return fitting[0].says if len(fitting) == 1 else ""

    @cached_property
    def guess(self) -> str:
        """What is said of the only slip that computes the same in the case that failed."""
        known = itertools.chain(self.exercise.mistakes, self.exercise.slips)
        fits = [m.says for m in known if m.single and self.agrees(m, self.failed)]
        return IN_THIS_CASE + fits[0] if len(fits) == 1 else ""

    def agrees(self, mistake: Mistake, trial: Trial) -> bool:
        return computes(self.exercise, mistake, trial)

    def agrees_always(self, mistake: Mistake) -> bool:
        return all(self.agrees(mistake, trial) for trial in (self.failed, *self.trials))


@kept()
def diagnose(exercise: Exercise, function: Callable[..., Any], seed: int = 0) -> Feedback:
    """Try the function on every case and tell the first thing that is wrong, or that none is."""
    torch.set_default_device(None)
    asked = questions(exercise, seed)  # before the function runs: it may change what it can reach
    trials = run_trials(exercise, function, asked)
    if is_untouched(trials[-1].outcome):
        why = STILL_RAISES if is_filled_in(exercise.stub, function) else ""
        return Feedback("untouched", f"{exercise.id} not attempted{why}")
    failed = next((t for t in trials if not t.right), None)
    if failed and not exercise.code:
        failed = next((t for t in trials if t.outcome.error), None)
        if not failed:
            return choice.explain(exercise, trials)
    if failed:
        return explain(Attempt(exercise, function, trials, failed))
    head = f"{exercise.id} {exercise.title}"
    said = what_it_printed(trials[0])
    footer = f'hint("{exercise.id}") gives a hint.'
    for name in set(exercise.without) & names_used(function):
        says = f"Right, and the card asks for it without `{name}`."
        return Feedback("failed", head, says, said, footer)
    for question in asked:
        if question.slopes:
            outcome = slopes(function, question.case)
            reference = exercise.reference
            if says := gradient_error(reference, question.case, outcome, question.slopes):
                line = own_line(function, outcome.error)
                case = f"case     {question.case.note}" if question.case.note and not line else ""
                details = tuple(filter(None, (line, case, *said)))
                return Feedback("failed", head, says, details, footer)
    says = "\n".join(filter(None, (exercise.insight, exercise.comes_back)))
    others = tuple(map(shown, exercise.others))
    return Feedback("passed", head, says, said, f"{len(trials)} cases passed.", others)


# --- what is looked for: each finder returns the sentence for it, or nothing -----------------


def raised(attempt: Attempt) -> str:
    """An exception, or a call that was stopped."""
    error = attempt.failed.outcome.error
    if isinstance(error, TooLong):
        limit = f"{guard.SECONDS:.0f} seconds"
        if len(attempt.trials) > 1:
            return f"Your function needs more than {limit} for a few small cases: that is too slow."
        return f"Your function was still running after {limit}: does a loop never end?"
    if isinstance(error, RecursionError):
        return "Your function calls itself without an end."
    if error is None:
        return ""
    says = f"Your function raised {guard.told(error)}"
    if isinstance(error, TypeError) and not own_line(attempt.function, error):
        says += f"\nThe card asks for `{attempt.exercise.call}`."
    return says


def wrote_to_arguments(attempt: Attempt) -> str:
    """An argument that is not as it was."""
    names = list(inspect.signature(attempt.exercise.reference).parameters)
    which = ", ".join(f"`{names[i]}`" for i in attempt.failed.outcome.written)
    return which and (
        f"Your function changed what it was given ({which}). The caller still needs it: work on a "
        "new one, without `x[...] =`, `+=` or methods that change their object, such as `sort()` "
        "and those that end in `_`."
    )


def wrong_kind(attempt: Attempt) -> str:
    """None, NumPy, another dtype or device."""
    return kind_error(attempt.failed.outcome.answer, attempt.failed.wanted)


def wrong_shape(attempt: Attempt) -> str:
    """A wrong shape, by axis."""
    case, wanted, outcome, _ = attempt.failed
    return shape_error(outcome.answer, wanted, attempt.exercise.axes, case.sizes)


def named_misunderstanding(attempt: Attempt) -> str:
    """What learners are known to get wrong."""
    return attempt.mistake


def broken_property(attempt: Attempt) -> str:
    """Something that every right answer has, and this one has not."""
    case, _, outcome, _ = attempt.failed
    return broken(attempt.exercise, case, outcome.answer)


def named_in_this_case(attempt: Attempt) -> str:
    """A slip that fits the case, and not all: a guess, so it comes late."""
    return attempt.guess


def smallest_case(attempt: Attempt) -> str:
    """At last, that it is wrong."""
    return "The answer is not right yet."


FORM = (raised, wrote_to_arguments, wrong_kind, wrong_shape)
CONTENT = (named_misunderstanding, broken_property, named_in_this_case, smallest_case)
FINDERS = (*FORM, *CONTENT)


def explain(attempt: Attempt) -> Feedback:
    """The first finding; behind an error of form also the misunderstanding, if there is one."""
    exercise, failed = attempt.exercise, attempt.failed
    find, says = next((f, found) for f in FINDERS if (found := f(attempt)))
    if find in FORM and attempt.mistake:
        says = f"{says}\n{attempt.mistake}"
    details = (
        own_line(attempt.function, failed.outcome.error),
        comparison(attempt) if find in CONTENT else "",
        *what_it_printed(failed),
    )
    footer = f'hint("{exercise.id}") gives a hint.'
    if (right := sum(t.right for t in attempt.trials)) and exercise.code:
        footer = f"Right in {right} of {len(attempt.trials)} cases. {footer}"
    head = f"{exercise.id} {exercise.title}"
    return Feedback("failed", head, says, tuple(filter(None, details)), footer)


def comparison(attempt: Attempt) -> str:
    """The case, the answer, and beside it the right one, and what relation they have."""
    case, wanted, outcome, _ = attempt.failed
    lines = [f"case     {case.note}"] if case.note else []
    lines.append(beside(outcome.answer, wanted, both=attempt.exercise.code))
    if not attempt.mistake:
        relations = [relation(t.outcome.answer, t.wanted, t.case.sizes) for t in attempt.trials]
        factors = {f"{r.values['factor']:.4g}" for r in relations if r and r.kind == "factor"}
        more = " In other cases it is another factor." if len(factors) > 1 else ""
        failed_relation = relation(outcome.answer, wanted, case.sizes)
        lines.append((failed_relation.message if failed_relation else "") + more)
    return "\n".join(filter(None, lines))
