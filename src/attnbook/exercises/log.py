"""The reader's progress: a log in the user's own data folder. Nothing is sent anywhere.

Each try, pass, hint and solution adds a line, and no line is ever changed, so two notebooks can
write at the same time. Each entry begins with a line break, so a damaged line does not spoil any
other. A cell that runs again adds nothing: it is recognized by the mark of a try, a hash of the
answer, or of a hint, the id of the cell.
"""

import contextlib
import json
import os
import re
from collections import Counter, defaultdict
from pathlib import Path
from typing import Literal

import platformdirs

from attnbook.language import _, ngettext

Event = Literal["try", "pass", "hint", "solution"]
Counts = defaultdict[str, Counter[str]]  # for each exercise, how often each event happened

_unwritten: defaultdict[Path, bytes] = defaultdict(bytes)  # entries that could not be written yet


def path() -> Path:
    """Return the log's path, in the folder named by ATTNBOOK_PROGRESS or the user's data folder.

    The name may contain ~ or variables such as $USER, so one setting can serve a whole class.
    """
    folder = os.environ.get("ATTNBOOK_PROGRESS") or platformdirs.user_data_dir("attnbook", False)
    return Path(os.path.expanduser(os.path.expandvars(folder))) / "progress.jsonl"


def display_path() -> str:
    """Return the log's path with ~ for the user's home folder."""
    home = os.path.expanduser("~")
    return re.sub(f"^{re.escape(home)}(?=[/\\\\])", "~", str(path()))


def record(exercise: str, event: Event, mark: str = "") -> str:
    """Add a line to the log.

    If the line cannot be written, it still counts in this program and is written with the next one.
    Returns a one-line warning for the first entry that cannot be written, else "".
    """
    log = path()
    fields = {"exercise": exercise, "event": event} | ({"mark": mark} if mark else {})
    entry = ("\n" + json.dumps(fields)).encode()
    entries = _unwritten[log] + entry
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab", buffering=0) as file:
            n_bytes = file.write(entries)  # one write, so that lines from two programs do not mix
        reason = "" if n_bytes == len(entries) else _("the disk is full")
    except OSError as error:
        reason = str(error.strerror or error)
    is_first = not _unwritten[log]
    _unwritten[log] = entries if reason else b""
    if not reason or not is_first:
        return ""
    return _(
        "Your progress counts only until this program ends, since {log} cannot be written: "
        "{reason}. ATTNBOOK_PROGRESS can name another folder."
    ).format(log=log, reason=reason)


def read() -> tuple[Counts, str]:
    """Return how often each event happened for each exercise, and a one-line warning or "".

    The warning says that the log cannot be read, or that some of its lines are damaged.
    """
    content, warning = contents()
    counts, n_damaged = parse(content)
    if n_damaged:
        warning = ngettext(
            "{n} line is damaged in {log} and ignored; the rest counts.",
            "{n} lines are damaged in {log} and ignored; the rest counts.",
            n_damaged,
        ).format(n=n_damaged, log=path())
    return counts, warning


def contents() -> tuple[bytes, str]:
    """Return the log, with what could not be written to it, and a one-line warning or ""."""
    log, content, warning = path(), b"", ""
    try:
        content = log.read_bytes()
    except FileNotFoundError:
        pass
    except OSError as error:
        message = _("Your progress cannot be read: {log}: {reason}.")
        warning = message.format(log=log, reason=error.strerror or error)
    return content + b"\n" + _unwritten[log], warning


def marks(exercise: str, event: Event) -> list[str]:
    """Return the mark of each such event of an exercise, in order, or "" for one without a mark."""
    found = []
    for line in contents()[0].splitlines():
        if exercise.encode() not in line:
            continue
        with contextlib.suppress(ValueError, KeyError, TypeError, RecursionError):  # damaged
            entry = json.loads(line)
            if (entry["exercise"], entry["event"]) == (exercise, event):
                found.append(str(entry.get("mark", "")))
    return found


def parse(content: bytes) -> tuple[Counts, int]:
    """Count the events and the damaged lines in a log's content."""
    counts: Counts = defaultdict(Counter)
    n_damaged = 0
    # A long log has few distinct lines, so each of those is parsed only once.
    for line, times in Counter(content.splitlines()).items():
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
            exercise, event = entry["exercise"], entry["event"]
        except (ValueError, KeyError, TypeError, RecursionError):
            n_damaged += times
            continue
        counts[str(exercise)][str(event)] += times
    return counts, n_damaged


def status_sign(events: Counter[str]) -> str:
    """Return the symbol that shows whether an exercise was passed, tried, or not attempted."""
    return "●" if events["pass"] else "◐" if events["try"] else "○"
