"""What a window with sinks keeps."""

from torch import Generator

from attnbook.exercises.exercise import Case, Exercise, Mistake, Property
from attnbook.language import _


def kept(length: int, window: int, n_sinks: int) -> list[int]:
    return [j for j in range(length) if j < n_sinks or j >= length - window]


def kept_in_two_parts(length: int, window: int, n_sinks: int) -> list[int]:
    newest = range(max(length - window, 0), length)
    return [*range(min(n_sinks, newest.start)), *newest]


def kept_cases(generator: Generator) -> list[Case]:
    asked = (
        (10, 4, 2),
        (9, 3, 0),
        (12, 1, 3),
        (7, 5, 4),
        (3, 5, 2),
        (1, 2, 1),
        (20, 6, 5),
        (2, 4, 3),
    )
    return [
        Case(
            (n, w, s),
            {"L": n},
            _("{words} words, window {window}, {sinks} sinks").format(words=n, window=w, sinks=s),
        )
        for n, w, s in asked
    ]


EXERCISE = Exercise(
    title="What a window with sinks keeps",
    level=1,
    minutes=5,
    section="11.10",
    prompt="""
A text has `length` words, numbered from 0. The layer has a window with sinks, so the last word
attends to the last `window` words, itself included, and to the first `n_sinks` words of the text.
Write `kept(length, window, n_sinks)`. It returns the numbers of these words as a list, in the order
of the text, with each number once.
""",
    reference=kept,
    cases=kept_cases,
    mistakes=(
        Mistake(
            lambda n, w, s: [*range(s), *range(n - w, n)],
            "This is right only if sinks and window do not overlap. In a short text, they do.",
        ),
        Mistake(
            lambda n, w, s: [*range(s), *range(max(n - w, 0), n)],
            "In a short text, the sinks are in the window, and some words appear twice.",
        ),
        Mistake(
            lambda n, w, s: sorted({*range(s), *range(max(n - w, 0), n)}),
            "This is right unless the text is shorter than `n_sinks`. In such a text, every word "
            "is a sink.",
        ),
        Mistake(
            lambda n, w, s: kept(n, w - s, s) if w > s else kept(n, 0, s),
            "You counted the sinks as part of the window. They come in addition to it.",
        ),
        Mistake(
            lambda n, w, s: kept(n, w + 1, s),
            "One word too many: the window includes the last word itself.",
        ),
        Mistake(
            lambda n, w, s: kept(n, w - 1, s),
            "Off by one: the word at position length − window belongs to the window.",
        ),
        Mistake(
            lambda n, w, s: [j for j in kept(n, w, s) if j != n - 1],
            "The last word itself is missing. It belongs to its window.",
        ),
        Mistake(
            lambda n, w, s: kept(n, w + s, 0),
            "You made the window longer by `n_sinks`. The sinks are the *first* words of the text.",
        ),
        Mistake(
            lambda n, w, s: kept(n, s, w),
            "You swapped window and sinks. The sinks are the first words.",
        ),
    ),
    properties=(
        Property(
            "Your list has numbers below 0 or above `length` − 1. There are no such words.",
            lambda answer, case: {*map(int, answer)} <= {*range(case.arguments[0])},
        ),
        Property(
            "Some words appear twice. A word can be a sink and also lie in the window.",
            lambda answer, case: len({*map(int, answer)}) == len(answer),
        ),
    ),
    hints=(
        "There are two conditions for a word j. It is kept if it meets at least one of them.",
        "A sink has j < n_sinks. If the last word is at position length − 1, which j are in its "
        "window?",
        "`[j for j in range(length) if ... or ...]` contains each word once.",
    ),
    insight="However long the text is, the list has at most window + n_sinks words, so the cache "
    "stops growing. With rotary positions, a model that reads on and on also has to count them "
    "inside the cache (11.10).",
    comes_back="In 11.experiment you recognize such a layer from the outside.",
    others=(kept_in_two_parts,),
)
