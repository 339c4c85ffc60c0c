"""Feedback on a multiple-choice exercise: the message for each question with a wrong answer."""

from collections.abc import Iterable, Sequence
from numbers import Real
from typing import Any

from attnbook.exercises.cards.feedback import Feedback
from attnbook.exercises.checker import guard
from attnbook.exercises.checker.answers import matches, normalize_word, to_python
from attnbook.exercises.checker.excerpts import printed_details, short_repr
from attnbook.exercises.checker.trial import Trial, property_error
from attnbook.exercises.exercise import Exercise
from attnbook.language import _


def explain(exercise: Exercise, trials: Sequence[Trial]) -> Feedback:
    """Return a card with the score and a line for each message, with the questions it is about."""
    notes = {question: trial.case.note for question, trial in by_question(trials).items()}
    messages = question_messages(exercise, trials)
    told: dict[str, list[str]] = {}
    for question, text in messages.items():
        told.setdefault(text, []).append(_(notes[question]))
    n_right = len(told.pop("", []))
    line = _("{question}: {message}")
    lines = [line.format(question=_(", ").join(of), message=text) for text, of in told.items()]
    message = "\n".join([score(n_right, len(messages)), *lines])
    printed = printed_details(trials[0].outcome.printed)
    return Feedback("failed", exercise.head, message, printed, exercise.footer)


def score(n_right: int, total: int) -> str:
    """Return the first line of the card, which counts the right answers."""
    return _("{n_right} of {total} are right.").format(n_right=n_right, total=total)


def question_messages(exercise: Exercise, trials: Sequence[Trial]) -> dict[Any, str]:
    """Return a message for each question, or "" if its answer is right."""
    trial_of = by_question(trials)
    outcomes = {
        question: [guard.call_trusted(m.wrong, trial.case.arguments) for m in exercise.mistakes]
        for question, trial in trial_of.items()
    }
    wrong_answers = [outcome.answer for group in outcomes.values() for outcome in group]
    allowed = [trial.wanted for trial in trial_of.values()] + wrong_answers
    return {
        question: "" if t.right else answer_message(exercise, t, outcomes[question], allowed)
        for question, t in trial_of.items()
    }


def by_question(trials: Sequence[Trial]) -> dict[Any, Trial]:
    """Return one trial for each question: the first with a wrong answer, or else the first."""
    chosen: dict[Any, Trial] = {}
    for trial in trials:
        question = trial.case.arguments[0]
        if question not in chosen or (chosen[question].right and not trial.right):
            chosen[question] = trial
    return chosen


def answer_message(
    exercise: Exercise,
    trial: Trial,
    mistake_outcomes: Sequence[guard.Outcome],
    allowed: Sequence[Any],
) -> str:
    """Return the message for a wrong answer to one question. The answer's form is checked first.

    `mistake_outcomes` are the outcomes of the exercise's mistakes for this question. `allowed`
    contains the right answers and the known wrong answers to all questions.
    """
    got = trial.outcome.answer
    if is_blank(got):
        return _("not answered yet.")
    if error := form_error(got, allowed):
        return _("{error} You have {got}.").format(error=error, got=short_repr(got))
    for mistake, outcome in zip(exercise.mistakes, mistake_outcomes, strict=True):
        if matches(got, outcome.answer) and not matches(outcome.answer, trial.wanted):
            return mistake.told
    lacks = property_error(exercise, trial.case, got)
    return lacks or _("{got} is not right.").format(got=short_repr(got))


def is_blank(x: Any) -> bool:
    """Return whether a question was left unanswered."""
    if isinstance(x, (tuple, list)):
        return x != [] and all(map(is_blank, x))  # stubs contain (), but no []
    return x is None or x is ... or (isinstance(x, str) and not x.strip())


def form_error(got: Any, allowed: Sequence[Any]) -> str:
    """Return the message for an answer that does not have the form of an allowed one, or ""."""
    if has_form(to_python(got), allowed):
        return ""
    return _("it has to be {form}.").format(form=describe_form(allowed))


def has_form(got: Any, allowed: Sequence[Any]) -> bool:
    """Return whether `got` could be an answer: an allowed word, a bool, a number, or a tuple."""
    first = allowed[0]
    if isinstance(first, (tuple, list)):
        if not isinstance(got, (tuple, list)) or len(got) not in set(map(len, allowed)):
            return False
        return all(has_form(item, flatten(allowed)) for item in got)
    if isinstance(first, str):
        return normalize_word(got) in map(normalize_word, allowed)
    if isinstance(first, bool):
        return isinstance(got, bool)
    return isinstance(got, Real) and not isinstance(got, bool)


def describe_form(allowed: Sequence[Any]) -> str:
    """Describe in words the form that all allowed answers have."""
    first = allowed[0]
    if isinstance(first, (tuple, list)):
        lengths = _(" or ").join(str(n) for n in sorted(set(map(len, allowed))))
        form = _("a tuple of length {lengths}, each item {form}")
        return form.format(lengths=lengths, form=describe_form(flatten(allowed)))
    if isinstance(first, str):
        words = ", ".join(f'"{word}"' for word in sorted(set(allowed)))
        return _("one of {words}").format(words=words)
    if isinstance(first, bool):
        return _("True or False")
    return _("a whole number") if all(isinstance(n, int) for n in allowed) else _("a number")


def flatten(lists: Iterable[Iterable[Any]]) -> list[Any]:
    return [item for items in lists for item in items]
