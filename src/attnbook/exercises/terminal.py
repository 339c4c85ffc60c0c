"""The exercises in a terminal: a command for everything that a reader does in a notebook."""

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
from attnbook.exercises import answer_files, console, log, report
from attnbook.exercises.catalog import ALL, CHAPTERS, UsageError, find
from attnbook.exercises.exercise import Exercise
from attnbook.exercises.runner import Runner, all_passed
from attnbook.exercises.watch import Watcher

PROGRAM = "python -m attnbook"


class Parser(argparse.ArgumentParser):
    """A parser that raises UsageError instead of printing the usage."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} ({self.prog} -h lists the commands)")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line. Returns 0, 1 if an answer is not right, or 2 after a usage error."""
    console.command_template = PROGRAM + " {name} {exercise}"
    try:
        options = vars(parser().parse_args(arguments))
        return options.pop("run")(**options) or 0
    except BrokenPipeError:
        raise
    except (UsageError, OSError) as error:
        message = str(error)
        if isinstance(error, OSError):
            message = f"{error.filename}: {error.strerror}"
        print(f"attnbook: {message}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    finally:
        console.command_template = ""


def parser() -> Parser:
    """Return the parser, with its commands in the order in which a reader needs them."""
    parser = Parser(
        prog=PROGRAM,
        description=__doc__,
        epilog="An ID looks like 03.scores. Without one, a command applies to the exercise whose "
        "file in this folder was saved last, or else to the next one.",
    )
    parser.set_defaults(run=parser.print_help)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")

    def command(name: str, run: Callable[..., int | None], argument: str = "") -> Parser:
        description = str(run.__doc__)
        help_text = description[0].lower() + description[1:-1]
        subparser = commands.add_parser(name, help=help_text, description=description)
        subparser.set_defaults(run=run)
        if argument:
            subparser.add_argument("which", nargs="?", default="", metavar=argument)
        return subparser

    command("next", show_next)
    command("start", start, "ID")
    command("watch", watch, "ID")
    command("check", check, "ID|FILE")
    command("reset", reset, "ID")
    command("hint", hint, "ID")
    command("solution", solution, "ID").add_argument(
        "--insist", action="store_true", help="even before you have tried"
    )
    command("card", card, "ID")
    command("progress", progress)
    command("list", list_all)
    report_parser = command("report", report_class)
    report_parser.add_argument("folder", type=Path, metavar="FOLDER")
    report_parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="write the table there"
    )
    return parser


def requested_exercise(which: str, prefer_saved: bool = True) -> Exercise:
    """Return the exercise with this id or file name.

    Without one, it is the exercise whose file was saved last (with `prefer_saved`), or else the
    first that is not passed.

    Raises:  UsageError if there is no such exercise, or if all are passed
    """
    if which:
        return find(answer_files.exercise_id(which))
    latest = next(iter(answer_files.saved_files()), "") if prefer_saved else ""
    exercise = find(latest) if latest else answer_files.next_exercise()
    if not exercise:
        raise UsageError("you have passed them all: name an exercise")
    return exercise


# --- commands: the docstring of each is its help text ----------------------------------------


def show_next() -> None:
    """Show the first exercise that you have not passed."""
    exercise = answer_files.next_exercise()
    if exercise:
        console.print_text(
            answer_files.card_text(exercise),
            f"\nTo answer it: {PROGRAM} start {exercise.id}",
        )
    else:
        console.print_text("You have passed them all.")
    print_log_warning()


def start(which: str) -> None:
    """Create the file for your answer in this folder, unless it exists."""
    exercise = requested_exercise(which, prefer_saved=False)
    is_new = answer_files.create(exercise)
    path = answer_files.path_of(exercise)
    label = "Your file" if is_new else "Your file already exists and was not changed"
    console.print_text(
        answer_files.card_text(exercise),
        f"\n{label}: {path.resolve()}",
        f"Check it: {PROGRAM} check {path}",
        f"Or check at each save: {PROGRAM} watch {path}",
    )


def reset(which: str) -> None:
    """Restore the stub of an exercise; your old answer is kept in a file beside it."""
    exercise = requested_exercise(which)
    console.print_text(*answer_files.reset_messages(exercise))


def watch(which: str) -> None:
    """Check your answer at each save, and go on to the next exercise after a pass."""
    Watcher(requested_exercise(which)).run()


def check(which: str) -> int:
    """Run the file with your answer, and show the checker's verdict."""
    path = Path(which)
    if not which or not path.is_file():
        exercise = requested_exercise(which)
        path = answer_files.path_of(exercise)
        if not path.is_file():
            raise UsageError(
                f"{path} does not exist here; {PROGRAM} start {exercise.id} creates it"
            )
    results = Runner().run(path)
    if not all_passed(results):
        return 1
    if following := answer_files.next_exercise(after=results[-1].exercise):
        console.print_text(f"\nThe next one: {PROGRAM} start {following.id}")
    return 0


def hint(which: str) -> None:
    """Give the next hint."""
    exercises.hint(requested_exercise(which).id)


def solution(which: str, insist: bool) -> None:
    """Show one right answer, once you have tried."""
    exercises.solution(requested_exercise(which).id, insist)


def card(which: str) -> None:
    """Show an exercise's task and its stub."""
    exercise = requested_exercise(which)
    console.print_text(
        answer_files.card_text(exercise), "", console.format_code(exercise.stub.strip())
    )


def progress() -> None:
    """Show your progress, and where it is kept."""
    exercises.progress()


def list_all() -> None:
    """Show all exercises, chapter by chapter."""
    counts, _ = log.read()
    for chapter, chapter_exercises in CHAPTERS.items():
        table = Table.grid(padding=(0, 1))
        table.add_column()
        table.add_column(min_width=max(map(len, ALL)))
        for e in chapter_exercises:
            stars = "★" * e.level
            facts = f"{stars:3} {e.minutes:2} min" if console.width() >= 60 else stars
            table.add_row(log.status_sign(counts[e.id]), e.id, facts, e.title)
        console.print_text(Group(Text(chapter, "bold"), Padding(table, (0, 0, 0, 2))))
    print_log_warning()


def report_class(folder: Path, output: Path | None) -> int:
    """For teachers: a table of results, from a folder of readers' progress files."""
    readers, warnings = report.collect(folder)
    for warning in warnings:
        print(f"attnbook: {warning}", file=sys.stderr)
    if not readers:
        raise UsageError(f"{folder} contains no progress file")
    if output:
        # with the byte order mark that Excel needs
        output.write_text(report.csv_table(readers), "utf-8-sig", newline="")
        console.print_text(report.summary_table(readers))
    else:
        console.write(report.csv_table(readers))
    return 1 if warnings else 0


def print_log_warning() -> None:
    """Print a warning if the progress file, or lines of it, cannot be read."""
    if warning := log.read()[1]:
        console.print_text(warning)
