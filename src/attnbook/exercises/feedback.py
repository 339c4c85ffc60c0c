"""What the reader is told: one card, as text in a terminal and as HTML in a notebook."""

import html
import re
from dataclasses import dataclass
from typing import Literal

from attnbook.colors import STATES

Kind = Literal["passed", "failed", "untouched", "info"]

SIGNS: dict[Kind, str] = {"passed": "✓", "failed": "✗", "untouched": "○", "info": "·"}
COLORS = {kind: light for kind, (light, _) in STATES.items()}
INFO = COLORS["info"]  # for others


@dataclass(frozen=True)
class Feedback:
    """A card: what it is about, what is so, details, which hold code or numbers, and a last word.

    `others` holds the code of other right answers.
    """

    kind: Kind
    head: str
    says: str = ""
    details: tuple[str, ...] = ()
    footer: str = ""
    others: tuple[str, ...] = ()

    def __repr__(self) -> str:
        from attnbook.exercises import text  # which needs this module

        return text.plain(self)

    def _repr_html_(self) -> str:
        says = f'<p style="margin:.4em 0 0">{prose(self.says)}</p>' if self.says else ""
        details = "".join(map(block, self.details))
        others = "".join(
            f'<details style="margin:.5em 0 0"><summary>Another right answer</summary>'
            f"{block(code)}</details>"
            for code in self.others
        )
        footer = (
            f'<p style="margin:.6em 0 0;opacity:.8">{prose(self.footer)}</p>' if self.footer else ""
        )
        return (
            f'<div role="status" style="border-left:.3em solid {COLORS.get(self.kind, INFO)};'
            f'padding:.6em 1em;color:inherit"><strong>{SIGNS[self.kind]} {html.escape(self.head)}'
            f"</strong>{says}{details}{others}{footer}</div>"
        )


def block(text: str) -> str:
    """Code or numbers: no line is broken, so that columns stay columns."""
    style = "margin:.5em 0 0;white-space:pre;overflow-x:auto;color:inherit;background:none"
    return f'<pre style="{style}">{html.escape(text)}</pre>'


def prose(text: str) -> str:
    """Text as HTML: `code` between backticks, a line for each line."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text)).replace("\n", "<br>")
