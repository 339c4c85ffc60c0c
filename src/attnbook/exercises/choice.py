"""A wrong answer to a choice: what is said of each question, of its form before its content."""

from collections.abc import Iterable, Sequence
from numbers import Real
from typing import Any

from attnbook.exercises import guard
from attnbook.exercises.answers import as_word, matches, plain
from attnbook.exercises.compare import brief
from attnbook.exercises.exercise import Exercise
from attnbook.exercises.feedback import Feedback
from attnbook.exercises.trial import Trial, broken, what_it_printed


def explain(exercise: Exercise, trials: Sequence[Trial]) -> Feedback:
    """All questions at once: which are open, in a wrong form or wrong, each with its sentence."""
    asked: dict[Any, Trial] = {}  # of a question in two draws the one that went wrong
    for trial in sorted(trials, key=lambda trial: trial.right):
        asked.setdefault(trial.case.arguments[0], trial)
    slips = {
        question: [guard.plain_call(m.wrong, trial.case.arguments) for m in exercise.mistakes]
        for question, trial in asked.items()
    }
    answers = [slip.answer for found in slips.values() for slip in found]
    allowed = [trial.wanted for trial in asked.values()] + answers
    said = []
    for question in dict.fromkeys(trial.case.arguments[0] for trial in trials):
        trial = asked[question]
        if not trial.right:
            says = sentence(exercise, trial, slips[question], allowed)
            said.append(f"{trial.case.note}: {says}")
    says = "\n".join([f"{len(asked) - len(said)} of {len(asked)} are right.", *said])
    footer = f'hint("{exercise.id}") gives a hint.'
    head = f"{exercise.id} {exercise.title}"
    return Feedback("failed", head, says, what_it_printed(trials[0]), footer)


def sentence(
    exercise: Exercise, trial: Trial, slips: Sequence[guard.Outcome], allowed: Sequence[Any]
) -> str:
    """What is said of a wrong answer to one question."""
    got = trial.outcome.answer
    if is_blank(got):
        return "not answered yet."
    if error := form_error(got, allowed):
        return f"{error} You have {brief(got)}."
    for mistake, slip in zip(exercise.mistakes, slips, strict=True):
        if matches(got, slip.answer) and not matches(slip.answer, trial.wanted):
            return mistake.says
    return broken(exercise, trial.case, got) or f"{brief(got)} is not right."


def is_blank(x: Any) -> bool:
    """Whether a question was left open."""
    if isinstance(x, (tuple, list)):
        return all(map(is_blank, x))
    return x is None or x is ... or (isinstance(x, str) and not x.strip())


def form_error(got: Any, allowed: Sequence[Any]) -> str:
    """What is said of an answer whose form is none of those that are allowed; else ""."""
    return "" if has_form(plain(got), allowed) else f"{form(allowed)} is asked for."


def has_form(got: Any, allowed: Sequence[Any]) -> bool:
    """Whether it could be an answer: one of the words, a number, or a tuple of such."""
    first = allowed[0]
    if isinstance(first, (tuple, list)):
        if not isinstance(got, (tuple, list)) or len(got) not in set(map(len, allowed)):
            return False
        return all(has_form(item, flat(allowed)) for item in got)
    if isinstance(first, str):
        return as_word(got) in map(as_word, allowed)
    if isinstance(first, bool):
        return isinstance(got, bool)
    return isinstance(got, Real) and not isinstance(got, bool)


def form(allowed: Sequence[Any]) -> str:
    """The form of an answer in words, from all the answers that there are."""
    first = allowed[0]
    if isinstance(first, (tuple, list)):
        lengths = " or ".join(str(n) for n in sorted(set(map(len, allowed))))
        return f"a tuple of length {lengths}, each item {form(flat(allowed))},"
    if isinstance(first, str):
        return "one of " + ", ".join(f'"{word}"' for word in sorted(set(allowed)))
    if isinstance(first, bool):
        return "True or False"
    return "a whole number" if all(isinstance(n, int) for n in allowed) else "a number"


def flat(lists: Iterable[Iterable[Any]]) -> list[Any]:
    return [item for items in lists for item in items]
