"""Exercises that check themselves and name what was misunderstood.

check(function, "03.scale")     try an answer
hint("03.scale")                show the next of three hints
solution("03.scale")            show the reference, once you have tried
progress()                      show what you have passed
"""

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from attnbook.exercises import guard, log
from attnbook.exercises.catalog import ALL, CHAPTERS, UsageError, find
from attnbook.exercises.console import print_text, show_card
from attnbook.exercises.diagnose import diagnose
from attnbook.exercises.feedback import SIGNS, Feedback

__all__ = ["check", "hint", "progress", "solution"]


def report_usage_error(command: Callable[..., None]) -> Callable[..., None]:
    """Make a function print the message of a UsageError instead of raising it."""

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
        raise UsageError(f'the function comes first: check({wanted.name}, "{wanted.id}")')
    wanted = find(exercise if exercise is not None or not callable(function) else function)
    if isinstance(function, type):
        raise UsageError(
            f"{function.__name__} is a class: pass an object that can be called, or a method"
        )
    if not callable(function):
        raise UsageError(
            f"pass the function itself; this is {type(function).__name__}: "
            f'check({wanted.name}, "{wanted.id}"), without calling it'
        )
    feedback = diagnose(wanted, function)
    if feedback.kind == "untouched":
        # A line instead of a card, because it has to look the same in every program.
        print_text(f"{SIGNS[feedback.kind]} {feedback.head}")
        return
    name = getattr(function, "__name__", "")
    namesakes = [e.id for e in ALL.values() if e.name == name != wanted.name]
    if feedback.kind == "failed" and namesakes:
        footer = f"`{name}` is what {' and '.join(namesakes)} asks for. {feedback.footer}"
        feedback = replace(feedback, footer=footer)
    show_card(feedback, log.record(wanted.id, "pass" if feedback.kind == "passed" else "try"))


@report_usage_error
def hint(exercise: str | None = None) -> None:
    """Show the next of the exercise's three hints; after the third, all of them."""
    wanted = find(exercise)
    exercise = wanted.id
    n_shown = log.read()[0][exercise]["hint"]
    warning = log.record(exercise, "hint")
    if n_shown >= len(wanted.hints):
        show_card(Feedback("info", f"{exercise} all hints", "", wanted.hints), warning)
        return
    n_left = len(wanted.hints) - n_shown - 1
    footer = (
        f"{n_left} more: call hint again."
        if n_left
        else f'That was the last hint; see solution("{exercise}").'
    )
    head = f"{exercise} hint {n_shown + 1} of {len(wanted.hints)}"
    show_card(Feedback("info", head, wanted.hints[n_shown], footer=footer), warning)


@report_usage_error
def solution(exercise: str | None = None, insist: bool = False) -> None:
    """Show the reference, once you have tried or if you insist."""
    wanted = find(exercise)
    exercise = wanted.id
    events = log.read()[0][exercise]
    if not insist and not events["try"] and not events["pass"]:
        message = (
            f'Try it first: a wrong answer teaches more. Or solution("{exercise}", insist=True).'
        )
        show_card(Feedback("info", f"{exercise} {wanted.title}", message))
        return
    warning = log.record(exercise, "solution")
    show_card(
        Feedback("info", f"{exercise} one right answer", details=(wanted.solution(),)), warning
    )


def progress() -> None:
    """Show which exercises you have passed, tried, or not attempted."""
    counts, warning = log.read()
    lines, passed, total = [], 0, 0
    for chapter, exercises in CHAPTERS.items():
        signs = [log.status_sign(counts[e.id]) for e in exercises]
        passed, total = passed + signs.count("●"), total + len(signs)
        entries = (f"{s}\N{NO-BREAK SPACE}{e.id}" for s, e in zip(signs, exercises, strict=True))
        lines.append(f"{chapter}\n  {'  '.join(entries)}")
    message = f"{passed} of {total} passed.   ● passed   ◐ tried   ○ not attempted"
    footer = f"Kept in {log.display_path()}"
    show_card(Feedback("info", "Your progress", message, tuple(lines), footer), warning)
