"""A reader's desk outside of notebooks: a file for each exercise, and which one is next."""

import ast
import contextlib
import inspect
import re
import sys
import textwrap
from collections.abc import Set
from pathlib import Path

from rich.console import Group, RenderableType
from rich.text import Text

from attnbook.exercises import log, text
from attnbook.exercises.catalog import ALL
from attnbook.exercises.exercise import Exercise

ALWAYS = "import math\n\nimport torch\nimport torch.nn.functional as F\nfrom torch import nn"
# Modules that an exercise is built with, and that its answer does not need.
MACHINERY = re.compile(r"typing|collections\.abc|attnbook\.exercises\b")


def place(exercise: Exercise) -> Path:
    """The file of an exercise, in the current folder: 03_scores.py."""
    return Path(f"{exercise.id.replace('.', '_')}.py")


def named(which: str) -> str:
    """The id that the name of such a file stands for; anything else as it is."""
    return re.sub(r"^(\d\d)_(\w+?)(\.py)?$", r"\1.\2", which)


def saved() -> dict[str, tuple[int, int]]:
    """When each file in the current folder was saved, and its size; the latest comes first."""
    found = {}
    for exercise in ALL.values():
        with contextlib.suppress(OSError):  # not there
            facts = place(exercise).stat()
            found[exercise.id] = (facts.st_mtime_ns, facts.st_size)
    return dict(sorted(found.items(), key=lambda item: item[1], reverse=True))


def upcoming(after: str = "", passed: Set[str] = frozenset()) -> Exercise | None:
    """The first exercise that is not passed, behind that one if there is any; None if all are."""
    counts = log.read()[0]
    names = list(ALL)
    at = names.index(after) + 1 if after else 0
    left = (n for n in names[at:] + names[:at] if not counts[n]["pass"] and n not in passed)
    return ALL[name] if (name := next(left, "")) else None


def start(exercise: Exercise) -> bool:
    """Write the file, unless there is one. Returns whether it was written."""
    try:
        with place(exercise).open("x", encoding="utf-8") as file:
            file.write(content(exercise))
    except FileExistsError:
        return False
    return True


def content(exercise: Exercise) -> str:
    """The task as a comment, the imports, the stub, the check."""
    card = textwrap.indent("\n\n".join(parts(exercise)), "# ", lambda line: True)
    task = re.sub(" +$", "", card, flags=re.MULTILINE)
    check = f'check({exercise.name}, "{exercise.id}")'
    return f"{task}\n\n{imported(exercise)}\n\n\n{exercise.stub.strip()}\n\n\n{check}\n"


def shown(exercise: Exercise) -> RenderableType:
    """The card, as text."""
    title, task = parts(exercise)
    return Group(Text(title, "bold"), text.task(task))


def parts(exercise: Exercise) -> tuple[str, str]:
    """The card's title and its text, without the marks of Markdown around them."""
    title, _, quoted = exercise.card().partition("\n\n")
    return title.lstrip("# "), re.sub(r"^> ?", "", quoted, flags=re.MULTILINE)


def imported(exercise: Exercise) -> str:
    """What a chapter's answers may need: what its exercises import, and what every chapter does."""
    tree = ast.parse(inspect.getsource(sys.modules[exercise.reference.__module__]))
    theirs = [n for n in tree.body if isinstance(n, ast.Import | ast.ImportFrom)]
    lines = [ast.unparse(n) for n in theirs if not MACHINERY.match(getattr(n, "module", ""))]
    more = [x for x in lines if x not in ALWAYS and not x.startswith("from torch import")]
    ours = [x for x in more if "attnbook" in x]
    others = [x for x in more if x not in ours]
    return "\n".join([*others, ALWAYS, "", "from attnbook.exercises import check", *ours])
