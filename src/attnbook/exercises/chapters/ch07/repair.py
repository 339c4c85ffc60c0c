"""Repair three faults in scores with learned positions."""

import math
from collections.abc import Callable

import torch
from torch import Generator, Tensor

from attnbook.exercises.chapters.mistake_sets import MistakeSet
from attnbook.exercises.exercise import Case, Exercise, Mistake, draw
from attnbook.mistakes.head import Head, scaled_scores
from attnbook.mistakes.lines import SCORE_MISTAKES


def placed_scores(x: Tensor, table: Tensor, w_q: Tensor, w_k: Tensor) -> Tensor:
    rows = x + table[: x.size(-2)]
    query, key = rows @ w_q, rows @ w_k
    return query @ key.mT / math.sqrt(query.size(-1))


def placed_scores_in_four_terms(x: Tensor, table: Tensor, w_q: Tensor, w_k: Tensor) -> Tensor:
    p = table[: x.size(1)].expand_as(x)
    terms = ((asks @ w_q) @ (asked @ w_k).mT for asks in (x, p) for asked in (x, p))
    return torch.stack(list(terms)).sum(0) / math.sqrt(w_k.size(1))


def repair_cases(generator: Generator) -> list[Case]:
    def case(note: str, b: int, length: int, d: int, d_k: int, longest: int) -> Case:
        shapes = ((b, length, d), (longest, d), (d, d_k), (d, d_k))
        sizes = {"B": b, "L": length, "D": d, "Dk": d_k, "the table": longest}
        return Case(tuple(draw(generator, *shape) for shape in shapes), sizes, note)

    return [
        case("one sentence of 3 words", 1, 3, 7, 5, 6),
        case("two sentences of 5 words", 2, 5, 6, 11, 8),
        case("three sentences of 4 words", 3, 4, 10, 7, 13),
    ]


Line = Callable[[Tensor, Tensor], Tensor]


def faulty(
    place: Line = lambda x, table: x + table[: x.size(-2)],
    key_of: Line = lambda x, rows: rows,
    head: Head = Head(),  # noqa: B008  frozen
    by_d: bool = False,
) -> Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]:
    """The three lines, each right unless a wrong one is given."""

    def scores(x: Tensor, table: Tensor, w_q: Tensor, w_k: Tensor) -> Tensor:
        rows = place(x, table)
        query, key = rows @ w_q, key_of(x, rows) @ w_k
        return scaled_scores(x.size(-1), query, key) if by_d else head.scores(query, key)

    return scores


def by_batch(x: Tensor, table: Tensor) -> Tensor:
    return x + table[: len(x)]


def of_words(x: Tensor, other: Tensor) -> Tensor:
    return x


EXERCISE = Exercise(
    title="Three faults in three lines",
    level=2,
    minutes=10,
    section="7.8",
    prompt="""
These three lines should add learned positions to the rows, project the sums, and compare queries
with keys. For a single sentence, they run and return the right shape, but each line has one fault.
Repair them. `x` is (B, L, D); `table` is (N, D), with N at least L, and its row t is the encoding
of position t; `w_q` and `w_k` are (D, Dk); the answer is (B, L, L).
""",
    stub="""
def placed_scores(x, table, w_q, w_k):
    raise NotImplementedError  # repair the lines below, then delete this one
    rows = x + table[: len(x)]
    query, key = rows @ w_q, x @ w_k
    return query @ key.mT / math.sqrt(x.size(-1))
""",
    reference=placed_scores,
    cases=repair_cases,
    axes="B L L",
    mistakes=(
        Mistake(
            faulty(by_batch, of_words, by_d=True),
            "All three faults are still there. What is `len(x)` if `x` is (B, L, D)?",
        ),
        Mistake(
            faulty(by_batch, of_words),
            "The scale is now right. What is `len(x)` in the first line? Which rows are the keys "
            "made from?",
        ),
        Mistake(
            faulty(by_batch, by_d=True),
            "Keys and queries both have their positions now. What is `len(x)`? Which width do "
            "the dot products sum over?",
        ),
        Mistake(
            faulty(key_of=of_words, by_d=True),
            "The first line is now right. The keys still have no positions, and you take the "
            "root of the wrong width.",
        ),
        Mistake(
            faulty(by_batch),
            "`len(x)` is B, the number of sentences. With one sentence, every word gets position "
            "0, and no error is raised.",
        ),
        Mistake(faulty(key_of=of_words), "The queries have positions, but the keys do not."),
        Mistake(faulty(by_d=True), "You still divide by √D, but queries and keys have width Dk."),
        Mistake(
            lambda x, table, w_q, w_k: (
                (x @ w_q) @ ((x + table[: x.size(-2)]) @ w_k).mT / math.sqrt(w_q.size(-1))
            ),
            "The keys have positions now, but the queries do not.",
        ),
        Mistake(faulty(lambda x, table: x + table[:1]), "Every word gets row 0 of the table."),
        Mistake(
            faulty(lambda x, table: x + table[1 : x.size(-2) + 1]),
            "Your first word gets row 1 of the table, but it is at position 0.",
        ),
        Mistake(
            faulty(lambda x, table: x),
            "These are the scores of the words alone. Add the positions.",
        ),
        Mistake(
            lambda *arguments: placed_scores(*arguments).softmax(-1),
            "You added a softmax. These three lines stop at the scores.",
        ),
    ),
    hints=(
        "`table[: n]` is (n, D). Which n broadcasts with (B, L, D)?",
        "Queries and keys are made from the *same* rows. Divide by the root of the width that "
        "their dot product sums over.",
        "You need `x.size(-2)`, `rows @ w_k` and `query.size(-1)`.",
    ),
    common_mistakes=MistakeSet(
        lambda head: faulty(head=head),
        SCORE_MISTAKES,
        widths={"N": lambda x, table, w_q, w_k: len(table)},
    ),
    others=(placed_scores_in_four_terms,),
    comes_back="Chapter 8 adds positions with a line like the first of these three.",
    insight="With a batch of one, `len(x)` is wrong but raises no error. Test with sizes that all "
    "differ.",
)
