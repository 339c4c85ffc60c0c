"""Pieces of attention code: faulty as in public reports, or right, in many styles."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Piece:
    """Code to examine, what its author has to tell, and the fault that should be named first.

    `fault` is "" for right code. `report` names a public report of the same fault, which
    no test uses: it is for readers.
    """

    label: str
    make: Callable[[], Any]
    facts: dict[str, Any] = field(default_factory=dict)
    fault: str = ""
    report: str = ""


FAULTY: list[Piece] = []
RIGHT: list[Piece] = []


def faulty(label: str, fault: str, report: str = "", /, **facts: Any) -> Callable[..., Any]:
    """Register a function that builds faulty code."""

    def register(make: Callable[[], Any]) -> Callable[[], Any]:
        FAULTY.append(Piece(label, make, facts, fault, report))
        return make

    return register


def right(label: str, /, **facts: Any) -> Callable[..., Any]:
    """Register a function that builds right code."""

    def register(make: Callable[[], Any]) -> Callable[[], Any]:
        RIGHT.append(Piece(label, make, facts))
        return make

    return register
