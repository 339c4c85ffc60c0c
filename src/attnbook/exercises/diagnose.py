"""From a wrong answer to the sentence that helps. FINDERS is the order of what is looked for."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from torch import Generator, Tensor

from attnbook.exercises import guard
from attnbook.exercises.answers import as_text, first_difference, kind_error, matches, shape_error
from attnbook.exercises.exercise import Case, Exercise, Mistake
from attnbook.exercises.feedback import Feedback
from attnbook.exercises.source import is_filled_in
from attnbook.show import device

STILL_RAISES = ": its line `raise NotImplementedError` still stops it; delete that line."


class Trial(NamedTuple):
    """One case: what the function made of it, and what is wanted."""

    case: Case
    outcome: guard.Outcome
    wanted: Any


@dataclass(frozen=True)
class Attempt:
    """A wrong answer to an exercise: its trials, as far as they got, and the first that failed."""

    exercise: Exercise
    function: Callable[..., Any]
    trials: Sequence[Trial]
    failed: Trial

    @cached_property
    def mistake(self) -> Mistake | None:
        """The one that computes the same in every case, or is alone in doing so in the failed."""
        fitting = []
        for mistake in self.exercise.mistakes:
            if not computes(mistake, self.failed):
                continue
            if all(computes(mistake, trial) for trial in self.trials):
                return mistake
            fitting.append(mistake)
        return fitting[0] if len(fitting) == 1 else None


@guard.keep_random_states()
def diagnose(exercise: Exercise, function: Callable[..., Any], seed: int = 0) -> Feedback:
    """Try the function on every case and tell the first thing that is wrong, or that none is."""
    trials = run_trials(exercise, function, seed)
    if is_untouched(trials[-1].outcome):
        why = STILL_RAISES if is_filled_in(exercise.stub, function) else ""
        return Feedback("untouched", f"{exercise.id} not attempted{why}")
    head = f"{exercise.id} {exercise.title}"
    failed = next((t for t in trials if not is_right(t.outcome, t.wanted)), None)
    if failed:
        return explain(head, Attempt(exercise, function, trials, failed))
    if exercise.code and (says := gradient_error(exercise, function, trials)):
        return Feedback("failed", head, says)
    return Feedback("passed", head, exercise.insight, footer=f"{len(trials)} cases passed.")


def run_trials(exercise: Exercise, function: Callable[..., Any], seed: int) -> list[Trial]:
    """Each case with its outcome, until the stub's own line or the time limit stops it."""
    trials: list[Trial] = []
    for case in exercise.cases(Generator().manual_seed(seed)):
        moved = tuple(a.to(device()) if isinstance(a, Tensor) else a for a in case.arguments)
        wanted = exercise.reference(*moved)
        outcome = guard.call(function, moved)
        trials.append(Trial(Case(moved, case.sizes, case.note), outcome, wanted))
        if is_untouched(outcome) or isinstance(outcome.error, guard.TooLong):
            break
    return trials


def is_untouched(outcome: guard.Outcome) -> bool:
    """Whether the stub raised this: PyTorch's own errors of that kind say what is missing."""
    return isinstance(outcome.error, NotImplementedError) and not outcome.error.args


def is_right(outcome: guard.Outcome, wanted: Any) -> bool:
    """Whether it came without an error, wrote to no argument, and is what is wanted."""
    if outcome.error is not None or outcome.written:
        return False
    return matches(outcome.answer, wanted) and not kind_error(outcome.answer, wanted)


def computes(mistake: Mistake, trial: Trial) -> bool:
    """Whether the mistake gives what the function gave, and is as right or wrong."""
    one, other = guard.call(mistake.wrong, trial.case.arguments), trial.outcome
    if one.error is not None or other.error is not None:
        return type(one.error) is type(other.error) and str(one.error) == str(other.error)
    same = one.written == other.written and matches(one.answer, other.answer)
    return same and is_right(one, trial.wanted) == is_right(other, trial.wanted)


# --- what is looked for: each finder returns the sentence for it, or nothing -----------------


def raised(attempt: Attempt) -> str | None:
    """An exception, or a call that was stopped."""
    error = attempt.failed.outcome.error
    if isinstance(error, guard.TooLong):
        limit = f"{guard.SECONDS:.0f} seconds"
        return f"Your function was still running after {limit}: does a loop never end?"
    if isinstance(error, RecursionError):
        return "Your function calls itself without an end."
    return f"Your function raised {type(error).__name__}: {error}" if error else None


def wrote_to_arguments(attempt: Attempt) -> str | None:
    """An argument that is not as it was."""
    which = ", ".join(str(i + 1) for i in attempt.failed.outcome.written)
    return which and (
        f"Your function changed what it was given (argument {which}). The caller still needs "
        "it: work on a new one, without `x[...] =`, `+=` or methods that end in `_`."
    )


def wrong_kind(attempt: Attempt) -> str | None:
    """None, NumPy, another dtype or device."""
    return kind_error(attempt.failed.outcome.answer, attempt.failed.wanted)


def wrong_shape(attempt: Attempt) -> str | None:
    """A wrong shape, by axis."""
    case, outcome, wanted = attempt.failed
    return shape_error(outcome.answer, wanted, attempt.exercise.axes, case.sizes)


def named_misunderstanding(attempt: Attempt) -> str | None:
    """What learners are known to get wrong."""
    return attempt.mistake.says if attempt.mistake else None


def broken_property(attempt: Attempt) -> str | None:
    """Something that holds for every right answer, and not for this one."""
    case, outcome, _ = attempt.failed
    broken = (p.says for p in attempt.exercise.properties if not p.holds(outcome.answer, case))
    return next(broken, None)


def smallest_case(attempt: Attempt) -> str:
    """At last, that it is wrong."""
    return "The answer is not right yet. The smallest case that shows it:"


FORM = (raised, wrote_to_arguments, wrong_kind, wrong_shape)
CONTENT = (named_misunderstanding, broken_property, smallest_case)
FINDERS = (*FORM, *CONTENT)


def explain(head: str, attempt: Attempt) -> Feedback:
    """The first finding; behind an error of form also the misunderstanding, if there is one."""
    find, says = next((f, found) for f in FINDERS if (found := f(attempt)))
    if find in FORM and attempt.mistake:
        says = f"{says}\n{attempt.mistake.says}"
    outcome = attempt.failed.outcome
    details = (
        guard.own_line(attempt.function, outcome.error),
        comparison(attempt) if find in CONTENT else "",
        f"It printed: {outcome.printed[:200].strip()}" if outcome.printed else "",
    )
    footer = f'hint("{attempt.exercise.id}") gives a hint.'
    return Feedback("failed", head, says, tuple(filter(None, details)), footer)


def comparison(attempt: Attempt) -> str:
    """The case, the answer, and beside it the right one, unless that would end the exercise."""
    case, outcome, wanted = attempt.failed
    at = first_difference(outcome.answer, wanted)
    lines = [f"case     {case.note}"] if case.note else []
    lines.append(f"yours    {as_text(outcome.answer, at)}")
    if attempt.exercise.code:
        lines.append(f"wanted   {as_text(wanted, at)}")
    return "\n".join(lines)


def gradient_error(exercise: Exercise, function: Callable[..., Any], trials: list[Trial]) -> str:
    """What is said where gradients stop before the arguments, though the reference's do not."""
    for case, *_ in trials:
        right = guard.call(exercise.reference, case.arguments, grad=True).answer
        if not (isinstance(right, Tensor) and right.requires_grad):
            continue
        outcome = guard.call(function, case.arguments, grad=True)
        if outcome.error is not None:
            return f"With arguments that want gradients it raised {outcome.error}."
        if not outcome.answer.requires_grad:
            return (
                "The numbers are right, but no gradient flows back: `.detach()`, `.item()`, "
                "`.data`, NumPy, `torch.tensor(...)` or `no_grad` cut the answer off."
            )
    return ""
