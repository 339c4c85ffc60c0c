"""A teacher's table, made from the progress files of a class. Nothing is sent anywhere.

A reader's name is that of the file or of its folder: anna.jsonl or anna/progress.jsonl.
"""

import csv
import io
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from rich.table import Table

from attnbook.exercises import log
from attnbook.exercises.catalog import ALL
from attnbook.language import _, ngettext

MAX_BYTES = 100_000_000  # larger files are not progress files
COLUMNS = ("reader", "exercise", "passed", "wrong tries", "hints", "solution seen")  # in the CSV
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

    Raises:  OSError if the file cannot be read or is larger than MAX_BYTES
    """
    if path.stat().st_size > MAX_BYTES:
        raise OSError(_("it is too large for a progress file"))
    return log.parse(path.read_bytes())


def reader_name(path: Path) -> str:
    """Return the reader's name: the folders, and the file's name unless it is "progress"."""
    parts = [*path.parts[:-1], path.stem]
    return "/".join(parts[:-1] if len(parts) > 1 and parts[-1] == "progress" else parts)


def rows(readers: Readers) -> Iterator[tuple[str, str, int, int, int, int]]:
    """Yield a row for each reader and exercise, in the order of the book."""
    for name, counts in readers.items():
        for exercise in ALL:
            n = counts[exercise]
            hints = min(n["hint"], len(ALL[exercise].hints))
            yield name, exercise, int(n["pass"] > 0), n["try"], hints, int(n["solution"] > 0)


def csv_table(readers: Readers) -> str:
    """Return all rows as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")  # so names with "\r" or "\n" are in quotes
    writer.writerow(COLUMNS)
    for name, *numbers in rows(readers):
        writer.writerow([f"'{name}" if name.startswith(BEFORE_FORMULAS) else name, *numbers])
    return text.getvalue().replace("\r\n", "\n")


def summary_table(readers: Readers) -> Table:
    """Return a table with a row of totals for each reader."""
    passed = _("passed of {total}").format(total=len(ALL))
    names = (_("reader"), passed, _("wrong tries"), _("hints"), _("solution seen"))
    sums = Table(*names, box=None, header_style="bold")
    for column in sums.columns[1:]:
        column.justify = "right"
    for name in readers:
        numbers = [row[2:] for row in rows({name: readers[name]})]
        sums.add_row(name, *(str(sum(column)) for column in zip(*numbers, strict=True)))
    return sums
