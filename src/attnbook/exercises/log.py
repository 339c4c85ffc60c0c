"""Where the reader stands: a log in the user's own data folder. Nothing is sent anywhere.

A line is added for each try, pass, hint and solution, and no line is ever changed, so that two
notebooks can write at once and a damaged line costs no other: each begins with the line's end.
"""

import json
import os
import re
from collections import Counter, defaultdict
from pathlib import Path
from typing import Literal

import platformdirs

Event = Literal["try", "pass", "hint", "solution"]
Counts = defaultdict[str, Counter[str]]  # of each exercise, how often each event happened

_unkept: defaultdict[Path, bytes] = defaultdict(bytes)  # what could not be written yet


def path() -> Path:
    """The log: in ATTNBOOK_PROGRESS if that is set, else in the user's data folder."""
    folder = os.environ.get("ATTNBOOK_PROGRESS") or platformdirs.user_data_dir("attnbook", False)
    return Path(os.path.expanduser(folder)) / "progress.jsonl"


def shown_path() -> str:
    """The log, as its owner would write it."""
    home = os.path.expanduser("~")
    return re.sub(f"^{re.escape(home)}(?=[/\\\\])", "~", str(path()))


def record(exercise: str, event: Event) -> str:
    """Add a line. Returns "" or, if it is the first that could not be kept, why, in one line."""
    log = path()
    news = _unkept[log] + ("\n" + json.dumps({"exercise": exercise, "event": event})).encode()
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab", buffering=0) as file:
            written = file.write(news)  # one write: lines of two writers do not mix
        reason = "" if written == len(news) else "the disk is full"
    except OSError as error:
        reason = str(error.strerror or error)
    first, _unkept[log] = not _unkept[log], news if reason else b""
    if not reason or not first:
        return ""
    return (
        f"Your progress counts only until this program ends, since {log} cannot be written: "
        f"{reason}. ATTNBOOK_PROGRESS can name another folder."
    )


def read() -> tuple[Counts, str]:
    """How often each event happened to each exercise, and "" or one line on what was unreadable."""
    log, trouble = path(), ""
    try:
        kept = log.read_bytes()
    except FileNotFoundError:
        kept = b""
    except OSError as error:
        kept, trouble = b"", f"Your progress cannot be read: {log}: {error.strerror or error}."
    counts, damaged = parse(kept + b"\n" + _unkept[log])
    if damaged:
        what = "1 line is" if damaged == 1 else f"{damaged} lines are"
        trouble = f"{what} damaged in {log} and left as found; the rest counts."
    return counts, trouble


def parse(content: bytes) -> tuple[Counts, int]:
    """What a log says, and how many of its lines are damaged."""
    counts: Counts = defaultdict(Counter)
    damaged = 0
    for line, times in Counter(content.splitlines()).items():  # few differ, however many there are
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
            exercise, event = entry["exercise"], entry["event"]
        except (ValueError, KeyError, TypeError, RecursionError):
            damaged += times
            continue
        counts[str(exercise)][str(event)] += times
    return counts, damaged


def sign(events: Counter[str]) -> str:
    """How an exercise stands: passed, tried, or not attempted."""
    return "●" if events["pass"] else "◐" if events["try"] else "○"
