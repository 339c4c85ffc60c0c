"""All exercises, in the order of the book: each module chNN_topic.py here holds a chapter's."""

import difflib
from importlib import import_module
from pathlib import Path

from attnbook.exercises.exercise import Exercise

MODULES = [
    import_module(f"attnbook.exercises.{path.stem}")
    for path in sorted(Path(__file__).parent.glob("ch*.py"))
]
CHAPTERS: dict[str, tuple[Exercise, ...]] = {m.CHAPTER: m.EXERCISES for m in MODULES}
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
