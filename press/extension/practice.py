"""`:::{practice} 01.winner`: an exercise's questions, answered on the page.

What is said of an answer are the checker's own sentences: while the book is built, the checker is
given every wrong answer that an exercise names, and what it says goes to the page with the answer.
It judges each question by itself, so a page needs no combinations. An exercise that is answered in
code gets a line on how to run it.
"""

import html
import inspect
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from torch import Generator

from attnbook.exercises import choice, feedback
from attnbook.exercises.diagnose import diagnose
from attnbook.exercises.exercise import Exercise
from press.extension.cards import OfExercise

RUN = "You answer this one in code: [here is how to run the chapter](how_to_use.md#run)."
WORDS = {
    "check": "Check",
    "forget": "Forget that it is solved",
    "solved": "Solved.",
    **{kind: feedback.SIGNS[kind] for kind in ("passed", "failed", "untouched")},
}
NOBODYS = 987654321  # a number that is no one's answer

Function = Callable[..., Any]


class Practice(OfExercise):
    """The element that asks, whose script press/extension/widgets.py loads; or a line."""

    def run(self) -> list[nodes.Node]:
        exercise = self.exercise(choice, feedback)
        if not is_answered_on_a_page(exercise):
            (line,) = self.parse_text_to_nodes(RUN)
            assert isinstance(line, nodes.paragraph)
            line["classes"].append("to-run")
            return [line]
        packed = json.dumps(exported(exercise), ensure_ascii=False, separators=(",", ":"))
        element = f'<attn-choice data="{html.escape(packed)}"></attn-choice>'
        return [nodes.raw("", element, format="html")]


@dataclass(frozen=True)
class Size:
    """A size by its letter, so that a shape is written in letters: (B, L, H · Dv)."""

    letter: str

    def __mul__(self, other: "Size") -> "Size":
        return Size(f"{self.letter} · {other.letter}")

    def __str__(self) -> str:
        return self.letter


def questions(exercise: Exercise) -> list[Any]:
    """The first argument of each case: it tells the questions apart."""
    return [case.arguments[0] for case in exercise.cases(Generator().manual_seed(0))]


def is_answered_on_a_page(exercise: Exercise) -> bool:
    """Whether each question is a word on the card; others hand over a program to experiment on."""
    return not exercise.code and all(isinstance(asked, str) for asked in questions(exercise))


def exported(exercise: Exercise) -> dict[str, Any]:
    """The questions, what is said of each answer, and what is said of all of them together.

    `says` has a text for each number of right answers.
    """
    asked = questions(exercise)
    answers = {question: answers_to(question, exercise) for question in asked}
    numbers = {n for found in answers.values() for n in found if isinstance(n, (int, float))}
    blank = [giving(None, asked[n:], exercise) for n in range(len(asked))]
    return {
        "id": exercise.id,
        "questions": [
            {"asks": question, **judged(question, answers[question], sorted(numbers), exercise)}
            for question in asked
        ],
        "open": told(exercise, blank[-1]),
        "says": [
            *(diagnose(exercise, function).message.partition("\n")[0] for function in blank),
            diagnose(exercise, exercise.reference).message,
        ],
        "words": {"name": f"Your answers to {exercise.id}", **WORDS},
    }


def answers_to(question: str, exercise: Exercise) -> dict[Any, Function]:
    """The answers to a question, the right one and those of mistakes: who gives which."""
    _, *names = inspect.signature(exercise.reference).parameters
    found: dict[Any, Function] = {}
    for function in (exercise.reference, *(mistake.wrong for mistake in exercise.mistakes)):
        found.setdefault(function(question, *map(Size, names)), function)
    return found


def giving(answer: Any, asked: list[str], exercise: Exercise) -> Function:
    """A function that gives this answer to these questions, and the right ones to all others."""
    return lambda one, *sizes: answer if one in asked else exercise.reference(one, *sizes)


def judged(
    question: str, answers: dict[Any, Function], numbers: list[float], exercise: Exercise
) -> dict[str, Any]:
    """What is said of each answer to a question, of the right one nothing.

    Where a number is asked for, `other` is what is said of numbers that are not listed.
    """
    if not numbers:
        says = {written(a): told(exercise, function) for a, function in answers.items()}
        return {"answers": sorted(says.items(), key=lambda found: place(found[0], exercise))}
    other = told(exercise, giving(NOBODYS, [question], exercise)).replace(str(NOBODYS), "{got}")
    listed = {}
    for number in map(as_typed, numbers):
        said = told(exercise, giving(number, [question], exercise))
        if said != other.replace("{got}", str(number)):
            listed[number] = said
    return {"answers": list(listed.items()), "other": other}


def told(exercise: Exercise, function: Function) -> str:
    """What the checker says of the one question that a function answers wrongly, or ""."""
    found = diagnose(exercise, function)
    _, _, line = found.message.partition("\n")
    return "" if found.kind == "passed" else line.partition(": ")[2]


def written(answer: Any) -> str:
    """An answer as the reader sees it: short, (B, L, D)."""
    return f"({', '.join(map(str, answer))})" if isinstance(answer, tuple) else str(answer)


def as_typed(number: float) -> float:
    """A number as a reader writes it: 2 for 2.0."""
    return int(number) if number == int(number) else number


def place(answer: str, exercise: Exercise) -> tuple[int, str]:
    """Where an answer stands among others: words as on the card, what is not there by letters."""
    found = re.search(rf"\b{re.escape(answer)}\b", exercise.prompt)
    return (found.start() if found else 0, answer)


def setup(app: Sphinx) -> None:
    """Register the directive."""
    app.add_directive("practice", Practice)
