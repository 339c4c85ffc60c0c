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
from attnbook.exercises import log
from attnbook.exercises.cards import as_text, console
from attnbook.exercises.catalog import ALL, CHAPTERS, UsageError, find
from attnbook.exercises.exercise import Exercise
from attnbook.exercises.terminal import answer_files, examine_command, report
from attnbook.exercises.terminal.runner import Runner, all_passed
from attnbook.exercises.terminal.watch import Watcher
from attnbook.language import _

PROGRAM = "python -m attnbook"
argparse._ = _  # type: ignore[attr-defined]  # translates argparse's own messages


class Parser(argparse.ArgumentParser):
    """A parser that raises UsageError instead of printing its usage and exiting."""

    def error(self, message: str) -> NoReturn:
        if self.prog == PROGRAM:
            more = _("{message} ({program} -h lists the commands)")
        else:
            more = _("{message} ({program} -h lists the options)")
        raise UsageError(more.format(message=message, program=self.prog))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return 0, 1 (wrong answer or warnings), 2 (error) or 130 (interrupted)."""
    as_text.command_template = PROGRAM + " {name} {exercise}"
    try:
        found, unknown = parser().parse_known_args(arguments)
        options = vars(found)
        command = options.pop("parser")
        if unknown:
            message = _("unrecognized arguments: {arguments}")
            command.error(message.format(arguments=" ".join(unknown)))
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
        as_text.command_template = ""


def parser() -> Parser:
    """Return the parser, with its commands in the order in which a reader needs them."""
    parser = Parser(
        prog=PROGRAM,
        description=_(str(__doc__)),
        epilog=_(
            "An ID looks like 03.scores. Without one, a command applies to the exercise whose file "
            "in this folder was saved last, or else to the next one."
        ),
    )
    parser.set_defaults(run=parser.print_help, parser=parser)
    commands = parser.add_subparsers(title=_("commands"), metavar=_("COMMAND"))
    parsers = {}
    for name, (run, argument) in COMMANDS.items():
        description = _(str(run.__doc__))
        help_text = description[0].lower() + description[1:-1]
        parsers[name] = commands.add_parser(name, help=help_text, description=description)
        parsers[name].set_defaults(run=run, parser=parsers[name])
        if argument:
            parsers[name].add_argument("which", nargs="?", default="", metavar=argument)
    commands.add_parser("help", help=_("show this list of commands"))
    insist = _("even before you have tried")
    parsers["solution"].add_argument("--insist", action="store_true", help=insist)
    parsers["report"].add_argument("folder", type=Path, metavar="FOLDER")
    output = _("write a CSV file with a row for each reader and exercise")
    parsers["report"].add_argument("-o", "--output", type=Path, metavar="FILE", help=output)
    wide = _("write one row for each reader instead, for a gradebook")
    parsers["report"].add_argument("--wide", action="store_true", help=wide)
    chapter = _("count only the exercises of this chapter")
    parsers["report"].add_argument("--chapter", default="", metavar="N", help=chapter)
    examine_command.add_options(parsers["examine"])
    return parser


def requested_exercise(which: str, prefer_saved: bool = True) -> Exercise:
    """Return the exercise with this id or file name.

    Without an id or name, return the exercise whose file was saved last (with `prefer_saved`), or
    else the first that has not been passed.

    Raises:  UsageError if there is no such exercise, or if all have been passed
    """
    if which:
        return find(answer_files.exercise_id(which))
    latest = next(iter(answer_files.saved_files()), "") if prefer_saved else ""
    exercise = find(latest) if latest else answer_files.next_exercise()
    if not exercise:
        raise UsageError(_("you have passed them all: name an exercise"))
    return exercise


# --- commands: the docstring of each is its help text ----------------------------------------


def show_next() -> None:
    """Show the first exercise that you have not passed."""
    exercise = answer_files.next_exercise()
    if exercise:
        console.print_text(
            answer_files.card_text(exercise),
            "\n" + _("To answer it: {command}").format(command=f"{PROGRAM} start {exercise.id}"),
        )
    else:
        console.print_text(_("You have passed them all."))
    print_log_warning()


def start(which: str) -> None:
    """Create the file for your answer in this folder, unless it exists."""
    exercise = requested_exercise(which, prefer_saved=False)
    is_new = answer_files.create(exercise)
    path = answer_files.path_of(exercise)
    file = _("Your file: {path}")
    if not is_new:
        file = _("Your file already exists and was not changed: {path}")
    console.print_text(
        answer_files.card_text(exercise),
        "\n" + file.format(path=path.resolve()),
        _("Check it: {command}").format(command=f"{PROGRAM} check {path}"),
        _("Or check each time you save: {command}").format(command=f"{PROGRAM} watch {path}"),
    )


def reset(which: str) -> None:
    """Restore the stub of an exercise; your old answer is kept in a file beside it."""
    exercise = requested_exercise(which)
    console.print_text(*answer_files.reset_messages(exercise))


def watch(which: str) -> None:
    """Check your answer each time you save, and go on to the next exercise when it passes."""
    Watcher(requested_exercise(which)).run()


def check(which: str) -> int:
    """Run the file with your answer, and show the checker's verdict."""
    path = Path(which)
    if not which or not path.is_file():
        exercise = requested_exercise(which)
        path = answer_files.path_of(exercise)
        if not path.is_file():
            message = _("{file} does not exist here; {command} creates it")
            command = f"{PROGRAM} start {exercise.id}"
            raise UsageError(message.format(file=path, command=command))
    results = Runner().run(path)
    if not all_passed(results):
        return 1
    if following := answer_files.next_exercise(after=results[-1].exercise):
        command = f"{PROGRAM} start {following.id}"
        console.print_text("\n" + _("The next one: {command}").format(command=command))
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
        answer_files.card_text(exercise), "", as_text.format_code(exercise.reader_stub())
    )


def progress() -> None:
    """Show your progress, and where it is kept."""
    exercises.progress()


def list_all() -> None:
    """Show all exercises, chapter by chapter."""
    counts = log.read()[0]
    for chapter, chapter_exercises in CHAPTERS.items():
        table = Table.grid(padding=(0, 1))
        table.add_column()
        table.add_column(min_width=max(map(len, ALL)))
        for e in chapter_exercises:
            stars = "★" * e.level
            facts = stars
            if console.width() >= 60:
                minutes = _("{minutes:2} min").format(minutes=e.minutes)
                facts = f"{stars:3} {minutes}"
            table.add_row(log.status_sign(counts[e.id]), e.id, facts, _(e.title))
        console.print_text(Group(Text(_(chapter), "bold"), Padding(table, (0, 0, 0, 2))))
    print_log_warning()


def report_class(folder: Path, output: Path | None, wide: bool, chapter: str) -> int:
    """For teachers: tables of results, from a folder of readers' progress files."""
    if wide and not output:
        raise UsageError(_("--wide needs -o FILE, because the table is too wide for a screen"))
    chosen = [id for id in ALL if not chapter or id.startswith(f"{chapter.zfill(2)}.")]
    if not chosen:
        raise UsageError(_("there is no chapter {chapter}").format(chapter=chapter))
    readers, warnings = report.collect(folder)
    for warning in warnings:
        print(f"attnbook: {warning}", file=sys.stderr)
    if not readers:
        raise UsageError(_("{folder} contains no progress file").format(folder=folder))
    if output:
        table = report.wide_table if wide else report.long_table
        # with the byte order mark that Excel needs
        output.write_text(table(readers, chosen), "utf-8-sig", newline="")
    tables = report.reader_table(readers, chosen), report.exercise_table(readers, chosen)
    console.print_text(tables[0], "", tables[1])
    return 1 if warnings else 0


def print_log_warning() -> None:
    """Print a warning if the progress file, or some of its lines, cannot be read."""
    if warning := log.read()[1]:
        console.print_text(warning)


COMMANDS: dict[str, tuple[Callable[..., int | None], str]] = {  # name: (function, argument)
    "next": (show_next, ""),
    "start": (start, "ID"),
    "watch": (watch, "ID"),
    "check": (check, "ID|FILE"),
    "reset": (reset, "ID"),
    "hint": (hint, "ID"),
    "solution": (solution, "ID"),
    "card": (card, "ID"),
    "progress": (progress, ""),
    "list": (list_all, ""),
    "report": (report_class, ""),
    "examine": (examine_command.examine_target, ""),
}
