"""`:::{practice} 01.winner`: an exercise's questions, answered on the page.

The page responds to each answer with the checker's own message. During the build, each answer that
an exercise lists is given to the checker, and the message is stored in the page. Each question is
judged separately, so a page needs no combinations of answers. For an exercise that is answered in
code, the page has a line on how to run it.
"""

import functools
import html
import inspect
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from torch import Generator

from attnbook.exercises.cards import feedback
from attnbook.exercises.catalog import UsageError, find
from attnbook.exercises.checker import choice, guard
from attnbook.exercises.checker.diagnose import diagnose
from attnbook.exercises.checker.trial import SolvedCase, Trial, is_right, solve_cases
from attnbook.exercises.exercise import Exercise
from attnbook.language import _

RUN = _("This exercise is answered in code: [how to run the chapter](how_to_use.md#run).")
LABELS = {
    "check": _("Check"),
    "forget": _("Forget that it is solved"),
    "solved": _("Solved."),
    **{kind: feedback.SIGNS[kind] for kind in ("passed", "failed", "untouched")},
}
Answer = Callable[..., Any]  # takes the sizes, if the exercise has any


class ExerciseDirective(SphinxDirective):
    """A directive whose argument is the id of an exercise."""

    required_arguments = 1

    def exercise(self, *dependencies: Any) -> Exercise:
        """Return the exercise that the argument names.

        Sphinx reads the page again when the source of the exercise or of a dependency has changed.

        Raises:  a Sphinx error if there is no such exercise
        """
        try:
            exercise = find(self.arguments[0])
        except UsageError as error:
            raise self.error(str(error)) from None
        for source in (exercise.reference, *dependencies):
            self.env.note_dependency(inspect.getsourcefile(source) or "")
        return exercise


class Practice(ExerciseDirective):
    """Insert the element that asks the questions, or a line if the exercise is answered in code.

    press/extension/widgets.py loads the element's script.
    """

    def run(self) -> list[nodes.Node]:
        exercise = self.exercise(choice, feedback)
        if not is_answered_on_a_page(exercise):
            (line,) = self.parse_text_to_nodes(RUN)
            assert isinstance(line, nodes.paragraph)
            line["classes"].append("to-run")
            return [line]
        data = page_data(exercise)
        packed = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
        element = f'<attn-choice data="{html.escape(packed)}">{table(data)}</attn-choice>'
        return [nodes.raw("", element, format="html")]


@dataclass(frozen=True)
class Size:
    """A size that is a letter, so that answers can be computed symbolically: (B, L, H · Dv)."""

    letter: str

    def __mul__(self, other: "Size") -> "Size":
        return Size(f"{self.letter} · {other.letter}")

    def __str__(self) -> str:
        return self.letter


class UnlistedNumber(float):
    """A number that no listed mistake produces. In a message it is a placeholder, "{got}"."""

    def __repr__(self) -> str:
        return "{got}"


UNLISTED = UnlistedNumber(987654321)


def questions(exercise: Exercise) -> list[Any]:
    """Return the first argument of each case, which identifies the question."""
    return [case.arguments[0] for case in exercise.cases(Generator().manual_seed(0))]


def is_answered_on_a_page(exercise: Exercise) -> bool:
    """Return whether each question is a text on the card.

    In the other exercises without code, a question is a program to experiment with.
    """
    return not exercise.code and all(isinstance(question, str) for question in questions(exercise))


def page_data(exercise: Exercise) -> dict[str, Any]:
    """Return what the page needs: the questions, and the messages for each of their answers.

    `says` has a text for each number of right answers, and `open` is the text for a blank answer.
    """
    answers = {question: known_answers(question, exercise) for question in questions(exercise)}
    numbers = {a for group in answers.values() for a in group if isinstance(a, (int, float))}
    return {
        "id": exercise.id,
        "questions": [
            {"asks": question, **judged_answers(question, group, sorted(numbers), exercise)}
            for question, group in answers.items()
        ],
        "open": message_for(next(iter(answers)), lambda *sizes: None, exercise),
        "says": [
            *(choice.score(n_right, len(answers)) for n_right in range(len(answers))),
            diagnose(exercise, exercise.reference).message,
        ],
        "words": {"name": _("Your answers to {id}").format(id=exercise.id), **LABELS},
    }


def table(data: dict[str, Any]) -> str:
    """A table of the questions and possible answers, for print and for browsers without scripts."""
    rows = ""
    for question in data["questions"]:
        answers = _("a number")
        if "other" not in question:
            answers = " · ".join(answer for answer, _ in question["answers"])
        rows += f"<tr><th>{html.escape(question['asks'])}</th><td>{html.escape(answers)}</td></tr>"
    return f"<table>{rows}</table>"


def known_answers(question: str, exercise: Exercise) -> dict[Any, Answer]:
    """Return the right answer to a question and known wrong ones, each with its function."""
    _, *names = inspect.signature(exercise.reference).parameters
    letters = tuple(map(Size, names))
    answers: dict[Any, Answer] = {}
    for function in (exercise.reference, *(mistake.wrong for mistake in exercise.mistakes)):
        answers.setdefault(function(question, *letters), functools.partial(function, question))
    return answers


def judged_answers(
    question: str, answers: dict[Any, Answer], numbers: list[float], exercise: Exercise
) -> dict[str, Any]:
    """Return the message for each answer to a question ("" for the right answer).

    Where the answer is a number, `other` is the message for numbers that are not listed.
    """
    if not numbers:
        messages = {
            format_answer(a): message_for(question, answer, exercise)
            for a, answer in answers.items()
        }
        return {"answers": sorted(messages.items(), key=lambda x: card_order(x[0], exercise))}
    other = message_for(question, lambda *sizes: UNLISTED, exercise)
    listed = {}
    for number in map(as_typed, numbers):
        message = message_for(question, lambda *sizes, number=number: number, exercise)
        if message != other.replace("{got}", str(number)):
            listed[number] = message
    return {"answers": list(listed.items()), "other": other}


def message_for(question: str, answer: Answer, exercise: Exercise) -> str:
    """Return the checker's message for an answer to one question, or "" if it is right.

    `answer` takes the sizes, if the exercise has any, and returns the answer.
    """
    asked = [one for one in solved(exercise.id) if one.case.arguments[0] == question]
    trials = trusted_trials(exercise, lambda _, *sizes: answer(*sizes), asked)
    return choice.question_messages(exercise, [*trials, *right_trials(exercise.id)])[question]


@functools.cache
def solved(id: str) -> list[SolvedCase]:
    """Return the cases of an exercise, solved."""
    return solve_cases(find(id), seed=0)


@functools.cache
def right_trials(id: str) -> list[Trial]:
    """Return the trials of an exercise's reference, which answers the other questions."""
    exercise = find(id)
    return trusted_trials(exercise, exercise.reference, solved(id))


def trusted_trials(
    exercise: Exercise, function: Callable[..., Any], cases: list[SolvedCase]
) -> list[Trial]:
    """Run one of the exercise's own functions, which needs no limits, on each case."""
    trials = []
    for case, wanted, _gradients in cases:
        outcome = guard.call_trusted(function, case.arguments)
        trials.append(Trial(case, wanted, outcome, is_right(exercise, case, outcome, wanted)))
    return trials


def format_answer(answer: Any) -> str:
    """Return an answer as the reader sees it, such as (B, L, D) for a tuple."""
    return f"({', '.join(map(str, answer))})" if isinstance(answer, tuple) else str(answer)


def as_typed(number: float) -> float:
    """Return a number as a reader types it: 2 for 2.0."""
    return int(number) if number == int(number) else number


def card_order(answer: str, exercise: Exercise) -> tuple[int, str]:
    """Return an answer's key for sorting: its position on the card (0 if none), then the answer."""
    match = re.search(rf"\b{re.escape(answer)}\b", exercise.prompt)
    return (match.start() if match else 0, answer)


def setup(app: Sphinx) -> None:
    """Register the directive."""
    app.add_directive("practice", Practice)
