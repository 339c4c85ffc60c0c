"""How long a chapter takes, counted from what it holds: on the short road, and beyond it.

`tools/run.py` writes the line into the chapter's first box. SECONDS is what a first-time reader
needs for each kind of thing; with it chapters 1 to 3 take the time that such a reader reported.
"""

import re

from nbformat import NotebookNode

from tools import words

SECONDS = {
    "word": 60 / 130,
    "line of code": 7.0,
    "line of output": 2.0,
    "formula in a line": 5.0,
    "formula of its own": 25.0,
    "picture": 45.0,
    "prediction": 40.0,
}
STEP = 5  # minutes are rounded to this many
WORD = r"[\w'’]+?(?=[\u4e00-\u9fff])|[\u4e00-\u9fff]|[\w'’]+"  # a Chinese character counts as one


def time_line(notebook: NotebookNode, exercise_minutes: list[int]) -> str:
    """What the opening says of the chapter's time."""
    short, second = roads(notebook)
    parts = [f"{rounded(short)} minutes"]
    if second:
        parts.append(f"{rounded(second)} more with the {words.SECOND_READING}s")
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
            seconds[beyond] += sum(SECONDS[kind] * number for kind, number in count(cell).items())
    return seconds[False], seconds[True]


def is_second_reading(heading: str) -> bool:
    """Whether a section may be left out at first."""
    return heading.endswith(f"({words.SECOND_READING})")


def count(cell: NotebookNode) -> dict[str, int]:
    """How many there are of each kind of thing."""
    if cell.cell_type == "code":
        pictures = [o for o in cell.outputs if "image/svg+xml" in o.get("data", {})]
        texts = [
            o.get("text", o.get("data", {}).get("text/plain", ""))
            for o in cell.outputs
            if o not in pictures
        ]
        return {
            "picture": len(pictures),
            "line of code": lines(cell.source),
            "line of output": sum(map(lines, texts)),
        }
    text, own = re.subn(r"\$\$.*?\$\$", " ", cell.source, flags=re.S)
    text, inline = re.subn(r"\$[^$\n]+\$", " ", text)
    text = re.sub(r"<[^>]+>|\]\([^)]*\)", " ", text)  # tags and addresses are not read
    return {
        "word": len(re.findall(WORD, text)),
        "formula in a line": inline,
        "formula of its own": own,
        "prediction": text.count(words.PREDICT),
    }


def lines(text: str) -> int:
    """How many lines hold something."""
    return sum(bool(line.strip()) for line in text.splitlines())


def rounded(seconds: float) -> int:
    """Minutes, in steps that do not pretend to be exact, and never none."""
    return max(STEP, round(seconds / 60 / STEP) * STEP)
