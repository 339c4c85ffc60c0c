"""Position or distance?"""

from collections.abc import Callable

import torch
from torch import Generator, Tensor

from attnbook.exercises.chapters.ch07.shared import steps
from attnbook.exercises.exercise import Case, Exercise, draw
from attnbook.positions.absolute import sinusoids

Scores = Callable[[Tensor], Tensor]


def knows(scores: Scores) -> str:
    word = torch.randn(8, dtype=torch.float64)
    s = scores(word.expand(12, 8))  # the same word 12 times: differences are not due to words
    if torch.allclose(s, s[0, 0].expand(12, 12)):
        return "nothing"
    return "distance" if torch.allclose(s[1:, 1:], s[:-1, :-1]) else "position"


W_Q, W_K = draw(Generator().manual_seed(7), 2, 8, 8)
TABLE = draw(Generator().manual_seed(8), 256, 8)


def in_double(scores: Scores) -> Scores:
    """Make `scores` compute in float64, to avoid rounding errors; the result has x's dtype."""
    return lambda x: scores(x.double()).to(x.dtype)


def compared(x: Tensor, places: Tensor) -> Tensor:
    rows = x + places[: len(x)]
    return rows @ W_Q @ (rows @ W_K).T


def words(x: Tensor) -> Tensor:
    return compared(x, 0 * TABLE)


def waves(x: Tensor) -> Tensor:
    return sinusoids(torch.arange(len(x)), 8)


def shaw(x: Tensor) -> Tensor:
    nearby = TABLE[steps(len(x)).clamp(-3, 3) + 3]  # (L, L, D)
    return words(x) + torch.einsum("id,ijd->ij", x @ W_Q, nearby)


WORDS, PRODUCTS, ROWS, WAVES, PLAIN_WAVES, FIRST, LATER, NUMBERS, SHAW, BIAS, MINUS, FAR = PARTS = [
    in_double(part)
    for part in (
        words,
        lambda x: x @ x.T,
        lambda x: compared(x, TABLE),
        lambda x: compared(x, waves(x)),
        lambda x: (x + waves(x)) @ (x + waves(x)).T,
        lambda x: compared(x, TABLE * (torch.arange(256)[:, None] == 0)),
        lambda x: compared(x, TABLE * (torch.arange(256)[:, None] > 3)),
        lambda x: words(x) + TABLE[: len(x), 0] - TABLE[: len(x), :1],
        shaw,
        lambda x: words(x) + TABLE[:, 0][steps(len(x)) % 256],
        lambda x: words(x) - steps(len(x)).abs(),
        lambda x: words(x) + (steps(len(x)) > 3),
    )
]
NOTES = (
    "words alone",
    "words alone, without matrices",
    "learned rows, added to the words",
    "sinusoids, added to the words",
    "sinusoids, compared without matrices",
    "a learned row for the first position only",
    "a learned row for each position from 4 on",
    "a number for each position, the key's minus the query's",
    "Shaw's vector for each distance",
    "a number for each distance",
    "minus the distance, the same on both sides",
    "a number for distances of 4 or more",
)

EXERCISE = Exercise(
    title="Position or distance?",
    level=3,
    minutes=15,
    section="7.9",
    prompt="""
You get the part of a layer that computes its scores: `scores(x)` takes rows of your choice, `x` of
shape (L, 8) with L up to 256, and returns the (L, L) scores. What does it know about positions?
Write `knows(scores)`, which may call `scores` as often as you like. Return `"nothing"` if only the
words matter, `"distance"` if it also matters how far apart two words are (perhaps also on which
side), and `"position"` if it matters where they are. Your function is tested on twelve such parts.
""",
    reference=knows,
    cases=lambda generator: [Case((f,), note=note) for f, note in zip(PARTS, NOTES, strict=True)],
    choices={
        ((WORDS, PRODUCTS), "position"): "Only words are compared. Make them all equal, or follow "
        "each to its new position.",
        ((WORDS, PRODUCTS), "distance"): "Only words are compared. Does anything change if they "
        "are all equal?",
        ((ROWS, WAVES, PLAIN_WAVES, NUMBERS), "nothing"): "Positions change the scores. With the "
        "same word at all positions, are all scores equal?",
        ((ROWS, WAVES), "distance"): "Pairs of positions at the same distance have different "
        "scores. Do you compare such pairs?",
        (PLAIN_WAVES, "distance"): "A score between two encodings depends only on the distance, "
        "but words are also compared with encodings. Words made of zeros hide that.",
        ((FIRST, LATER), "nothing"): "Only some positions are marked. Is your sentence long "
        "enough, and do you look at its first row?",
        (FIRST, "distance"): "Only the first position is marked. Do you look at row 0?",
        (LATER, "distance"): "Only positions from 4 on are marked. Compare all scores along the "
        "diagonals.",
        (NUMBERS, "distance"): "A position compared with itself gets 0 everywhere. Look next to "
        "the diagonal, too.",
        (SHAW, "nothing"): "Words made of zeros give queries of zeros, which ignore the distance. "
        "Use other words.",
        ((BIAS, MINUS, FAR), "nothing"): "The distance changes the scores. With equal words in a "
        "long sentence, are all scores equal?",
        ((SHAW, BIAS, MINUS, FAR), "position"): "If two words move together, their score stays the "
        "same. Did you also change the words?",
    },
    hints=(
        "Keep the words the same while positions change. In what kind of sentence can no "
        "difference between scores come from the words?",
        "Repeat one random word twelve times. If the scores are not all equal, along which lines "
        "of the (L, L) scores is the distance the same?",
        "`torch.allclose(s[1:, 1:], s[:-1, :-1])` compares each score with the next one on its "
        "diagonal.",
    ),
    comes_back="Chapter 11 returns to a third way to encode distances: rotary positions.",
    insight="With words made of zeros, Shaw's layer would seem to know nothing. Keep fixed "
    "whatever you are not testing, but do not remove it.",
)
