"""Exercises that check themselves and name what was misunderstood.

check(function, "03.scale")     try an answer
hint("03.scale")                the next of three hints
solution("03.scale")            the reference, once you have tried
progress()                      where you stand
"""

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from attnbook.exercises import log
from attnbook.exercises.catalog import ALL, CHAPTERS, Unknown, find
from attnbook.exercises.diagnose import diagnose
from attnbook.exercises.feedback import SIGNS, Feedback
from attnbook.exercises.text import say, tell

__all__ = ["check", "hint", "progress", "solution"]


def in_one_line(command: Callable[..., None]) -> Callable[..., None]:
    """A call that cannot be meant is answered with a line, not with a traceback."""

    @functools.wraps(command)
    def told(*arguments: Any, **options: Any) -> None:
        try:
            command(*arguments, **options)
        except Unknown as error:
            say(f"{command.__name__}: {error}")

    return told


@in_one_line
def check(function: Callable[..., Any] | None = None, exercise: str | None = None) -> None:
    """Try a function on the exercise's cases and tell what is right or what was misunderstood."""
    if isinstance(function, str):  # check("03.scale", scale)
        wanted = find(function)
        raise Unknown(f'the function comes first: check({wanted.name}, "{wanted.id}")')
    wanted = find(exercise if exercise is not None or not callable(function) else function)
    if isinstance(function, type):
        raise Unknown(
            f"{function.__name__} is a class: give an object that can be called, or a method"
        )
    if not callable(function):
        raise Unknown(
            f"the function itself is asked for, and this is {type(function).__name__}: "
            f'check({wanted.name}, "{wanted.id}"), without calling it'
        )
    feedback = diagnose(wanted, function)
    if feedback.kind == "untouched":
        # Never a card: a stub's output is the same line in every program.
        say(f"{SIGNS[feedback.kind]} {feedback.head}")
        return
    name = getattr(function, "__name__", "")
    meant = [e.id for e in ALL.values() if e.name == name != wanted.name]
    if feedback.kind == "failed" and meant:
        also = f"`{name}` is what {' and '.join(meant)} asks for. {feedback.footer}"
        feedback = replace(feedback, footer=also)
    tell(feedback, log.record(wanted.id, "pass" if feedback.kind == "passed" else "try"))


@in_one_line
def hint(exercise: str | None = None) -> None:
    """Give the next of the exercise's three hints; after the third, all of them again."""
    wanted = find(exercise)
    exercise = wanted.id
    given = log.read()[0][exercise]["hint"]
    trouble = log.record(exercise, "hint")
    if given >= len(wanted.hints):
        tell(Feedback("info", f"{exercise} all hints", "", wanted.hints), trouble)
        return
    left = len(wanted.hints) - given - 1
    footer = (
        f"{left} more: call hint again."
        if left
        else f'That was the last; see solution("{exercise}").'
    )
    head = f"{exercise} hint {given + 1} of {len(wanted.hints)}"
    tell(Feedback("info", head, wanted.hints[given], footer=footer), trouble)


@in_one_line
def solution(exercise: str | None = None, insist: bool = False) -> None:
    """Show the reference, once you have tried, or if you insist."""
    wanted = find(exercise)
    exercise = wanted.id
    events = log.read()[0][exercise]
    if not insist and not events["try"] and not events["pass"]:
        says = f'Try it first: a wrong answer teaches more. Or solution("{exercise}", insist=True).'
        tell(Feedback("info", f"{exercise} {wanted.title}", says), "")
        return
    trouble = log.record(exercise, "solution")
    tell(Feedback("info", f"{exercise} one right answer", details=(wanted.solution(),)), trouble)


def progress() -> None:
    """Show which exercises you have passed, tried, or not attempted."""
    counts, trouble = log.read()
    lines, passed, total = [], 0, 0
    for chapter, exercises in CHAPTERS.items():
        signs = [log.sign(counts[e.id]) for e in exercises]
        passed, total = passed + signs.count("●"), total + len(signs)
        listed = (f"{s}\N{NO-BREAK SPACE}{e.id}" for s, e in zip(signs, exercises, strict=True))
        lines.append(f"{chapter}\n  {'  '.join(listed)}")
    says = f"{passed} of {total} passed.   ● passed   ◐ tried   ○ not attempted"
    kept = f"Kept in {log.shown_path()}"
    tell(Feedback("info", "Where you stand", says, tuple(lines), kept), trouble)
