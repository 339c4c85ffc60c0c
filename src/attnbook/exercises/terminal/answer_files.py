"""The files in which readers write answers outside notebooks, and which exercise is next."""

import ast
import contextlib
import inspect
import itertools
import re
import sys
import textwrap
from collections.abc import Set
from pathlib import Path

from rich.console import Group, RenderableType
from rich.text import Text

from attnbook.exercises import log
from attnbook.exercises.cards import as_text
from attnbook.exercises.catalog import ALL
from attnbook.exercises.exercise import Exercise
from attnbook.language import _

BASE_IMPORTS = "import math\n\nimport torch\nimport torch.nn.functional as F\nfrom torch import nn"
# Modules that the author of an exercise needs, but an answer does not.
AUTHORING_MODULES = re.compile(r"typing|collections\.abc|attnbook\.(exercises|language|mistakes)\b")
# The beginning of a line of a list, a table or code, which is not joined to its neighbors.
STRUCTURE = re.compile(r"^(?:[-|\s]|```|\d+\.)", re.MULTILINE)


def path_of(exercise: Exercise) -> Path:
    """Return the file of an exercise in the current folder, such as 03_scores.py."""
    return Path(f"{exercise.id.replace('.', '_')}.py")


def exercise_id(name: str) -> str:
    """Turn the name of an answer file into the exercise's id; return any other text unchanged."""
    return re.sub(r"^(\d\d)_(\w+?)(\.py)?$", r"\1.\2", name)


def saved_files() -> dict[str, tuple[int, int]]:
    """Return each answer file in the current folder with its save time and size, latest first."""
    files = {}
    for exercise in ALL.values():
        with contextlib.suppress(OSError):  # if there is no such file
            status = path_of(exercise).stat()
            files[exercise.id] = (status.st_mtime_ns, status.st_size)
    return dict(sorted(files.items(), key=lambda item: item[1], reverse=True))


def next_exercise(after: str = "", passed: Set[str] = frozenset()) -> Exercise | None:
    """Return the first exercise after this one that has not been passed, or None if there is none.

    After the last exercise the search continues with the first. `passed` names exercises that count
    as passed even if the progress file says otherwise.
    """
    counts = log.read()[0]
    ids = list(ALL)
    begin = ids.index(after) + 1 if after else 0
    open_ids = (i for i in ids[begin:] + ids[:begin] if not counts[i]["pass"] and i not in passed)
    return ALL[first] if (first := next(open_ids, "")) else None


def create(exercise: Exercise) -> bool:
    """Write the exercise's file unless it exists, and return whether it was written.

    Raises:  OSError if the file cannot be written
    """
    try:
        with path_of(exercise).open("x", encoding="utf-8") as file:
            file.write(file_content(exercise))
    except FileExistsError:
        return False
    return True


def reset(exercise: Exercise) -> Path | None:
    """Restore the stub in the exercise's file; return where the old answer is kept, if anywhere.

    Raises:  OSError if a file cannot be renamed or written; no answer is lost in that case
    """
    path = path_of(exercise)
    try:
        has_answer = path.read_bytes() != file_content(exercise).encode()
    except FileNotFoundError:
        has_answer = False
    kept = set_aside(path) if has_answer else None
    create(exercise)
    return kept


def reset_messages(exercise: Exercise) -> list[str]:
    """Reset an exercise, and return messages for the reader."""
    kept = reset(exercise)
    messages = [_("The stub is back: {path}").format(path=path_of(exercise).resolve())]
    if kept:
        messages.append(_("Your old answer: {path}").format(path=kept.resolve()))
    return messages


def set_aside(path: Path) -> Path:
    """Rename 03_scores.py to 03_scores.old.py, or to .old2.py and so on, whichever is free."""
    for n in itertools.count(1):
        kept = path.with_suffix(f".old{n if n > 1 else ''}.py")
        try:
            kept.touch(exist_ok=False)  # claims the name before another program can
        except FileExistsError:
            continue
        try:
            return path.replace(kept)
        except OSError:
            kept.unlink()
            raise
    raise AssertionError  # there is always a free name


def file_content(exercise: Exercise) -> str:
    """Return a new file's content: the task as a comment, the imports, the stub and the check."""
    mark = "# "
    title, card = title_and_task(exercise)
    blocks = [title, *card.split("\n\n")]
    joined = (b if STRUCTURE.search(b) else b.replace("\n", " ") for b in blocks)
    card = as_text.wrapped("\n\n".join(joined), as_text.MAX_WIDTH - len(mark))
    task = re.sub(" +$", "", textwrap.indent(card, mark, lambda line: True), flags=re.MULTILINE)
    check = f'check({exercise.name}, "{exercise.id}")'
    return f"{task}\n\n{import_lines(exercise)}\n\n\n{exercise.reader_stub()}\n\n\n{check}\n"


def card_text(exercise: Exercise) -> RenderableType:
    """Return the exercise's card as text for a terminal."""
    title, task = title_and_task(exercise)
    return Group(Text(title, "bold"), as_text.format_task(task))


def title_and_task(exercise: Exercise) -> tuple[str, str]:
    """Return the card's title and its text, without Markdown's heading and quote markers."""
    title, quoted = exercise.card().split("\n\n", 1)
    return title.lstrip("# "), re.sub(r"^> ?", "", quoted, flags=re.MULTILINE)


def import_lines(exercise: Exercise) -> str:
    """Return the imports that an answer may need: BASE_IMPORTS and those of the chapter file."""
    tree = ast.parse(inspect.getsource(sys.modules[exercise.reference.__module__]))
    nodes = [n for n in tree.body if isinstance(n, ast.Import | ast.ImportFrom)]
    lines = [ast.unparse(n) for n in nodes if not AUTHORING_MODULES.match(getattr(n, "module", ""))]
    more = [x for x in lines if x not in BASE_IMPORTS and not x.startswith("from torch import")]
    from_book = [x for x in more if "attnbook" in x]
    from_others = [x for x in more if x not in from_book]
    check_import = "from attnbook.exercises import check"
    return "\n".join([*from_others, BASE_IMPORTS, "", check_import, *from_book])
