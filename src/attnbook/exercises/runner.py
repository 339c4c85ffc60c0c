"""Run a reader's file in a process of its own, where it may loop, crash or leave as it likes.

The process is started before there is a file to run, since importing PyTorch takes a second.
"""

import faulthandler
import json
import linecache
import os
import re
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from attnbook import exercises
from attnbook.exercises import text
from attnbook.exercises.diagnose import diagnose
from attnbook.exercises.exercise import Exercise
from attnbook.exercises.feedback import Feedback, Kind

LOADING, CHECKING = 10.0, 60.0  # seconds that a file may take before its check, and a check
GROUP = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)  # Windows' word for a new session


class Result(NamedTuple):
    """What a check in the file said; of no exercise, that the file did not get to its end."""

    exercise: str
    kind: Kind


def passed(results: list[Result]) -> bool:
    """Whether there was a check, and nothing that was not right."""
    return bool(results) and all(result.kind == "passed" for result in results)


class Runner:
    """One process, for one file. It shows what the file prints, and the cards."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        limits = str(LOADING), str(CHECKING)
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, self._folder.name, *limits, text.command],
            stdin=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is for us: it would end in a traceback there
            creationflags=GROUP,
        )

    def run(self, path: Path) -> list[Result]:
        """Run the file to its end, and tell what its checks said."""
        try:
            self._process.communicate(os.fsencode(path.resolve()))
            return self._results(path)
        finally:
            self.close()

    def close(self) -> None:
        """End the process, whatever it is doing."""
        self._process.kill()
        self._process.communicate()
        self._folder.cleanup()

    def _results(self, path: Path) -> list[Result]:
        notes = self._read(NOTES).splitlines()
        results = [Result(*json.loads(note)) for note in notes if note != END]
        if END not in notes:
            text.say(text.card(self._died(path)))
            results.append(Result("", "failed"))
        return results

    def _died(self, path: Path) -> Feedback:
        """What is said of a file that was stopped, or that took the process down with it."""
        hung = self._read(STACK)
        if not hung:
            code = self._process.returncode
            return Feedback("failed", f"{path.name} ended Python (exit code {code})", ASIDE)
        line = re.search(rf'File "[^"]*{re.escape(path.name)}", line (\d+)', hung)
        details = (own_line(path, int(line[1])),) if line else ()
        says = "It was stopped, since it was still running: does a loop never end?"
        return Feedback("failed", f"{path.name} took too long", says, details)

    def _read(self, name: str) -> str:
        path = Path(self._folder.name, name)
        return path.read_text("utf-8", "replace") if path.exists() else ""


NOTES, STACK = "notes", "stack"  # files: what the checks said, and where a file was stopped
END = "end"  # the last note of a file that left Python alone
ASIDE = "Something in it leaves Python or crashes it, so that its check was not heard."


# --- in the process --------------------------------------------------------------------------


def main(folder: str, loading: str, checking: str, command: str) -> int:
    """Wait for a file's name, run the file, and note what its checks say."""
    text.command = command
    path = Path(os.fsdecode(sys.stdin.buffer.read()))
    if not path.name:
        return 0  # nobody needs it any more
    with (
        open(Path(folder, NOTES), "w", encoding="utf-8") as notes,
        open(Path(folder, STACK), "w") as stack,
    ):

        def stop_after(seconds: str) -> None:
            faulthandler.dump_traceback_later(float(seconds), exit=True, file=stack)

        def heard(exercise: Exercise, function: Any) -> Feedback:
            stop_after(checking)
            feedback = diagnose(exercise, function)
            print(json.dumps([exercise.id, feedback.kind]), file=notes, flush=True)
            stop_after(loading)
            return feedback

        vars(exercises)["diagnose"] = heard  # whom `check` asks
        stop_after(loading)
        complaint = complaint_about(path)
        faulthandler.cancel_dump_traceback_later()
        if not complaint and not notes.tell():
            says = 'Its last line should be a check, such as `check(scores, "03.scores")`.'
            complaint = Feedback("failed", f"{path.name} checked nothing", says)
        if complaint:
            text.say(text.card(complaint))
            print(json.dumps(["", "failed"]), file=notes)
        print(END, file=notes)
    return 0


def complaint_about(path: Path) -> Feedback | None:
    """Run the file as `python FILE` would; what is said if it does not get to its end."""
    module = sys.modules["__main__"] = ModuleType("__main__")
    module.__file__ = str(path)
    sys.argv, sys.path[0] = [str(path)], str(path.parent)
    try:
        exec(compile(path.read_bytes(), path, "exec"), module.__dict__)
    except SyntaxError as error:
        where = Path(error.filename or path)
        says = f"{type(error).__name__}: {error.msg}"
        return Feedback("failed", f"{where.name} is no Python yet", says, own(where, error.lineno))
    except BaseException as error:  # whatever it raises, SystemExit too
        frames = traceback.extract_tb(error.__traceback__)
        line = next((f.lineno for f in reversed(frames) if f.filename == str(path)), None)
        says = "".join(traceback.format_exception_only(error)).strip()
        return Feedback("failed", f"{path.name} stopped before its end", says, own(path, line))
    return None


def own(path: Path, number: int | None) -> tuple[str, ...]:
    return (own_line(path, number),) if number else ()


def own_line(path: Path, number: int) -> str:
    """A line of the reader's file, with its number."""
    return f"line {number}   {linecache.getline(str(path), number).strip()}".strip()


if __name__ == "__main__":
    sys.exit(text.quietly(lambda: main(*sys.argv[1:])))
