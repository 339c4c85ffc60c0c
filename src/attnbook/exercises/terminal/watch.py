"""Check the answers in a folder whenever one is saved.

The files' save times are read four times a second. This method works on every system, with every
editor, and on network drives, where the operating system's own notifications do not arrive.
"""

import contextlib
import os
import threading
from queue import Empty, Queue

from rich.text import Text

from attnbook import exercises
from attnbook.exercises.cards import as_text, console
from attnbook.exercises.catalog import ALL
from attnbook.exercises.exercise import Exercise
from attnbook.exercises.terminal import answer_files
from attnbook.exercises.terminal.runner import Runner, all_passed
from attnbook.language import _

INTERVAL = 0.25  # seconds
COMMANDS = ("hint", "solution", "card", "progress", "reset", "next", "quit")


class Watcher:
    """The loop of `watch`: the current exercise, the files as last seen, and what has been passed.

    After a pass, `following` is the exercise that Enter opens.
    """

    def __init__(self, exercise: Exercise) -> None:
        as_text.command_template = "{name}"  # the reader types only the command's name here
        self.exercise: Exercise | None = exercise
        self.following: Exercise | None = None
        self.has_input = True
        self.passed: set[str] = set()
        self.seen_files = self.checked_files = answer_files.saved_files()
        self.commands: Queue[str | None] = Queue()
        self.runner = Runner()

    def run(self) -> None:
        """Check files and run commands until the reader quits or has passed everything."""
        threading.Thread(target=read_commands, args=(self.commands,), daemon=True).start()
        try:
            self.open_exercise(self.exercise)
            while self.exercise:
                try:
                    self.run_command(self.commands.get(timeout=INTERVAL))
                except Empty:
                    self.check_saved_file()
        except KeyboardInterrupt:
            console.print_text("")
        finally:
            self.runner.close()

    def open_exercise(self, exercise: Exercise | None) -> None:
        """Show an exercise's card; create its file, or check the file if it already exists."""
        self.exercise, self.following = exercise, None
        if not exercise:
            console.print_text(_("You have passed them all."))
            return
        is_new = answer_files.create(exercise)
        # before the card: the reader may save as soon as it is there
        self.seen_files = self.checked_files = answer_files.saved_files()
        path = answer_files.path_of(exercise).resolve()
        card = answer_files.card_text(exercise)
        console.print_text(card, "\n" + _("Your file: {path}").format(path=path))
        keys = _("It is checked when you save it. Or type {commands} or {last}.").format(
            commands=", ".join(COMMANDS[:-1]), last=COMMANDS[-1]
        )
        console.print_text(Text(keys, "dim"))
        if not is_new:
            self.check(exercise)

    def check_saved_file(self) -> None:
        """Check the file that was saved last, once it has not changed since the previous call.

        An editor may still be writing a file that has changed.
        """
        before, self.seen_files = self.seen_files, answer_files.saved_files()
        if self.seen_files != before:
            return
        old, self.checked_files = self.checked_files, self.seen_files
        for missing in old.keys() - self.seen_files.keys():
            is_current = self.exercise is ALL[missing]
            message = _("{file} has disappeared.")
            if is_current:
                message = _("{file} has disappeared. Save it again, or type reset for its stub.")
            console.print_text(message.format(file=answer_files.path_of(ALL[missing])))
        changed = [e for e in self.seen_files if self.seen_files[e] != old.get(e)]
        if changed:
            self.check(ALL[changed[0]])

    def check(self, exercise: Exercise) -> None:
        """Run an exercise's file, and offer the next exercise after a pass."""
        self.exercise, self.following = exercise, None
        path = answer_files.path_of(exercise)
        console.print_text(Text(f"\n── {path} ──", "dim"))
        try:
            results = self.runner.run(path)
        except FileNotFoundError:  # the next check of the files reports this
            results = []
        self.runner = Runner()
        if all_passed(results):
            self.passed |= {result.exercise for result in results}
            console.print_text("")
            following = answer_files.next_exercise(exercise.id, self.passed)
            if following and self.has_input:
                self.following = following
                message = _("Press Enter for the next one: {id}")
                console.print_text(message.format(id=following.id))
            else:
                self.open_exercise(following)

    def run_command(self, line: str | None) -> None:
        """Run the command that the reader typed, perhaps abbreviated to its first letters.

        An empty line opens the following exercise; None means the end of the input.
        """
        self.has_input = self.has_input and line is not None
        if not line and self.following:
            self.open_exercise(self.following)
            return
        line = line or ""
        word, *options = line.split() or [""]
        command = next((c for c in COMMANDS if word and c.startswith(word)), "")
        assert self.exercise
        if command == "hint":
            exercises.hint(self.exercise.id)
        elif command == "solution":
            exercises.solution(self.exercise.id, insist=bool(options))
        elif command == "card":
            console.print_text(answer_files.card_text(self.exercise))
        elif command == "progress":
            exercises.progress()
        elif command == "reset":
            messages = answer_files.reset_messages(self.exercise)
            self.seen_files = self.checked_files = answer_files.saved_files()
            console.print_text(*messages)
        elif command == "next":
            self.open_exercise(answer_files.next_exercise(self.exercise.id, self.passed))
        elif command == "quit":
            self.exercise = None
        elif word:
            message = _("There is no command {word!r}: type {commands}.")
            console.print_text(message.format(word=word, commands=", ".join(COMMANDS)))


def read_commands(commands: "Queue[str | None]") -> None:
    """Put each line that the reader types into the queue.

    When the input ends, put "quit" if it came from a terminal, and None otherwise.
    """
    partial_line = b""
    last = None
    with contextlib.suppress(OSError):  # for example, if there is no keyboard
        # os.read, because a thread that waits in sys.stdin would delay the program's exit
        while data := os.read(0, 1024):
            *lines, partial_line = (partial_line + data).split(b"\n")
            for line in lines:
                commands.put(line.decode(errors="replace").strip())
        last = "quit" if os.isatty(0) else None  # Ctrl-D ends a terminal's input
    commands.put(last)
