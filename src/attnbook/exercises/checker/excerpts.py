"""Excerpts of what may be long without end: a value, an exception's text, printed lines."""

from typing import Any

from attnbook.exercises.cards.feedback import labeled
from attnbook.language import _, ngettext

LONGEST_REPR, LONGEST_ERROR = 300, 400  # characters
PRINTED_LINES, PRINTED_WIDTH = 6, 100


def short_repr(x: Any) -> str:
    """Return the repr of any value, cut to LONGEST_REPR."""
    try:
        text = repr(x)
    except Exception:  # raised by the reader's own class
        text = _("a {name}").format(name=type(x).__name__)
    return text if len(text) <= LONGEST_REPR else f"{text[:LONGEST_REPR]} …"


def format_error(error: BaseException) -> str:
    """Format an exception as "Type: text", cut to LONGEST_ERROR and without a final period."""
    try:
        text = str(error).strip().rstrip(".")
    except Exception:  # raised by the reader's own exception class
        text = ""
    short = text if len(text) <= LONGEST_ERROR else f"{text[:LONGEST_ERROR]} …"
    return f"{type(error).__name__}: {short}".rstrip(": ")


def printed_details(printed: str, column: int = 9) -> tuple[str, ...]:
    """Return a detail for the card with the first lines that a function printed, if any."""
    lines = printed.splitlines()
    n_more = len(lines) - PRINTED_LINES
    shown = [shorten(line) for line in lines[:PRINTED_LINES]]
    if n_more > 0:
        more = ngettext("… and {n} more lines", "… and {n} more lines", n_more)
        shown.append(more.format(n=n_more))
    text = f"\n{labeled('', '', column)}".join(shown)
    return (labeled(_("printed"), text, column),) if text else ()


def shorten(line: str) -> str:
    """Cut a line to PRINTED_WIDTH characters, between two words if possible."""
    if len(line) <= PRINTED_WIDTH:
        return line
    return (line[:PRINTED_WIDTH].rpartition(" ")[0] or line[:PRINTED_WIDTH]) + " …"
