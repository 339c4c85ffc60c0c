"""The card that the reader gets, as text in a terminal and as HTML in a notebook."""

import html
import re
from dataclasses import dataclass
from typing import Literal

from rich.cells import cell_len

from attnbook.colors import STATES
from attnbook.language import _

Kind = Literal["passed", "failed", "untouched", "info"]

SIGNS: dict[Kind, str] = {"passed": "✓", "failed": "✗", "untouched": "○", "info": "·"}
COLORS = {kind: light for kind, (light, dark) in STATES.items()}
DEFAULT_COLOR = COLORS["info"]


@dataclass(frozen=True)
class Feedback:
    """A card: a heading, a message, details with code or numbers, and a footer.

    `others` holds the code of other right answers.
    """

    kind: Kind
    head: str
    message: str = ""
    details: tuple[str, ...] = ()
    footer: str = ""
    others: tuple[str, ...] = ()

    def __repr__(self) -> str:
        from attnbook.exercises.terminal import (
            console,  # imported here: console imports this module
        )

        return console.card_as_text(self)

    def _repr_html_(self) -> str:
        message = (
            f'<p style="margin:.4em 0 0">{prose_html(self.message)}</p>' if self.message else ""
        )
        details = "".join(map(code_html, self.details))
        another = _("Another right answer")
        others = "".join(
            f'<details style="margin:.5em 0 0"><summary>{another}</summary>'
            f"{code_html(code)}</details>"
            for code in self.others
        )
        footer = (
            f'<p style="margin:.6em 0 0;opacity:.8">{prose_html(self.footer)}</p>'
            if self.footer
            else ""
        )
        color = COLORS.get(self.kind, DEFAULT_COLOR)
        return (
            f'<div role="status" style="border-left:.3em solid {color};'
            f'padding:.6em 1em;color:inherit"><strong>{SIGNS[self.kind]} {html.escape(self.head)}'
            f"</strong>{message}{details}{others}{footer}</div>"
        )


def labeled(label: str, text: str, column: int = 9) -> str:
    """Return a line of a card's details: a label, and a text that begins in this column."""
    return f"{label}{' ' * max(column - cell_len(label), 2)}{text}"


def code_html(text: str) -> str:
    """Return code or numbers as HTML whose lines do not wrap, so that columns stay aligned."""
    style = "margin:.5em 0 0;white-space:pre;overflow-x:auto;color:inherit;background:none"
    return f'<pre style="{style}">{html.escape(text)}</pre>'


def prose_html(text: str) -> str:
    """Return text as HTML: `code` and *emphasis* are marked up, and line breaks are kept."""
    return MARKUP.sub(marked_up, html.escape(text)).replace("\n", "<br>")


MARKUP = re.compile(r"`([^`]+)`|(?<![\w*])\*([^*\s`][^*`\n]*)\*(?![\w*])", re.ASCII)


def marked_up(match: re.Match[str]) -> str:
    code, emphasis = match.groups()
    return f"<code>{code}</code>" if code else f"<em>{emphasis}</em>"
