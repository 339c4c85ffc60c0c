"""All exercises, in the order of the book."""

import difflib

from attnbook.exercises import (
    ch01_library,
    ch02_embeddings,
    ch03_single_head,
    ch04_multi_head,
    ch05_cross,
    ch06_masks,
    ch07_positions,
)
from attnbook.exercises.exercise import Exercise

CHAPTERS: dict[str, tuple[Exercise, ...]] = {
    "1. The library": ch01_library.EXERCISES,
    "2. Words to vectors": ch02_embeddings.EXERCISES,
    "3. One head": ch03_single_head.EXERCISES,
    "4. Many heads": ch04_multi_head.EXERCISES,
    "5. Two sequences": ch05_cross.EXERCISES,
    "6. Masks": ch06_masks.EXERCISES,
    "7. Positions": ch07_positions.EXERCISES,
}
ALL: dict[str, Exercise] = {e.id: e for exercises in CHAPTERS.values() for e in exercises}


def find(exercise: str) -> Exercise:
    """The exercise with this id.

    Raises:  KeyError that names the ids most like it
    """
    if exercise in ALL:
        return ALL[exercise]
    near = difflib.get_close_matches(str(exercise), ALL, n=3, cutoff=0.4)
    did_you_mean = f"; did you mean {', '.join(near)}?" if near else ""
    raise KeyError(f"there is no exercise {exercise!r}{did_you_mean}")
