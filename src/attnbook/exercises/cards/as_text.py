"""A card as text, for a terminal: wrapped to a width, and colored if the terminal is."""

import io
import re
import textwrap
from collections.abc import Iterator
from typing import Any

from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.markdown import Markdown
from rich.padding import Padding
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text
from rich.theme import Theme

from attnbook.exercises.cards.feedback import SIGNS, Feedback
from attnbook.language import HAN, _

MAX_WIDTH = 100  # longer lines are hard to read
STYLES = {"passed": "green", "failed": "red", "untouched": "yellow", "info": "blue"}
THEME = Theme(
    {"markdown.code": "cyan", "markdown.table.header": "bold", "markdown.table.border": "none"}
)
SETTINGS: dict[str, Any] = {
    "theme": THEME,
    "highlight": False,
    "markup": False,
    "emoji": False,
    "force_jupyter": False,
}

# Chinese is written without spaces: `breakable` marks where lines may end with this character,
# which has no width.
BREAK = "\x1f"
# No line may end with a character of OPEN, or begin with one of CLOSE.
OPEN = r"“‘\uff08\u300a\u300c\u3010"
CLOSE = r"”’\uff09\u300b\u300d\u3011\uff0c\u3002\u3001\uff1a\uff1b\uff1f\uff01…"

# The command shown instead of hint("03.scores"), with {name} and {exercise}; "" to show the call.
command_template = ""


def card_as_text(feedback: Feedback) -> str:
    """Return a card as a string without colors, wrapped at 80 columns."""
    console = Console(**SETTINGS, file=io.StringIO(), width=80, force_terminal=False)
    return render(console, card(feedback)).rstrip("\n")


def card(feedback: Feedback) -> RenderableType:
    """Return a card: heading, message, details, footer, and other right answers."""
    style = f"bold {STYLES[feedback.kind]}"
    head = Table.grid(padding=(0, 1, 0, 0))
    head.add_row(Text(SIGNS[feedback.kind], style), Text(feedback.head, style))
    parts: list[RenderableType] = [head]
    if feedback.message:
        parts.append(indented(format_prose(feedback.message)))
    for detail in feedback.details:
        parts.append(format_code(detail) if is_code(detail) else indented(AlignedLines(detail)))
    if feedback.footer:
        parts.append(indented(format_prose(feedback.footer, "dim")))
    for code in feedback.others:
        parts += ["", indented(Text(_("Another right answer:"), "dim")), format_code(code)]
    return Group(*parts)


def indented(renderable: RenderableType) -> RenderableType:
    return Padding(renderable, (0, 0, 0, 2))


def format_prose(text: str, style: str = "") -> Text:
    """Return text in which code between backticks is colored.

    In a terminal, calls to hint, solution and reset are replaced by the commands to type.
    """
    if command_template:
        text = re.sub(r'(hint|solution|reset)\("(.+?)"(, insist=True)?\)', to_command, text)
    prose = Text(breakable(text), style)
    prose.highlight_regex("`[^`]+`", "cyan")
    return prose


def to_command(call: re.Match[str]) -> str:
    command = command_template.format(name=call[1], exercise=call[2]).strip()
    return f"`{command} --insist`" if call[3] else f"`{command}`"


def format_task(markdown: str) -> RenderableType:
    """Return an exercise's task: paragraphs, lists and tables. Code keeps its backticks."""
    text = re.sub("`([^`\n]+)`", r"`` `\1` ``", breakable(markdown))
    return indented(Markdown(text, hyperlinks=False))


def breakable(text: str) -> str:
    """Allow line breaks around Chinese characters, but none before CLOSE or after OPEN."""
    pattern = rf"(?<=[{HAN}{CLOSE}])(?=[^\s{CLOSE}])|(?<=[^\s{OPEN}])(?=[{HAN}{OPEN}])"
    return re.sub(pattern, BREAK, text) if re.search(f"[{HAN}]", text) else text


def wrapped(text: str, width: int) -> str:
    """Wrap the lines of a text that are longer than this."""
    console = Console(**SETTINGS, file=io.StringIO(), width=width, force_terminal=False)
    return render(console, *(Text(breakable(line)) for line in text.splitlines())).rstrip("\n")


def is_code(detail: str) -> bool:
    return bool(re.match("(def|class|import|from) ", detail))


def format_code(source: str) -> Text:
    """Return Python code that is neither padded nor wrapped, so that it can be copied."""
    text = Syntax(source, "python", theme="ansi_dark", background_color="default").highlight(source)
    text.rstrip()
    return unwrapped(text)


class AlignedLines:
    """Lines in columns, such as rows of numbers. Long lines wrap with an indent."""

    def __init__(self, text: str):
        self.text = text

    def __rich_console__(self, console: Console, options: Any) -> Iterator[RenderableType]:
        max_width = options.max_width
        for line in self.text.splitlines():
            if cell_len(line) <= max_width:
                yield Text(line)
                continue
            label = re.match(r"\s{4,}|\s*\S+(?: \S+)*\s{2,}", line)
            indent = len(line) - len(line.lstrip(" "))
            prefix = " " * (min(len(label[0]), max_width // 3) + 2 if label else indent)
            lines = textwrap.wrap(line, max_width, subsequent_indent=prefix, break_on_hyphens=False)
            yield from map(Text, lines)


def render(console: Console, *renderables: RenderableType) -> str:
    """Render to a string without trailing blanks or consecutive empty lines."""
    console.width = min(console.width, MAX_WIDTH)
    with console.capture() as captured:
        parts = (unwrapped(Text(x)) if isinstance(x, str) else x for x in renderables)
        console.print(Group(*parts), crop=False)
    text = captured.get().replace(BREAK, "")
    text = re.sub(r" +((?:\x1b\[[\d;]*m)*)$", r"\1", text, flags=re.MULTILINE)
    return re.sub(r"\n{3,}", "\n\n", text)


def unwrapped(text: Text) -> Text:
    """Keep rich from breaking the lines of a text, so that they can be copied whole."""
    text.no_wrap, text.overflow = True, "ignore"
    return text
