"""What the reader is told about a file that was run: its lines, its names, or a missing check."""

import linecache
import re
import traceback
from pathlib import Path
from types import ModuleType

from attnbook.exercises.cards.feedback import Feedback
from attnbook.exercises.catalog import ALL
from attnbook.exercises.checker.reader_code import missing_name
from attnbook.exercises.terminal import answer_files
from attnbook.language import _


def crash_card(path: Path, stack: str, code: int) -> Feedback:
    """Return the card for a file that was stopped, with the stack, or that ended the process."""
    if not stack:
        head = _("{file} ended Python (exit code {code})").format(file=path.name, code=code)
        message = _(
            "Something in the file ends or crashes Python, so the result of its check was lost."
        )
        return Feedback("failed", head, message)
    line = re.search(rf'File "[^"]*{re.escape(path.name)}", line (\d+)', stack)
    details = line_details(path, int(line[1]) if line else None)
    message = _("It was stopped because it was still running. Is there an endless loop?")
    head = _("{file} took too long").format(file=path.name)
    return Feedback("failed", head, message, details)


def stopped_card(path: Path, error: BaseException, module: ModuleType) -> Feedback:
    """Return the card for a file that raised an error before its end."""
    if isinstance(error, SyntaxError):
        file = Path(error.filename or path)
        message = f"{type(error).__name__}: {error.msg}"
        head = _("{file} is not valid Python yet").format(file=file.name)
        return Feedback("failed", head, message, line_details(file, error.lineno))
    frames = traceback.extract_tb(error.__traceback__)
    number = next((f.lineno for f in reversed(frames) if f.filename == str(path)), None)
    message = "".join(traceback.format_exception_only(error)).strip() + own_name(error, module)
    head = _("{file} stopped before its end").format(file=path.name)
    return Feedback("failed", head, message, line_details(path, number))


def own_name(error: BaseException, module: ModuleType) -> str:
    """Return a sentence on the name that was meant, or on those the file defines, or ""."""
    if more := missing_name(error):
        return f"\n{more}"
    asked = getattr(error, "name", "") if isinstance(error, NameError) else ""
    own = [name for name, x in vars(module).items() if getattr(x, "__module__", "") == "__main__"]
    if own and asked in {exercise.name for exercise in ALL.values()}:
        message = _("The card asks for `{name}`; your file defines {others}.")
        return "\n" + message.format(name=asked, others=", ".join(f"`{x}`" for x in own))
    return ""


def unchecked_card(path: Path) -> Feedback:
    """Return the card for a file that ran but checked nothing."""
    exercise = ALL.get(answer_files.exercise_id(path.name))
    line = f'check({exercise.name}, "{exercise.id}")' if exercise else 'check(NAME, "ID")'
    message = _("Its last line should be `{line}`, not indented.").format(line=line)
    footer = ""
    if exercise:
        footer = _('reset("{id}") brings back the stub and keeps this file.')
        footer = footer.format(id=exercise.id)
    head = _("{file} checked nothing").format(file=path.name)
    return Feedback("failed", head, message, footer=footer)


def keep_lines(path: Path, source: bytes) -> None:
    """Keep a file's lines for messages, which have to show what ran, not what was saved later."""
    lines = [line.decode(errors="replace") + "\n" for line in source.splitlines()]
    linecache.cache[str(path)] = (len(source), None, lines, str(path))


def line_details(path: Path, number: int | None) -> tuple[str, ...]:
    return (numbered_line(path, number),) if number else ()


def numbered_line(path: Path, number: int) -> str:
    """Return a line of the reader's file with its number."""
    label = _("line {number}").format(number=number)
    return f"{label}   {linecache.getline(str(path), number).strip()}".strip()
