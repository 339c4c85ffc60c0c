"""The card that the reader gets, as data."""

from dataclasses import dataclass
from typing import Literal

from rich.cells import cell_len

Kind = Literal["passed", "failed", "untouched", "info"]

SIGNS: dict[Kind, str] = {"passed": "✓", "failed": "✗", "untouched": "○", "info": "·"}


@dataclass(frozen=True)
class Feedback:
    """A card: a heading, a message, details with code or numbers, and a footer.

    `others` holds the code of other right answers. `counts` is false if the reader's progress
    should not have a try for this card.
    """

    kind: Kind
    head: str
    message: str = ""
    details: tuple[str, ...] = ()
    footer: str = ""
    others: tuple[str, ...] = ()
    counts: bool = True


def labeled(label: str, text: str, column: int = 9) -> str:
    """Return a line of a card's details: a label, and a text that begins in this column."""
    return f"{label}{' ' * max(column - cell_len(label), 2)}{text}"
