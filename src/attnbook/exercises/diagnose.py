"""From a wrong answer to the sentence that helps. FINDERS is the order of what is looked for."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

import torch
from torch import Generator, Tensor

from attnbook.exercises import guard
from attnbook.exercises.answers import (
    form_error,
    is_blank,
    kind_error,
    matches,
    shape_error,
)
from attnbook.exercises.compare import beside, brief, relation
from attnbook.exercises.exercise import Case, Exercise, Mistake
from attnbook.exercises.feedback import Feedback
from attnbook.exercises.gradient import gradient_error, slopes
from attnbook.exercises.keep import kept
from attnbook.exercises.source import is_filled_in, names_used, own_line, shown
from attnbook.show import device

STILL_RAISES = ": its line `raise NotImplementedError` still stops it; delete that line."
IN_THIS_CASE = "In this case, though not in all, it comes to the same as another slip: "
DRAWS = 2


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


@dataclass(frozen=True)
class Attempt:
    """A wrong answer to an exercise: its trials, as far as they got, and the first that failed."""

    exercise: Exercise
    function: Callable[..., Any]
    trials: Sequence[Trial]
    failed: Trial

    @cached_property
    def mistake(self) -> str:
        """What is said of the slip that computes the same in every case, or alone in this one."""
        fits = [m for m in self.exercise.mistakes if self.agrees(m, self.failed)]
        if found := next(filter(self.agrees_always, fits), None):
            return found.says
        slips = [m for m in self.exercise.slips if self.agrees(m, self.failed)]
        always = [m for m in slips if self.agrees_always(m)]
        if always and (not self.failed.outcome.error or len(always) == 1):
            return always[0].says  # an exception may have many causes
        singles = [m for m in (*fits, *slips) if m.single]
        return IN_THIS_CASE + singles[0].says if len(singles) == 1 else ""

    def agrees(self, mistake: Mistake, trial: Trial) -> bool:
        return computes(self.exercise, mistake, trial)

    def agrees_always(self, mistake: Mistake) -> bool:
        return all(self.agrees(mistake, trial) for trial in self.trials)


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
            return explain_choices(exercise, trials)
    if failed:
        return explain(Attempt(exercise, function, trials, failed))
    head = f"{exercise.id} {exercise.title}"
    said = what_it_printed(trials[0])
    for name in set(exercise.without) & names_used(function):
        return Feedback("failed", head, f"Right, and the card asks for it without `{name}`.", said)
    for question in asked:
        if question.slopes:
            outcome = slopes(function, question.case)
            reference = exercise.reference
            if says := gradient_error(reference, question.case, outcome, question.slopes):
                line = own_line(function, outcome.error)
                return Feedback("failed", head, says, tuple(filter(None, (line, *said))))
    says = "\n".join(filter(None, (exercise.insight, exercise.comes_back)))
    others = tuple(map(shown, exercise.others))
    return Feedback("passed", head, says, said, f"{len(trials)} cases passed.", others)


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
    for case, wanted, _ in asked:
        outcome = guard.call(function, case.arguments)
        trials.append(Trial(case, wanted, outcome, is_right(exercise, case, outcome, wanted)))
        if is_untouched(outcome) or isinstance(outcome.error, guard.TooLong):
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
    return all(p.holds(outcome.answer, case) for p in exercise.properties)


def computes(exercise: Exercise, mistake: Mistake, trial: Trial) -> bool:
    """Whether the mistake gives what the function gave, and is as right or wrong."""
    one, other = guard.plain_call(mistake.wrong, trial.case.arguments), trial.outcome
    if one.error is not None or other.error is not None:
        return type(one.error) is type(other.error) and str(one.error) == str(other.error)
    same = one.written == other.written and matches(one.answer, other.answer)
    return same and is_right(exercise, trial.case, one, trial.wanted) == trial.right


# --- what is looked for: each finder returns the sentence for it, or nothing -----------------


def raised(attempt: Attempt) -> str:
    """An exception, or a call that was stopped."""
    error = attempt.failed.outcome.error
    if isinstance(error, guard.TooLong):
        limit = f"{guard.SECONDS:.0f} seconds"
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
    broken = (p.says for p in attempt.exercise.properties if not p.holds(outcome.answer, case))
    return next(broken, "")


def smallest_case(attempt: Attempt) -> str:
    """At last, that it is wrong."""
    return "The answer is not right yet."


FORM = (raised, wrote_to_arguments, wrong_kind, wrong_shape)
CONTENT = (named_misunderstanding, broken_property, smallest_case)
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
        lines.append(relation(outcome.answer, wanted, case.sizes))
    return "\n".join(filter(None, lines))


def what_it_printed(trial: Trial) -> tuple[str, ...]:
    """The first lines of what the function printed in a case."""
    lines = trial.outcome.printed.splitlines()
    more = [f"… and {len(lines) - 6} lines more"] if len(lines) > 6 else []
    text = "\n         ".join([line[:100] for line in lines[:6]] + more)
    return (f"printed  {text}",) if text else ()


def explain_choices(exercise: Exercise, trials: Sequence[Trial]) -> Feedback:
    """All questions at once: which are open, in a wrong form or wrong, each with its sentence."""
    slips = [guard.plain_call(m.wrong, t.case.arguments) for m in exercise.mistakes for t in trials]
    allowed = [t.wanted for t in trials] + [slip.answer for slip in slips]
    said: dict[Any, str] = {}
    for trial in trials:
        question, got = trial.case.arguments[0], trial.outcome.answer
        if trial.right or question in said:
            continue
        if is_blank(got):
            said[question] = "not answered yet."
        elif error := form_error(got, allowed):
            said[question] = f"{error} You have {brief(got)}."
        else:
            fitting = [m.says for m in exercise.mistakes if computes(exercise, m, trial)]
            broken = [p.says for p in exercise.properties if not p.holds(got, trial.case)]
            said[question] = [*fitting, *broken, f"{brief(got)} is not right."][0]
        said[question] = f"{trial.case.note}: {said[question]}"
    n = len({t.case.arguments[0] for t in trials})
    says = f"{n - len(said)} of {n} are right."
    footer = f'hint("{exercise.id}") gives a hint.'
    head = f"{exercise.id} {exercise.title}"
    return Feedback(
        "failed", head, "\n".join([says, *said.values()]), what_it_printed(trials[0]), footer
    )
