"""Exercises, and a checker that names what the reader misunderstood.

check(function, "03.scale")     try an answer
hint("03.scale")                show the next of three hints
solution("03.scale")            show the reference, once you have tried
progress()                      show what you have passed
"""

import functools
import hashlib
import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from attnbook.exercises import kernel, log
from attnbook.exercises.cards.console import print_text, show_card
from attnbook.exercises.cards.feedback import SIGNS, Feedback
from attnbook.exercises.catalog import ALL, CHAPTERS, UsageError, find
from attnbook.exercises.checker import guard
from attnbook.exercises.checker.diagnose import diagnose
from attnbook.exercises.exercise import Exercise
from attnbook.language import _, ngettext

__all__ = ["check", "hint", "progress", "solution"]

_last_run = ("", 0)  # the last cell that asked for a hint, and the number of its run


def report_usage_error(command: Callable[..., None]) -> Callable[..., None]:
    """Make a function print the message of a UsageError instead of raising the error."""

    @functools.wraps(command)
    def wrapper(*arguments: Any, **options: Any) -> None:
        try:
            command(*arguments, **options)
        except UsageError as error:
            print_text(f"{command.__name__}: {error}")

    return wrapper


@report_usage_error
def check(function: Callable[..., Any] | None = None, exercise: str | None = None) -> None:
    """Try a function on the exercise's cases, and show a card with the result."""
    if guard.is_running.get():
        raise guard.CheckInsideAnswer
    if isinstance(function, str):  # check("03.scale", scale)
        wanted = find(function)
        message = _('the function comes first: check({name}, "{id}")')
        raise UsageError(message.format(name=wanted.name, id=wanted.id))
    wanted = find(exercise if exercise is not None or not callable(function) else function)
    if isinstance(function, type):
        message = _("{name} is a class: pass an object that can be called, or a method")
        raise UsageError(message.format(name=function.__name__))
    if not callable(function):
        message = _(
            'pass the function itself, without calling it: check({name}, "{id}"); this is {type}'
        )
        type_name = type(function).__name__
        raise UsageError(message.format(type=type_name, name=wanted.name, id=wanted.id))
    feedback = diagnose(wanted, function)
    if feedback.kind == "untouched":
        # Print a line instead of a card, because the output has to look the same everywhere.
        print_text(f"{SIGNS[feedback.kind]} {feedback.head}")
        return
    name = getattr(function, "__name__", "")
    namesakes = [e.id for e in ALL.values() if e.name == name != wanted.name]
    if feedback.kind == "failed" and namesakes:
        footer = _("`{name}` is what {exercises} asks for. {footer}").format(
            name=name, exercises=_(" and ").join(namesakes), footer=feedback.footer
        )
        feedback = replace(feedback, footer=footer)
    show_card(feedback, recorded(wanted, function, feedback))


def recorded(exercise: Exercise, function: Callable[..., Any], feedback: Feedback) -> str:
    """Add a try or a pass to the progress, and return the log's warning or "".

    A wrong answer counts once until it changes, however often its cell is run.
    """
    if feedback.kind == "passed":
        return log.record(exercise.id, "pass")
    mark = mark_of(function, feedback)
    if not feedback.counts or (mark and [mark] == log.marks(exercise.id, "try")[-1:]):
        return ""
    return log.record(exercise.id, "try", mark)


def mark_of(function: Callable[..., Any], feedback: Feedback) -> str:
    """Return a short hash of an answer and its result, or "" if the source cannot be read."""
    try:
        text = inspect.getsource(function) + feedback.message
    except (OSError, TypeError):
        return ""
    return hashlib.sha256(text.encode()).hexdigest()[:8]


@report_usage_error
def hint(exercise: str | None = None) -> None:
    """Show the next of the exercise's three hints; after the third, show all of them."""
    wanted = find(exercise)
    exercise = wanted.id
    n_shown, warning = next_hint(exercise)
    hints = tuple(map(_, wanted.hints))
    if n_shown >= len(hints):
        head = _("{id} all hints").format(id=exercise)
        show_card(Feedback("info", head, "\n".join(hints)), warning)
        return
    footer = _('That was the last hint; see solution("{id}").').format(id=exercise)
    if n_left := len(hints) - n_shown - 1:
        footer = ngettext('{n} more: hint("{id}").', '{n} more: hint("{id}").', n_left)
        footer = footer.format(n=n_left, id=exercise)
    head = _("{id} hint {n} of {total}").format(id=exercise, n=n_shown + 1, total=len(hints))
    show_card(Feedback("info", head, hints[n_shown], footer=footer), warning)


def next_hint(exercise: str) -> tuple[int, str]:
    """Return how many hints come before the one to show, and the log's warning or "".

    A cell shows its hint again, and goes on to the next one only if it runs twice in a row.
    """
    global _last_run
    cell, run = kernel.running_cell()
    cells = log.marks(exercise, "hint")
    in_a_row = _last_run[0] == cell and run - _last_run[1] <= 1
    _last_run = cell, run
    if cell in filter(None, cells) and not in_a_row:
        return len(cells) - 1 - cells[::-1].index(cell), ""
    return len(cells), log.record(exercise, "hint", cell)


@report_usage_error
def solution(exercise: str | None = None, insist: bool = False) -> None:
    """Show the reference, once you have tried or if you insist."""
    wanted = find(exercise)
    exercise = wanted.id
    events = log.read()[0][exercise]
    if not insist and not events["try"] and not events["pass"]:
        message = _(
            'Try it first: a wrong answer teaches more. Or use solution("{id}", insist=True).'
        )
        show_card(Feedback("info", wanted.head, message.format(id=exercise)))
        return
    warning = "" if events["solution"] else log.record(exercise, "solution")
    head = _("{id} one right answer").format(id=exercise)
    show_card(Feedback("info", head, details=(wanted.solution(),)), warning)


def progress() -> None:
    """Show which exercises you have passed, tried, or not attempted."""
    counts, warning = log.read()
    lines, passed, total = [], 0, 0
    for chapter, exercises in CHAPTERS.items():
        signs = [log.status_sign(counts[e.id]) for e in exercises]
        passed, total = passed + signs.count("●"), total + len(signs)
        entries = (f"{s}\N{NO-BREAK SPACE}{e.id}" for s, e in zip(signs, exercises, strict=True))
        lines.append(f"{_(chapter)}\n  {'  '.join(entries)}")
    message = _("{passed} of {total} passed.   ● passed   ◐ tried   ○ not attempted")
    message = message.format(passed=passed, total=total)
    footer = _("Kept in {path}").format(path=log.display_path())
    show_card(Feedback("info", _("Your progress"), message, tuple(lines), footer), warning)
