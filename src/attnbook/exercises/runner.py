"""Run a reader's file in a separate process, where an endless loop or a crash does no harm.

The process is started before there is a file to run, because importing PyTorch takes a second.
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
from attnbook.exercises import console
from attnbook.exercises.diagnose import diagnose
from attnbook.exercises.exercise import Exercise
from attnbook.exercises.feedback import Feedback, Kind

LOAD_SECONDS, CHECK_SECONDS = 10.0, 60.0  # limits for the code around a check, and for a check
NEW_GROUP = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)  # a new session on Windows


class Result(NamedTuple):
    """The result of a check in the file; with exercise "", the file did not run to its end."""

    exercise: str
    kind: Kind


def all_passed(results: list[Result]) -> bool:
    """Return whether there was a check, and every check passed."""
    return bool(results) and all(result.kind == "passed" for result in results)


class Runner:
    """A process for one file. It shows what the file prints, and the cards."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        limits = str(LOAD_SECONDS), str(CHECK_SECONDS)
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, self._folder.name, *limits, console.command_template],
            stdin=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C there would print a traceback
            creationflags=NEW_GROUP,
        )

    def run(self, path: Path) -> list[Result]:
        """Run the file and return the results of its checks."""
        try:
            self._process.communicate(os.fsencode(path.resolve()))
            return self._results(path)
        finally:
            self.close()

    def close(self) -> None:
        """Kill the process."""
        self._process.kill()
        self._process.communicate()
        self._folder.cleanup()

    def _results(self, path: Path) -> list[Result]:
        lines = self._read(RESULTS_FILE).splitlines()
        results = [Result(*json.loads(line)) for line in lines if line != END]
        if END not in lines:
            console.print_text(console.card(self._crash_card(path)))
            results.append(Result("", "failed"))
        return results

    def _crash_card(self, path: Path) -> Feedback:
        """Return the card for a file that was stopped, or that ended the process."""
        stack = self._read(STACK_FILE)
        if not stack:
            code = self._process.returncode
            return Feedback("failed", f"{path.name} ended Python (exit code {code})", ENDED)
        line = re.search(rf'File "[^"]*{re.escape(path.name)}", line (\d+)', stack)
        details = (numbered_line(path, int(line[1])),) if line else ()
        message = "It was stopped, since it was still running: does a loop never end?"
        return Feedback("failed", f"{path.name} took too long", message, details)

    def _read(self, name: str) -> str:
        path = Path(self._folder.name, name)
        return path.read_text("utf-8", "replace") if path.exists() else ""


RESULTS_FILE, STACK_FILE = "results", "stack"  # the checks' results; the stack of a stopped file
END = "end"  # the last line of the results if Python was still running at the end
ENDED = "Something in it leaves Python or crashes it, so that its check was not heard."


# --- in the process --------------------------------------------------------------------------


def main(folder: str, loading: str, checking: str, command: str) -> int:
    """Wait for a file's path on stdin, run the file, and write the results of its checks."""
    console.command_template = command
    path = Path(os.fsdecode(sys.stdin.buffer.read()))
    if not path.name:
        return 0  # the process was not needed
    with (
        open(Path(folder, RESULTS_FILE), "w", encoding="utf-8") as results,
        open(Path(folder, STACK_FILE), "w") as stack,
    ):

        def stop_after(seconds: str) -> None:
            faulthandler.dump_traceback_later(float(seconds), exit=True, file=stack)

        def diagnose_and_record(exercise: Exercise, function: Any) -> Feedback:
            stop_after(checking)
            feedback = diagnose(exercise, function)
            print(json.dumps([exercise.id, feedback.kind]), file=results, flush=True)
            stop_after(loading)
            return feedback

        vars(exercises)["diagnose"] = diagnose_and_record  # which `check` calls
        stop_after(loading)
        error_card = run_file(path)
        faulthandler.cancel_dump_traceback_later()
        if not error_card and not results.tell():
            message = 'Its last line should be a check, such as `check(scores, "03.scores")`.'
            error_card = Feedback("failed", f"{path.name} checked nothing", message)
        if error_card:
            console.print_text(console.card(error_card))
            print(json.dumps(["", "failed"]), file=results)
        print(END, file=results)
    return 0


def run_file(path: Path) -> Feedback | None:
    """Run the file as `python FILE` would. Returns a card if it does not run to its end."""
    module = sys.modules["__main__"] = ModuleType("__main__")
    module.__file__ = str(path)
    sys.argv, sys.path[0] = [str(path)], str(path.parent)
    try:
        exec(compile(path.read_bytes(), path, "exec"), module.__dict__)
    except SyntaxError as error:
        file = Path(error.filename or path)
        message = f"{type(error).__name__}: {error.msg}"
        head = f"{file.name} is no Python yet"
        return Feedback("failed", head, message, line_details(file, error.lineno))
    except BaseException as error:  # the file may raise anything, even SystemExit
        frames = traceback.extract_tb(error.__traceback__)
        number = next((f.lineno for f in reversed(frames) if f.filename == str(path)), None)
        message = "".join(traceback.format_exception_only(error)).strip()
        head = f"{path.name} stopped before its end"
        return Feedback("failed", head, message, line_details(path, number))
    return None


def line_details(path: Path, number: int | None) -> tuple[str, ...]:
    return (numbered_line(path, number),) if number else ()


def numbered_line(path: Path, number: int) -> str:
    """Return a line of the reader's file with its number."""
    return f"line {number}   {linecache.getline(str(path), number).strip()}".strip()


if __name__ == "__main__":
    sys.exit(console.ignore_broken_pipe(lambda: main(*sys.argv[1:])))
