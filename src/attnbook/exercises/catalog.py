"""All exercises, in the order of the book: each module chNN_topic.py here holds a chapter's."""

import difflib
import re
from importlib import import_module
from pathlib import Path

from attnbook.exercises.exercise import Exercise

MODULES = [
    import_module(f"attnbook.exercises.{path.stem}")
    for path in sorted(Path(__file__).parent.glob("ch[0-9]*.py"))
]
CHAPTERS: dict[str, tuple[Exercise, ...]] = {m.CHAPTER: m.EXERCISES for m in MODULES}
ALL: dict[str, Exercise] = {e.id: e for exercises in CHAPTERS.values() for e in exercises}


class Unknown(LookupError):
    """What was given names no exercise. The message is one line, for the reader."""


def find(exercise: object) -> Exercise:
    """The exercise with this id; capitals, blanks and the leading zero do not count.

    Raises:  Unknown, which names the ids that were probably meant
    """
    if callable(exercise):
        own = [f'"{e.id}"' for e in ALL.values() if e.name == getattr(exercise, "__name__", "")]
        raise Unknown(f"an id is asked for, in quotes: {' or '.join(own) or 'see the card'}")
    if exercise is None:
        raise Unknown(f'the id that stands on the card is missing, such as "{next(iter(ALL))}"')
    wanted = re.sub(r"^(\d\.)", r"0\1", str(exercise).strip().lower())
    if wanted in ALL:
        return ALL[wanted]
    by_name = [id for id in ALL if id.partition(".")[2] == wanted.rpartition(".")[2]]
    near = by_name or difflib.get_close_matches(wanted, ALL, n=3, cutoff=0.6)
    did_you_mean = f"; did you mean {' or '.join(near)}?" if near else ""
    raise Unknown(f"there is no exercise {exercise!r}{did_you_mean}")
