"""The proof of the exercises as a table: what is proved for each chapter, counted, not typed."""

from collections.abc import Mapping
from typing import Any

from attnbook.exercises.catalogue import CHAPTERS
from tests.support.mutants import mutants

DRAWS = 50
HEAD = (
    "chapter", "exercises", "misunderstandings, each named on 50 draws", "other right answers",
    "mutants rejected", "mutants argued to be right",
)  # fmt: skip


def rows(
    right: Mapping[str, tuple[Any, ...]], equivalent: Mapping[str, Mapping[str, str]]
) -> list[tuple[str, ...]]:
    """A row per chapter and one for all. A mutant is rejected unless it is argued to be right."""
    found: list[tuple[str, ...]] = []
    total = [0] * (len(HEAD) - 1)
    for chapter, exercises in CHAPTERS.items():
        made = sum(len(list(mutants(e.reference))) for e in exercises if e.code)
        argued = sum(len(equivalent.get(e.id, {})) for e in exercises)
        numbers = [
            len(exercises),
            sum(len(e.mistakes) for e in exercises),
            sum(len(right[e.id]) for e in exercises),
            made - argued,
            argued,
        ]
        total = [a + b for a, b in zip(total, numbers, strict=True)]
        found.append((chapter, *map(str, numbers)))
    return [*found, ("all", *map(str, total))]


def markdown(table: list[tuple[str, ...]]) -> str:
    lines = [HEAD, ("---",) * len(HEAD), *table]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
