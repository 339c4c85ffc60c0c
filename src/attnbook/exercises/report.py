"""A table for a teacher, from the progress files that readers handed in. Nothing is sent anywhere.

A reader is named by the file, or by its folder: anna.jsonl, or anna/progress.jsonl.
"""

import csv
import io
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from rich.table import Table

from attnbook.exercises import log
from attnbook.exercises.catalog import ALL

LARGEST = 100_000_000  # bytes: no progress file is
COLUMNS = ("reader", "exercise", "passed", "wrong tries", "hints", "solution seen")
Readers = dict[str, log.Counts]


def collect(folder: Path) -> tuple[Readers, list[str]]:
    """Each reader's counts, and a line on each file that is none, or not wholly.

    Raises:  OSError if there is no such folder
    """
    os.listdir(folder)
    readers: Readers = {}
    complaints = []

    def left_out(path: str | Path, why: object) -> None:
        complaints.append(f"{Path(path).relative_to(folder)} was left out: {why}")

    for path in files(folder, lambda error: left_out(error.filename, error.strerror)):
        try:
            counts, damaged = read(path)
        except OSError as error:
            left_out(path, error.strerror or error)
            continue
        if not any(counts[known].total() for known in ALL):
            left_out(path, "it is no progress file")
            continue
        name = path.relative_to(folder)
        if damaged:
            complaints.append(f"{name} has {damaged} damaged lines, which are not counted")
        readers[reader(name)] = counts
    return readers, complaints


def files(folder: Path, unreadable: Callable[[OSError], None]) -> Iterator[Path]:
    """Every file below the folder, in the order of names, without hidden ones."""
    for here, folders, names in os.walk(folder, onerror=unreadable):
        folders.sort()
        yield from (Path(here, name) for name in sorted(names) if not name.startswith("."))


def read(path: Path) -> tuple[log.Counts, int]:
    if path.stat().st_size > LARGEST:
        raise OSError("it is too large for a progress file")
    return log.parse(path.read_bytes())


def reader(name: Path) -> str:
    """Who it is: the folders and the file's own name, unless that is the one every reader's has."""
    parts = [*name.parts[:-1], name.stem]
    return "/".join(parts[:-1] if len(parts) > 1 and parts[-1] == "progress" else parts)


def rows(readers: Readers) -> Iterator[tuple[str, str, int, int, int, int]]:
    """A row for each reader and exercise, in the order of the book."""
    for name, counts in readers.items():
        for exercise in ALL:
            c = counts[exercise]
            hints = min(c["hint"], len(ALL[exercise].hints))
            yield name, exercise, int(c["pass"] > 0), c["try"], hints, int(c["solution"] > 0)


def table(readers: Readers) -> str:
    """All rows, as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for name, *numbers in rows(readers):
        # A spreadsheet would compute a name that begins like a formula.
        writer.writerow([f"'{name}" if name.startswith(("=", "+", "-", "@")) else name, *numbers])
    return text.getvalue()


def overview(readers: Readers) -> Table:
    """Each reader's sums."""
    sums = Table("reader", f"passed of {len(ALL)}", *COLUMNS[3:], box=None, header_style="bold")
    for column in sums.columns[1:]:
        column.justify = "right"
    for name in readers:
        numbers = [row[2:] for row in rows({name: readers[name]})]
        sums.add_row(name, *(str(sum(column)) for column in zip(*numbers, strict=True)))
    return sums
