"""How long a chapter takes, counted from what it holds: on the short road, and beyond it.

`tools/run.py` writes the line into the chapter's first box. The seconds are what a first-time
reader needs for each kind of thing; with them chapters 1 to 3 take the time that such a reader
reported.
"""

import re

from nbformat import NotebookNode

from tools import markers

TEXT = {  # the seconds for each match; what is counted, or not read, is no word any more
    r"\$\$.*?\$\$": 25.0,  # a formula of its own
    r"\$[^$\n]+\$": 5.0,  # a formula in a line
    r"<[^>]+>|\]\([^)]*\)": 0.0,  # tags and addresses
    re.escape(markers.PREDICT): 42.0,
    r"[\u4e00-\u9fff]|(?:[^\W\u4e00-\u9fff]|['’])+": 60 / 130,  # a Chinese character, or a word
}
CODE_LINE, OUTPUT_LINE, PICTURE = 7.0, 2.0, 45.0
STEP = 5  # minutes are rounded to this many


def time_line(notebook: NotebookNode, exercise_minutes: list[int]) -> str:
    """What the opening says of the chapter's time."""
    short, second = roads(notebook)
    parts = [f"{rounded(short)} minutes"]
    if second:
        parts.append(f"{rounded(second)} more with the {markers.SECOND_READING}s")
    if exercise_minutes:
        parts.append(f"{rounded(60 * sum(exercise_minutes))} for the exercises")
    return ", ".join(parts) + "."


def roads(notebook: NotebookNode) -> tuple[float, float]:
    """The seconds for the sections of the short road, and for those marked as second readings."""
    seconds = {False: 0.0, True: 0.0}
    beyond = False
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and (heading := re.match(r"## .*", cell.source)):
            beyond = is_second_reading(heading[0])
        left_out = "remove-cell" in cell.metadata.get("tags", [])
        if not left_out and not re.match("(exercise-|stub-|solution-)", cell.id):
            seconds[beyond] += of_code(cell) if cell.cell_type == "code" else of_text(cell.source)
    return seconds[False], seconds[True]


def is_second_reading(heading: str) -> bool:
    """Whether a section may be left out at first."""
    return heading.endswith(f"({markers.SECOND_READING})")


def of_code(cell: NotebookNode) -> float:
    """The seconds for a cell of code and what it shows."""
    seconds = CODE_LINE * lines(cell.source)
    for output in cell.outputs:
        data = output.get("data", {})
        if "image/svg+xml" in data:
            seconds += PICTURE
        else:
            seconds += OUTPUT_LINE * lines(output.get("text", data.get("text/plain", "")))
    return seconds


def of_text(text: str) -> float:
    """The seconds for a text."""
    seconds = 0.0
    for pattern, each in TEXT.items():
        text, number = re.subn(pattern, " ", text, flags=re.S)
        seconds += each * number
    return seconds


def lines(text: str) -> int:
    """How many lines hold something."""
    return sum(bool(line.strip()) for line in text.splitlines())


def rounded(seconds: float) -> int:
    """Minutes, in steps that do not pretend to be exact, and never none."""
    return max(STEP, round(seconds / 60 / STEP) * STEP)
