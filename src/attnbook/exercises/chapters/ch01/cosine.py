"""Repair a matrix of cosines."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Generator, Tensor

from attnbook.exercises.chapters.mistake_sets import MistakeSet
from attnbook.exercises.exercise import Case, Exercise, Mistake, Property, draw
from attnbook.mistakes.head import WrongLine


def cosines(queries: Tensor, keys: Tensor) -> Tensor:
    queries = queries / queries.norm(dim=1, keepdim=True)
    keys = keys / keys.norm(dim=1, keepdim=True)
    return queries @ keys.T


def cosines_divided_afterwards(queries: Tensor, keys: Tensor) -> Tensor:
    lengths = queries.norm(dim=1)[:, None] * keys.norm(dim=1)[None, :]
    return queries @ keys.T / lengths


def cosine_cases(generator: Generator) -> list[Case]:
    def case(note: str, lq: int, lk: int, dk: int, scale: float = 1.0) -> Case:
        loud = scale ** torch.arange(lk, dtype=torch.float64)[:, None]
        arguments = (draw(generator, lq, dk), loud * draw(generator, lk, dk))
        return Case(arguments, {"Lq": lq, "Lk": lk, "Dk": dk}, note)

    return [
        case("2 questions to 5 books", 2, 5, 3),
        case("3 questions to 10 books", 3, 10, 7),
        case("cards of very different lengths", 7, 5, 6, scale=8.0),
        case("one question", 1, 3, 5),
    ]


def by_row(x: Tensor) -> Tensor:
    return x / x.norm(dim=1, keepdim=True)


def by_column(x: Tensor) -> Tensor:
    return x / x.norm(dim=0)


def by_all(x: Tensor) -> Tensor:
    return x / x.norm()


def by_flat_lengths(x: Tensor) -> Tensor:
    return x / x.norm(dim=1)


def as_it_is(x: Tensor) -> Tensor:
    return x


Cut = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Cosines:
    """The function that divides the queries, and the one that divides the keys."""

    queries: Cut = by_row
    keys: Cut = by_row

    def __call__(self, queries: Tensor, keys: Tensor) -> Tensor:
        return self.queries(queries) @ self.keys(keys).T


WRONG_CUTS = tuple(
    WrongLine(line, wrong, message.format(line=line))
    for line in ("queries", "keys")
    for wrong, message in (
        (by_column, "You divided the {line} by the lengths of columns, but a card is a row."),
        (by_all, "The {line} are all divided by one number, because `norm` has no `dim`."),
        (as_it_is, "You did not divide the {line} by their lengths."),
        (
            by_flat_lengths,
            "The lengths of the {line} are right, but they line up with the columns. To divide "
            "rows, they need the shape (L, 1).",
        ),
    )
)

EXERCISE = Exercise(
    title="A library without spam",
    level=2,
    minutes=10,
    section="1.5",
    prompt="""
`cosines(queries, keys)` should return the cosine of each query with each key, so that no card wins
just because it is long. `queries` has shape (Lq, Dk), `keys` (Lk, Dk), and the answer (Lq, Lk). No
row is all zeros. Two of the three lines below have a bug, and neither bug raises an error. Repair
them.
""",
    stub="""
def cosines(queries, keys):
    raise NotImplementedError  # repair the lines below, then delete this one
    queries = queries / queries.norm(dim=0)
    keys = keys / keys.norm()
    return queries @ keys.T
""",
    reference=cosines,
    others=(cosines_divided_afterwards,),
    cases=cosine_cases,
    axes="Lq Lk",
    mistakes=(
        Mistake(
            lambda q, k: cosines(q, k).softmax(-1),
            "These are weights. Return the cosines themselves, which may be negative.",
        ),
        Mistake(
            lambda q, k: cosines(k, q),
            "Your rows belong to the keys. Row i belongs to query i.",
        ),
        Mistake(
            lambda q, k: cosines(k, k),
            "You compared the keys with one another. Compare each query with each key.",
        ),
        Mistake(
            lambda q, k: F.cosine_similarity(q, k),
            "You compared query i with key i only. Compare every query with every key.",
        ),
    ),
    common_mistakes=MistakeSet(lambda right: right, WRONG_CUTS, right=Cosines()),
    properties=(
        Property(
            "A cosine lies between −1 and 1. Not all of yours do.",
            lambda answer, case: bool(answer.abs().max() <= 1 + 1e-6),
        ),
    ),
    hints=(
        "Is one card a row or a column of `keys`? The length of a card comes from its own numbers.",
        "`dim` names the axis that is summed over. The topics of a card run along axis 1.",
        "Print `keys.norm(dim=1).shape`. To divide rows, it has to be (Lk, 1): use `keepdim=True`.",
    ),
    insight="A wrong axis that broadcasts raises no error. Print the shape of what you divide by.",
    comes_back="Chapter 2 compares words with a matrix of cosines like this one.",
)
