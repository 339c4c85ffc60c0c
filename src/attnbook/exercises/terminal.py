"""The exercises in a terminal: a command for each thing that a reader does in a notebook."""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from attnbook import exercises
from attnbook.exercises import desk, log, report, text
from attnbook.exercises.catalog import ALL, CHAPTERS, find
from attnbook.exercises.exercise import Exercise
from attnbook.exercises.runner import Runner, passed
from attnbook.exercises.watch import Watch

PROGRAM = "python -m attnbook"


class Problem(Exception):
    """Something that whoever typed the command has to mend, said in one line."""


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line."""

    def error(self, message: str) -> NoReturn:
        raise Problem(f"{message} ({self.prog} -h says what there is)")


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line says. Returns 0, or 1 if an answer is not right, or 2 for misuse."""
    text.command = PROGRAM + " {name} {exercise}"
    try:
        given = vars(parser().parse_args(arguments))
        return given.pop("run")(**given) or 0
    except BrokenPipeError:
        raise
    except (Problem, OSError) as error:
        what = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) else error
        print(f"attnbook: {what}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    finally:
        text.command = ""


def parser() -> Parser:
    """What can be typed, in the order in which a reader comes to need it."""
    every = Parser(
        prog=PROGRAM,
        description=__doc__,
        epilog="An ID is such as 03.scores. Without one, the exercise is meant whose file in this "
        "folder was saved last, or else the next one.",
    )
    every.set_defaults(run=every.print_help)
    commands = every.add_subparsers(title="commands", metavar="COMMAND")

    def command(name: str, run: Callable[..., int | None], which: str = "") -> Parser:
        says = str(run.__doc__)
        made = commands.add_parser(name, help=says[0].lower() + says[1:-1], description=says)
        made.set_defaults(run=run)
        if which:
            made.add_argument("which", nargs="?", default="", metavar=which)
        return made

    command("next", show_next)
    command("start", start, "ID")
    command("watch", watch, "ID")
    command("check", check, "ID|FILE")
    command("hint", hint, "ID")
    command("solution", solution, "ID").add_argument(
        "--insist", action="store_true", help="before you have tried"
    )
    command("card", card, "ID")
    command("progress", progress)
    command("list", list_all)
    class_ = command("report", report_class)
    class_.add_argument("folder", type=Path, metavar="FOLDER")
    class_.add_argument("-o", "--output", type=Path, metavar="FILE", help="write the table there")
    return every


def at_hand(which: str, started: bool = True) -> Exercise:
    """The exercise that is meant."""
    if which:
        try:
            return find(desk.named(which))
        except LookupError as error:
            raise Problem(error.args[0]) from None
    latest = next(iter(desk.saved()), "") if started else ""
    exercise = find(latest) if latest else desk.upcoming()
    if not exercise:
        raise Problem("you have passed them all: name an exercise")
    return exercise


# --- the commands ----------------------------------------------------------------------------


def show_next() -> None:
    """Show the first exercise that you have not passed."""
    exercise = desk.upcoming()
    if exercise:
        text.say(desk.shown(exercise), f"\nTo answer it: {PROGRAM} start {exercise.id}")
    else:
        text.say("You have passed them all.")
    note_damage()


def start(which: str) -> None:
    """Write the file for your answer into this folder, unless it is there."""
    exercise = at_hand(which, started=False)
    written = desk.start(exercise)
    place = desk.place(exercise)
    where = "Your file" if written else "Your file was here, and stays as it is"
    text.say(
        desk.shown(exercise),
        f"\n{where}: {place.resolve()}",
        f"Check it: {PROGRAM} check {place}",
        f"Or at each save: {PROGRAM} watch {place}",
    )


def watch(which: str) -> None:
    """Check your answer at each save, and go on to the next exercise after a pass."""
    Watch(at_hand(which)).run()


def check(which: str) -> int:
    """Run the file of your answer, and tell what the checker sees."""
    path = Path(which)
    if not which or not path.is_file():
        exercise = at_hand(which)
        path = desk.place(exercise)
        if not path.is_file():
            raise Problem(f"{path} is not here; {PROGRAM} start {exercise.id} writes it")
    results = Runner().run(path)
    if not passed(results):
        return 1
    if following := desk.upcoming(after=results[-1].exercise):
        text.say(f"\nThe next one: {PROGRAM} start {following.id}")
    return 0


def hint(which: str) -> None:
    """Give the next hint."""
    exercises.hint(at_hand(which).id)


def solution(which: str, insist: bool) -> None:
    """Show one right answer, once you have tried."""
    exercises.solution(at_hand(which).id, insist)


def card(which: str) -> None:
    """Show what an exercise asks, and what you start from."""
    exercise = at_hand(which)
    text.say(desk.shown(exercise), "", text.code(exercise.stub.strip()))


def progress() -> None:
    """Show where you stand, and where that is kept."""
    exercises.progress()


def list_all() -> None:
    """Show all exercises, chapter by chapter."""
    counts, _ = log.read()
    for chapter, found in CHAPTERS.items():
        table = Table.grid(padding=(0, 1))
        table.add_column()
        table.add_column(min_width=max(map(len, ALL)))
        for e in found:
            facts = f"{'★' * e.level:3} {e.minutes:2} min" if text.width() >= 60 else "★" * e.level
            table.add_row(log.sign(counts[e.id]), e.id, facts, e.title)
        text.say(Group(Text(chapter, "bold"), Padding(table, (0, 0, 0, 2))))
    note_damage()


def report_class(folder: Path, output: Path | None) -> int:
    """For a teacher: a table of who passed what, from a folder of readers' progress files."""
    readers, skipped = report.collect(folder)
    for line in skipped:
        print(f"attnbook: {line}", file=sys.stderr)
    if not readers:
        raise Problem(f"{folder} holds no progress file")
    if output:
        output.write_text(report.table(readers), "utf-8-sig", newline="")  # the mark is for Excel
        text.say(report.overview(readers))
    else:
        text.put(report.table(readers))
    return 1 if skipped else 0


def note_damage() -> None:
    """Say so if lines of the progress file cannot be read."""
    if trouble := log.read()[1]:
        text.say(trouble)
