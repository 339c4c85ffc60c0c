"""A teacher's table, made from the progress files of a class. Nothing is sent anywhere.

A reader's name is that of the file or of its folder: anna.jsonl or anna/progress.jsonl.
"""

import codecs
import csv
import io
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from statistics import median

from rich.table import Table

from attnbook.exercises import log
from attnbook.exercises.catalog import ALL
from attnbook.language import _, ngettext

MAX_BYTES = 100_000_000  # larger files are not progress files
COLUMNS = (  # in the CSV
    "reader",
    "exercise",
    "passed",
    "wrong tries",
    "hints",
    "solution seen",
    "passed before solution",
)
# A spreadsheet would evaluate a cell that begins with one of these, so a quote is put before it.
BEFORE_FORMULAS = ("=", "+", "-", "@", "\t", "\r")
Readers = dict[str, log.Counts]


def collect(folder: Path) -> tuple[Readers, list[str]]:
    """Return each reader's counts, by name, and a warning for each skipped or damaged file.

    Raises:  OSError if there is no such folder
    """
    os.listdir(folder)
    readers: Readers = {}
    warnings = []

    def skip(path: str | Path, reason: object) -> None:
        relative = Path(path).relative_to(folder)
        warnings.append(_("{path} was skipped: {reason}").format(path=relative, reason=reason))

    for path in files(folder, lambda error: skip(error.filename, error.strerror)):
        try:
            counts, n_damaged = read(path)
        except OSError as error:
            skip(path, error.strerror or error)
            continue
        if not any(counts[known].total() for known in ALL):
            skip(path, _("it is not a progress file"))
            continue
        relative = path.relative_to(folder)
        if n_damaged:
            warning = ngettext(
                "{path} has {n} damaged line, which is not counted",
                "{path} has {n} damaged lines, which are not counted",
                n_damaged,
            )
            warnings.append(warning.format(path=relative, n=n_damaged))
        name = reader_name(relative)
        if name in readers:
            skip(path, _("there is another file for the reader {name}").format(name=name))
            continue
        readers[name] = counts
    by_name = sorted(readers.items(), key=lambda item: (item[0].casefold(), item[0]))
    return dict(by_name), warnings


def files(folder: Path, on_error: Callable[[OSError], None]) -> Iterator[Path]:
    """Yield every file below the folder, sorted by name, except hidden files."""
    for parent, folders, names in os.walk(folder, onerror=on_error):
        folders.sort()
        yield from (Path(parent, name) for name in sorted(names) if not name.startswith("."))


def read(path: Path) -> tuple[log.Counts, int]:
    """Count the events and the damaged lines in a progress file.

    Raises:  OSError if the file cannot be read, is larger than MAX_BYTES, or is an archive
    """
    if path.stat().st_size > MAX_BYTES:
        raise OSError(_("it is too large for a progress file"))
    content = path.read_bytes()
    if content.startswith(b"PK\x03\x04"):  # a zip file, which may contain readable lines
        raise OSError(_("it is an archive: unpack it first"))
    return log.parse(as_utf8(content))


def as_utf8(content: bytes) -> bytes:
    """Encode a text as UTF-8 without a mark: a shell or an editor may have written another one."""
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return content.decode("utf-16", "replace").encode()
    return content.removeprefix(codecs.BOM_UTF8)


def reader_name(path: Path) -> str:
    """Return the reader's name: the folders, and the file's name unless it is "progress"."""
    parts = [*path.parts[:-1], path.stem]
    return "/".join(parts[:-1] if len(parts) > 1 and parts[-1] == "progress" else parts)


def rows(
    readers: Readers, exercises: Sequence[str]
) -> Iterator[tuple[str, str, int, int, int, int, int]]:
    """Yield a row for each reader and exercise, in the order of the book: see COLUMNS."""
    for name, counts in readers.items():
        for exercise in exercises:
            n = counts[exercise]
            hints = min(n["hint"], len(ALL[exercise].hints))
            yield (
                name,
                exercise,
                int(n["pass"] > 0),
                n["try"],
                hints,
                int(n["solution"] > 0),
                int(passed_first(n)),
            )


def passed_first(events: Counter[str]) -> bool:
    """Return whether a reader passed before seeing the solution: a log keeps the order."""
    return next((event for event in events if event in ("pass", "solution")), "") == "pass"


def long_table(readers: Readers, exercises: Sequence[str]) -> str:
    """Return all rows as CSV."""
    return as_csv([COLUMNS, *rows(readers, exercises)])


def wide_table(readers: Readers, exercises: Sequence[str]) -> str:
    """Return CSV for a gradebook, with a row for each reader and a column for each exercise.

    A cell is 1 for an exercise that was passed, 0 for one that was tried, and empty otherwise.
    """
    signs = {"●": "1", "◐": "0", "○": ""}
    lines = [
        [name, *(signs[log.status_sign(counts[exercise])] for exercise in exercises)]
        for name, counts in readers.items()
    ]
    return as_csv([["reader", *exercises], *lines])


def as_csv(lines: Iterable[Sequence[object]]) -> str:
    """Format lines as CSV: the first has the columns' names, and each other a reader's name."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")  # so names with "\r" or "\n" are in quotes
    for name, *more in lines:
        is_formula = str(name).startswith(BEFORE_FORMULAS)
        writer.writerow([f"'{name}" if is_formula else name, *more])
    return text.getvalue().replace("\r\n", "\n")


def reader_table(readers: Readers, exercises: Sequence[str]) -> Table:
    """Return a table with a row of totals for each reader."""
    passed = _("passed of {total}").format(total=len(exercises))
    table = numbers_table(
        _("reader"),
        passed,
        _("wrong tries"),
        _("hints"),
        _("solution seen"),
        _("passed before solution"),
    )
    for name in readers:
        numbers = [row[2:] for row in rows({name: readers[name]}, exercises)]
        table.add_row(name, *(str(sum(column)) for column in zip(*numbers, strict=True)))
    return table


def exercise_table(readers: Readers, exercises: Sequence[str]) -> Table:
    """Return a table with a row for each exercise that somebody has tried: what was hard."""
    table = numbers_table(
        _("exercise"),
        _("tried by"),
        _("passed by"),
        _("wrong tries (median)"),
        _("hints"),
        _("solution seen"),
        _("passed before solution"),
    )
    for exercise in exercises:
        found = [row[2:] for row in rows(readers, [exercise])]
        tried = [row for row in found if row[0] or row[1]]
        if tried:
            passed, _tries, hints, seen, first = (
                sum(column) for column in zip(*found, strict=True)
            )
            tries = f"{median(row[1] for row in tried):g}"
            table.add_row(exercise, *map(str, (len(tried), passed, tries, hints, seen, first)))
    return table


def numbers_table(*names: str) -> Table:
    """Return an empty table with these columns, in which all but the first hold numbers."""
    table = Table(*names, box=None, header_style="bold")
    for column in table.columns[1:]:
        column.justify = "right"
    return table
