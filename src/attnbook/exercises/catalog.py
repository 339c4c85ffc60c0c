"""All exercises, in the order of the book. That of chapters/ch06/heads.py has the id 06.heads."""

import difflib
import re
from importlib import import_module
from pathlib import Path

from attnbook.exercises.exercise import Exercise
from attnbook.language import _

CHAPTERS: dict[str, tuple[Exercise, ...]] = {}
for path in sorted(Path(__file__).with_name("chapters").glob("ch*/__init__.py")):
    chapter = import_module(f"attnbook.exercises.chapters.{path.parent.name}")
    modules = (import_module(f"{chapter.__name__}.{name}") for name in chapter.EXERCISES)
    CHAPTERS[chapter.CHAPTER] = tuple(module.EXERCISE for module in modules)
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
