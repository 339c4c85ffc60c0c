"""A card as text: fitted to the width, in color where a terminal has it, in any alphabet.

In a notebook the same card is shown as HTML; `tell` knows which.
"""

import io
import os
import re
import sys
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.markdown import Markdown
from rich.padding import Padding
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text
from rich.theme import Theme

from attnbook.exercises.feedback import SIGNS, Feedback

WIDEST = 100  # a longer line is hard to read
STYLES = {"passed": "green", "failed": "red", "untouched": "yellow", "info": "blue"}
THEME = Theme(
    {"markdown.code": "cyan", "markdown.table.header": "bold", "markdown.table.border": "none"}
)
# What a stream is given that cannot print a sign itself; other letters become \u82f9 and the like.
PLAIN = str.maketrans(
    {"✓": "+", "✗": "x", "○": "o", "◐": "~", "●": "#", "★": "*", "☆": ".", "·": "-", "•": "-"}
    | {"−": "-", "×": "x", "√": "sqrt ", "≤": "<=", "≥": ">=", "→": "->", "±": "+-", "…": "..."}
    | {"─": "-", "━": "-", "²": "^2", "ᵀ": "^T", "∞": "inf", "≠": "!=", "\N{NO-BREAK SPACE}": " "}
    | {"“": '"', "”": '"', "’": "'", "–": "-", "—": "-"}
)

# How a terminal spells hint("03.scores"), with {name} and {exercise}; "" where Python is typed.
command = ""


def tell(feedback: Feedback, trouble: str = "") -> None:
    """Show a card where a program shows cards, else as text; then a line of trouble, if any."""
    if in_a_terminal():
        say(card(feedback))
    else:
        from IPython.display import display  # later than the chapters' imports, since it is slow

        display(feedback)
    if trouble:
        say(trouble)


def in_a_terminal() -> bool:
    """Whether nothing but text can be shown: in a script, a terminal, or IPython in one."""
    ipython = sys.modules.get("IPython")
    shell = ipython and ipython.get_ipython()
    return not shell or "Terminal" in type(shell).__name__


def say(*what: RenderableType) -> None:
    """Print cards fitted to the screen, and lines as they are."""
    put(rendered(Console(**SETTINGS, file=sys.stdout), *what))


def width() -> int:
    """How many columns a line may have."""
    return min(Console(**SETTINGS).width, WIDEST)


def put(text: str) -> None:
    """Print text as it is, in letters that the stream can show."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        text = text.translate(PLAIN).encode(encoding, "backslashreplace").decode(encoding)
    print(text, end="", flush=True)


def quietly(main: Callable[[], int]) -> int:
    """Run a program, and end it without a word where nobody reads on, as in `list | head`."""
    try:
        return main()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def plain(feedback: Feedback) -> str:
    """A card without colors, for a screen of 80 columns."""
    console = Console(**SETTINGS, file=io.StringIO(), width=80, force_terminal=False)
    return rendered(console, card(feedback)).rstrip("\n")


SETTINGS: dict[str, Any] = {
    "theme": THEME,
    "highlight": False,
    "markup": False,
    "emoji": False,
    "force_jupyter": False,
}


def rendered(console: Console, *what: RenderableType) -> str:
    """The lines of it, without blanks at their ends, and never two empty ones in a row."""
    console.width = min(console.width, WIDEST)
    with console.capture() as captured:
        lines = (unbroken(Text(x)) if isinstance(x, str) else x for x in what)
        console.print(Group(*lines), crop=False)
    text = re.sub(r" +((?:\x1b\[[\d;]*m)*)$", r"\1", captured.get(), flags=re.MULTILINE)
    return re.sub(r"\n{3,}", "\n\n", text)


def unbroken(text: Text) -> Text:
    """Lines that the terminal may fold, and nobody else: so they can be copied whole."""
    text.no_wrap, text.overflow = True, "ignore"
    return text


def card(feedback: Feedback) -> RenderableType:
    """Head, what is so, details, and what to do next."""
    style = f"bold {STYLES[feedback.kind]}"
    head = Table.grid(padding=(0, 1, 0, 0))
    head.add_row(Text(SIGNS[feedback.kind], style), Text(feedback.head, style))
    parts: list[RenderableType] = [head]
    if feedback.says:
        parts.append(indented(prose(feedback.says)))
    parts += [code(d) if is_code(d) else indented(Columns(d)) for d in feedback.details]
    if feedback.footer:
        parts.append(indented(prose(feedback.footer, "dim")))
    for other in feedback.others:
        parts += ["", indented(Text("Another right answer:", "dim")), code(other)]
    return Group(*parts)


def indented(what: RenderableType) -> RenderableType:
    return Padding(what, (0, 0, 0, 2))


def prose(text: str, style: str = "") -> Text:
    """Sentences, with what stands between backticks in the color of code."""
    if command:
        text = re.sub(r'(hint|solution)\("(.+?)"(, insist=True)?\)', as_command, text)
    found = Text(text, style)
    found.highlight_regex("`[^`]+`", "cyan")
    return found


def as_command(call: re.Match[str]) -> str:
    said = command.format(name=call[1], exercise=call[2]).strip()
    return f"`{said} --insist`" if call[3] else f"`{said}`"


def task(markdown: str) -> RenderableType:
    """What an exercise asks: paragraphs, lists and tables. Code keeps its backticks."""
    return indented(Markdown(re.sub("`([^`\n]+)`", r"`` `\1` ``", markdown), hyperlinks=False))


def is_code(detail: str) -> bool:
    return bool(re.match("(def|class|import|from) ", detail))


def code(source: str) -> Text:
    """Python from the first column and in unbroken lines, so that it can be copied."""
    text = Syntax(source, "python", theme="ansi_dark", background_color="default").highlight(source)
    text.rstrip()
    return unbroken(text)


class Columns:
    """Lines with columns, such as numbers: what is too long goes on below where it began."""

    def __init__(self, text: str):
        self.text = text

    def __rich_console__(self, console: Console, options: Any) -> Iterator[RenderableType]:
        widest = options.max_width
        for line in self.text.splitlines():
            if cell_len(line) <= widest:
                yield Text(line)
                continue
            label = re.match(r"\s{4,}|\s*\S+(?: \S+)*\s{2,}", line)
            indent = len(line) - len(line.lstrip(" "))
            start = " " * (min(len(label[0]), widest // 3) + 2 if label else indent)
            lines = textwrap.wrap(line, widest, subsequent_indent=start, break_on_hyphens=False)
            yield from map(Text, lines)
