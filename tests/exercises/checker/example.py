"""Two exercises for the tests of the checker, and the card that an answer gets."""

import re
from dataclasses import replace

from attnbook.exercises.cards.as_text import card_as_text
from attnbook.exercises.checker.diagnose import diagnose
from attnbook.exercises.exercise import Case, Exercise, Mistake, Property, draw


def compare(query, key):
    return (query @ key.mT).exp()


def cases(generator):
    return [
        Case((draw(generator, 2, 5), draw(generator, 3, 5)), {"Lq": 2, "Lk": 3, "Dk": 5}, "small"),
        Case((draw(generator, 5, 3), draw(generator, 7, 3)), {"Lq": 5, "Lk": 7, "Dk": 3}, "large"),
    ]


TRY = Exercise(
    id="99.try",
    title="A try",
    level=1,
    minutes=1,
    section="99.1",
    prompt="Compare query (Lq, Dk) and key (Lk, Dk).",
    stub="def compare(query, key):\n    raise NotImplementedError",
    reference=compare,
    cases=cases,
    axes="B Lq Lk",
    mistakes=(
        Mistake(lambda query, key: (key @ query.mT).exp(), "The keys ask."),
        Mistake(lambda query, key: query @ key.mT, "You forgot exp."),
    ),
    hints=("first", "second", "third"),
    insight="Well compared.",
    properties=(Property("Answers are positive.", lambda answer, case: bool((answer > 0).all())),),
)
ANSWERS = {"a": "B", "b": "2", "c": "neither"}
CHOICE = replace(
    TRY,
    id="99.choice",
    reference=lambda question: ANSWERS[question],
    cases=lambda generator: [Case((q,), note=f"question {q}") for q in "abc"],
    choices={("a", "A"): "A is not B."},
    properties=(),
)
NUMBERS = replace(
    TRY,
    reference=lambda n, more: 6 * n + 2 * more,
    cases=lambda generator: [Case(given) for given in ((1, False), (1, True), (2, True))],
    mistakes=(),
    properties=(),
)


def card_of(function, exercise=TRY) -> str:
    """Return the card as text, each paragraph on one line."""
    text = card_as_text(diagnose(exercise, function)).replace("\n  ", " ")
    assert not re.search(r"\w\.\.(?!\.)", text), "two periods in a row"
    return text
