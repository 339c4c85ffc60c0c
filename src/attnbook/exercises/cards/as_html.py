"""A card as HTML, for a notebook."""

import html
import re

from attnbook.colors import STATES
from attnbook.exercises.cards.feedback import SIGNS, Feedback
from attnbook.language import _

MARKUP = re.compile(r"`([^`]+)`|(?<![\w*])\*([^*\s`][^*`\n]*)\*(?![\w*])", re.ASCII)


def card_as_html(feedback: Feedback) -> str:
    """Return a card as an element with styles of its own, for light and dark notebooks."""
    message = f'<p style="margin:.4em 0 0">{prose(feedback.message)}</p>'
    footer = f'<p style="margin:.6em 0 0;opacity:.8">{prose(feedback.footer)}</p>'
    another = _("Another right answer")
    others = "".join(
        f'<details style="margin:.5em 0 0"><summary>{another}</summary>{code(text)}</details>'
        for text in feedback.others
    )
    color, _dark = STATES.get(feedback.kind, STATES["info"])
    style = f"border-left:.3em solid {color};padding:.6em 1em;color:inherit"
    style += ";overflow-wrap:anywhere"  # a long name is wider than a phone
    return (
        f'<div role="status" style="{style}">'
        f"<strong>{SIGNS[feedback.kind]} {html.escape(feedback.head)}</strong>"
        f"{message if feedback.message else ''}{''.join(map(code, feedback.details))}{others}"
        f"{footer if feedback.footer else ''}</div>"
    )


def code(text: str) -> str:
    """Return code or numbers as HTML whose lines do not wrap, so that columns stay aligned."""
    style = "margin:.5em 0 0;white-space:pre;overflow-x:auto;color:inherit;background:none"
    return f'<pre style="{style}">{html.escape(text)}</pre>'


def prose(text: str) -> str:
    """Return text as HTML: `code` and *emphasis* are marked up, and line breaks are kept."""
    return MARKUP.sub(marked_up, html.escape(text)).replace("\n", "<br>")


def marked_up(match: re.Match[str]) -> str:
    code, emphasis = match.groups()
    return f"<code>{code}</code>" if code else f"<em>{emphasis}</em>"
