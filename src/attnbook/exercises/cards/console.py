"""Show cards: as HTML in a notebook, and elsewhere as text in the encoding of the screen."""

import os
import sys
from collections.abc import Callable

from rich.console import Console, RenderableType

from attnbook.exercises.cards.as_html import card_as_html
from attnbook.exercises.cards.as_text import MAX_WIDTH, SETTINGS, card, card_as_text, render
from attnbook.exercises.cards.feedback import Feedback

# Replacements for characters that an encoding lacks; those not listed are escaped, as in \u82f9.
ASCII = str.maketrans(
    {"✓": "+", "✗": "x", "○": "o", "◐": "~", "●": "#", "★": "*", "☆": ".", "·": "-", "•": "-"}
    | {"−": "-", "×": "x", "√": "sqrt ", "≤": "<=", "≥": ">=", "→": "->", "±": "+-", "…": "..."}
    | {"─": "-", "━": "-", "²": "^2", "ᵀ": "^T", "∞": "inf", "≠": "!=", "\N{NO-BREAK SPACE}": " "}
    | {"“": '"', "”": '"', "’": "'", "–": "-", "—": "-"}
)


def show_card(feedback: Feedback, warning: str = "") -> None:
    """Show a card, as HTML in a notebook and as text elsewhere; then a warning, if any."""
    if is_text_only():
        print_text(card(feedback))
    else:
        from IPython.display import display  # only when needed, since the import is slow

        both = {"text/plain": card_as_text(feedback), "text/html": card_as_html(feedback)}
        display(both, raw=True)
    if warning:
        print_text(warning)


def is_text_only() -> bool:
    """Return whether only text can be shown: in a script, a terminal, or IPython in a terminal."""
    ipython = sys.modules.get("IPython")
    shell = ipython and ipython.get_ipython()
    return not shell or "Terminal" in type(shell).__name__


def print_text(*renderables: RenderableType) -> None:
    """Print cards wrapped to the width of the screen, and strings without wrapping."""
    if getattr(sys.stdout, "closed", False):  # closed by the reader's own code
        return
    write(render(Console(**SETTINGS, file=sys.stdout), *renderables))


def width() -> int:
    """Return the number of columns in a line."""
    return min(Console(**SETTINGS).width, MAX_WIDTH)


def write(text: str) -> None:
    """Write text to stdout, with replacements for characters that its encoding lacks."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        text = text.translate(ASCII).encode(encoding, "backslashreplace").decode(encoding)
    print(text, end="", flush=True)


def ignore_broken_pipe(main: Callable[[], int]) -> int:
    """Run a program, and return 1 without a traceback if its output is closed, as by `| head`."""
    try:
        return main()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
