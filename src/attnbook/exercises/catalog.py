"""All exercises, in the order of the book. Each folder chapters/chNN covers one chapter."""

import difflib
import re
from importlib import import_module
from pathlib import Path

from attnbook.exercises.exercise import Exercise
from attnbook.language import _

MODULES = [
    import_module(f"attnbook.exercises.chapters.{path.parent.name}.{path.stem}")
    for path in sorted(Path(__file__).with_name("chapters").glob("ch[0-9]*/*.py"))
]
CHAPTERS: dict[str, tuple[Exercise, ...]] = {m.CHAPTER: m.EXERCISES for m in MODULES}
ALL: dict[str, Exercise] = {e.id: e for exercises in CHAPTERS.values() for e in exercises}


class UsageError(LookupError):
    """An invalid call or command, such as one with an unknown id. The message is one line."""


def find(exercise: object) -> Exercise:
    """Return the exercise with this id, ignoring case and outer whitespace; 3.scale means 03.scale.

    Raises:  UsageError, with similar ids in its message
    """
    if callable(exercise):
        ids = [f'"{e.id}"' for e in ALL.values() if e.name == getattr(exercise, "__name__", "")]
        message = _("give an id in quotes: {ids}")
        raise UsageError(message.format(ids=_(" or ").join(ids) or _("see the card")))
    if exercise is None:
        example = next(iter(ALL))
        message = _('the id from the card is missing, such as "{id}"')
        raise UsageError(message.format(id=example))
    wanted = re.sub(r"^(\d\.)", r"0\1", str(exercise).strip().lower())
    if wanted in ALL:
        return ALL[wanted]
    with_same_name = [id for id in ALL if id.partition(".")[2] == wanted.rpartition(".")[2]]
    in_chapter = [id for id in ALL if id[:3] == wanted[:3]]
    similar = with_same_name or difflib.get_close_matches(wanted, in_chapter or ALL, n=3)
    message = _("there is no exercise {id!r}")
    if similar:
        message = _("there is no exercise {id!r}; did you mean {others}?")
    raise UsageError(message.format(id=exercise, others=_(" or ").join(similar)))
