"""Check the answers in a folder whenever one is saved.

Their times are asked for four times a second: forty small questions, which work on every system,
for every editor, and on a network's drive, where a system's own notices do not arrive.
"""

import contextlib
import os
import threading
from queue import Empty, Queue

from rich.text import Text

from attnbook import exercises
from attnbook.exercises import desk, text
from attnbook.exercises.catalog import ALL
from attnbook.exercises.exercise import Exercise
from attnbook.exercises.runner import Runner, passed

PAUSE = 0.25  # seconds
WORDS = ("hint", "solution", "card", "progress", "next", "quit")


class Watch:
    """What a reader is at: an exercise, the files as they were last seen, and what was passed."""

    def __init__(self, exercise: Exercise) -> None:
        text.command = "{name}"  # what is typed here
        self.exercise: Exercise | None = exercise
        self.passed: set[str] = set()
        self.seen = self.checked = desk.saved()
        self.words: Queue[str] = Queue()
        self.runner = Runner()

    def run(self) -> None:
        """Go on until the reader ends it, or has passed everything."""
        threading.Thread(target=listen, args=(self.words,), daemon=True).start()
        try:
            self.turn_to(self.exercise)
            while self.exercise:
                try:
                    self.obey(self.words.get(timeout=PAUSE))
                except Empty:
                    self.look()
        except KeyboardInterrupt:
            text.say("")
        finally:
            self.runner.close()

    def turn_to(self, exercise: Exercise | None) -> None:
        """Show an exercise, and make its file if there is none."""
        self.exercise = exercise
        if not exercise:
            text.say("You have passed them all.")
            return
        new = desk.start(exercise)
        place = desk.place(exercise)
        text.say(desk.shown(exercise), f"\nYour file: {place.resolve()}")
        keys = "Save it, and it is checked. Or type hint, solution, card, progress, next or quit."
        text.say(Text(keys, "dim"))
        self.seen = self.checked = desk.saved()
        if not new:
            self.check(exercise)

    def look(self) -> None:
        """Check the file that was saved, once it is as it was a moment ago: no half of it."""
        before, self.seen = self.seen, desk.saved()
        changed = [e for e in self.seen if self.seen[e] != self.checked.get(e)]
        if changed and self.seen == before:
            self.checked = self.seen
            self.check(ALL[changed[0]])  # the one saved last

    def check(self, exercise: Exercise) -> None:
        """Run an answer; behind a right one comes the next exercise."""
        self.exercise = exercise
        place = desk.place(exercise)
        text.say(Text(f"\n── {place} ──", "dim"))
        results = self.runner.run(place)
        self.runner = Runner()
        if passed(results):
            self.passed |= {result.exercise for result in results}
            text.say("")
            self.turn_to(desk.upcoming(exercise.id, self.passed))

    def obey(self, typed: str) -> None:
        """Do what was typed: a word, or its beginning."""
        word, *more = typed.split() or [""]
        found = next((w for w in WORDS if word and w.startswith(word)), "")
        assert self.exercise
        if found == "hint":
            exercises.hint(self.exercise.id)
        elif found == "solution":
            exercises.solution(self.exercise.id, insist=bool(more))
        elif found == "card":
            text.say(desk.shown(self.exercise))
        elif found == "progress":
            exercises.progress()
        elif found == "next":
            self.turn_to(desk.upcoming(self.exercise.id, self.passed))
        elif found == "quit":
            self.exercise = None
        elif word:
            text.say(f"There is no {word!r}: type {', '.join(WORDS)}.")


def listen(words: "Queue[str]") -> None:
    """Hand on each line that is typed, until there are no more."""
    half = b""
    with contextlib.suppress(OSError):  # such as where there is no keyboard at all
        while typed := os.read(0, 1024):  # a thread that waits in sys.stdin would hold up the end
            *lines, half = (half + typed).split(b"\n")
            for line in lines:
                words.put(line.decode(errors="replace"))
        if os.isatty(0):
            words.put("quit")  # Ctrl-D
