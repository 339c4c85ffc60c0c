"""Where the reader stands: a log in the user's own data folder. Nothing is sent anywhere.

A line is added for each try, pass, hint and solution, and no line is ever changed, so that two
notebooks can write at once and a damaged line costs no other: each begins with the line's end.
"""

import json
import os
from collections import Counter, defaultdict
from pathlib import Path
from typing import Literal

import platformdirs

Event = Literal["try", "pass", "hint", "solution"]


def path() -> Path:
    """The log: in ATTNBOOK_PROGRESS if that is set, else in the user's data folder."""
    folder = os.environ.get("ATTNBOOK_PROGRESS") or platformdirs.user_data_dir("attnbook", False)
    return Path(folder) / "progress.jsonl"


def record(exercise: str, event: Event) -> str:
    """Add a line. Returns "" or, if it could not be kept, one line that says why."""
    line = "\n" + json.dumps({"exercise": exercise, "event": event})
    try:
        path().parent.mkdir(parents=True, exist_ok=True)
        with path().open("ab", buffering=0) as file:
            file.write(line.encode())  # one write: lines of two writers do not mix
    except OSError as error:
        return f"Your progress was not kept: {path()}: {error.strerror or error}."
    return ""


def read() -> tuple[defaultdict[str, Counter[str]], str]:
    """How often each event happened to each exercise, and "" or one line on what was unreadable."""
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    try:
        lines = path().read_bytes().splitlines()
    except FileNotFoundError:
        return counts, ""
    except OSError as error:
        return counts, f"Your progress cannot be read: {path()}: {error.strerror or error}."
    damaged = 0
    for line in lines:
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
            exercise, event = entry["exercise"], entry["event"]
        except (ValueError, KeyError, TypeError):
            damaged += 1
            continue
        counts[str(exercise)][str(event)] += 1
    if not damaged:
        return counts, ""
    what = "1 line is" if damaged == 1 else f"{damaged} lines are"
    return counts, f"{what} damaged in {path()} and left as found; the rest counts."
