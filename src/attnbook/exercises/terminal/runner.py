"""Run a reader's file in a separate process, where an endless loop or a crash does no harm.

The process starts before there is a file to run, because importing PyTorch takes a second.
"""

import ctypes
import faulthandler
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from attnbook import exercises
from attnbook.exercises.cards import as_text, console
from attnbook.exercises.cards.feedback import Feedback, Kind
from attnbook.exercises.checker.diagnose import diagnose
from attnbook.exercises.exercise import Exercise
from attnbook.exercises.terminal.file_cards import (
    crash_card,
    keep_lines,
    stopped_card,
    unchecked_card,
)

LOAD_SECONDS, CHECK_SECONDS = 10.0, 60.0  # limits: for code outside checks, and for a check
PR_SET_PDEATHSIG = 1  # from Linux's sys/prctl.h: request a signal when the parent ends
NEW_GROUP = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)  # on Windows, like a new session


class Result(NamedTuple):
    """The result of a check in the file; if `exercise` is "", the file failed as a whole."""

    exercise: str
    kind: Kind


def all_passed(results: list[Result]) -> bool:
    """Return whether there was at least one check and every check passed."""
    return bool(results) and all(result.kind == "passed" for result in results)


class Runner:
    """A process for one file. It shows what the file prints, and the cards."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        limits = str(LOAD_SECONDS), str(CHECK_SECONDS)
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, self._folder.name, *limits, as_text.command_template],
            stdin=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C in the process would print a traceback
            creationflags=NEW_GROUP,
        )

    def run(self, path: Path) -> list[Result]:
        """Run the file, as it is now, and return the results of its checks.

        Raises:  OSError if the file cannot be read
        """
        path = path.resolve()
        try:
            source = path.read_bytes()
            keep_lines(path, source)
            Path(self._folder.name, SOURCE_FILE).write_bytes(source)
            with suppress(OSError):  # if the process has ended
                assert self._process.stdin
                self._process.stdin.write(os.fsencode(path) + b"\0")
                self._process.stdin.flush()  # stdin stays open: see `end_with_parent`
            self._process.wait()
            return self._results(path)
        finally:
            self.close()

    def close(self) -> None:
        """End the process, and remove its folder."""
        end(self._process)
        self._folder.cleanup()

    def _results(self, path: Path) -> list[Result]:
        lines = self._read(RESULTS_FILE).splitlines()
        results = [Result(*json.loads(line)) for line in lines if line != END]
        if END not in lines:
            code = self._process.returncode
            console.print_text(as_text.card(crash_card(path, self._read(STACK_FILE), code)))
            results.append(Result("", "failed"))
        return results

    def _read(self, name: str) -> str:
        path = Path(self._folder.name, name)
        return path.read_text("utf-8", "replace") if path.exists() else ""


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill a process with a session of its own and, except on Windows, those that it started."""
    process.kill()
    if os.name == "posix":
        with suppress(ProcessLookupError, PermissionError):  # nothing is left
            os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


SOURCE_FILE = "source"  # the reader's file as it was read
RESULTS_FILE, STACK_FILE = "results", "stack"  # the checks' results; the stack of a stopped file
END = "end"  # the last line of the results, unless Python was stopped or crashed


# --- in the process --------------------------------------------------------------------------


def main(folder: str, loading: str, checking: str, command: str) -> int:
    """Wait for a file's path on stdin, and check the file."""
    path = read_path()
    if not path.name:
        return 0  # the process was not needed
    end_with_parent()
    as_text.command_template = command
    if sys.stdout:
        sys.stdout = Output(sys.stdout.buffer, sys.stdout.encoding, line_buffering=True)
    check_file(path, Path(folder), float(loading), float(checking))
    return 0


def check_file(path: Path, folder: Path, loading: float, checking: float) -> None:
    """Run the file's source, and write the results of its checks, within these time limits."""
    with (
        open(folder / RESULTS_FILE, "w", encoding="utf-8") as results,
        open(folder / STACK_FILE, "w") as stack,
    ):

        def stop_after(seconds: float) -> None:
            faulthandler.dump_traceback_later(seconds, exit=True, file=stack)

        def diagnose_and_record(exercise: Exercise, function: Any) -> Feedback:
            stop_after(checking)
            feedback = diagnose(exercise, function)
            print(json.dumps([exercise.id, feedback.kind]), file=results, flush=True)
            stop_after(loading)
            return feedback

        vars(exercises)["diagnose"] = diagnose_and_record  # the name that `check` calls
        stop_after(loading)
        error_card = run_file(path, (folder / SOURCE_FILE).read_bytes())
        faulthandler.cancel_dump_traceback_later()
        if not error_card and not results.tell():
            error_card = unchecked_card(path)
        if error_card:
            console.print_text(as_text.card(error_card))
            print(json.dumps(["", "failed"]), file=results)
        print(END, file=results)


def read_path() -> Path:
    """Read the path from stdin; return an empty one if stdin is closed instead."""
    name = b""
    while not name.endswith(b"\0"):
        if not (more := os.read(0, 4096)):
            return Path()
        name += more
    return Path(os.fsdecode(name[:-1]))


def end_with_parent() -> None:
    """End this process once the other end of stdin is closed, and give the file an empty stdin.

    While a C function holds the GIL, the thread cannot end the process. On Linux, a signal can;
    on other systems, the process runs until LOAD_SECONDS or CHECK_SECONDS are over.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    stdin = os.dup(0)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)

    def wait() -> None:
        os.read(stdin, 1)
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


class Output(io.TextIOWrapper):
    """A stdout that the reader's file cannot close, because the card has to be printed to it."""

    def close(self) -> None:
        """Flush the stream, but leave it open."""
        self.flush()


def run_file(path: Path, source: bytes) -> Feedback | None:
    """Run a file's source as `python FILE` would; return a card if it does not run to its end."""
    keep_lines(path, source)
    module = sys.modules["__main__"] = ModuleType("__main__")
    module.__file__ = str(path)
    sys.argv, sys.path[0] = [str(path)], str(path.parent)
    try:
        exec(compile(source, path, "exec"), module.__dict__)
    except BaseException as error:  # the file may raise anything, even SystemExit
        return stopped_card(path, error, module)
    return None


if __name__ == "__main__":
    sys.exit(console.ignore_broken_pipe(lambda: main(*sys.argv[1:])))
