"""How long a chapter takes to read (estimated) and to run (measured).

`tools/run.py` writes both into the chapter's first box. Each word, formula, picture and line of
code counts as the seconds that a first-time reader needs for it. These rates are chosen so that
chapters 1 to 3 take the time that such a reader reported. A run is measured in processor time,
which does not depend on other programs. RUN_TIMES records it, rounded up generously, because
machines differ.
"""

import json
import re

from nbformat import NotebookNode

from attnbook.language import HAN, _
from manuscript import markers
from manuscript.common import ROOT
from manuscript.edition import LANGUAGE

# A Chinese character in English text counts as a word. Readers of Chinese read 260 words, of
# about 1.5 characters each, in the time that 238 English words take (Brysbaert 2019).
WORD = 60 / 130
CHARACTER = WORD if LANGUAGE == "en" else WORD * 238 / (260 * 1.5)
TEXT = {  # seconds for each match, which is then removed, so it is counted only once
    r"\$\$.*?\$\$": 25.0,  # a displayed formula
    r"\$[^$\n]+\$": 5.0,  # an inline formula
    r"<[^>]+>|\]\([^)]*\)": 0.0,  # tags and addresses
    re.escape(_(markers.PREDICT)): 42.0,
    rf"[{HAN}]": CHARACTER,
    rf"(?:[^\W{HAN}]|['’])+": WORD,
}
UNCOUNTED = rf"(exercise-|stub-|solution-)|{markers.CARD}$"  # exercises have minutes of their own
CODE_LINE, OUTPUT_LINE, PICTURE = 7.0, 2.0, 45.0
STEP = 5  # minutes are rounded to a multiple of this
RUN_TIMES = ROOT / "manuscript" / "run_times.json"  # for each notebook, a key of RUN_STEPS
RUN_STEPS = {
    30: _("Running all of it takes about half a minute."),
    60: _("Running all of it takes about a minute."),
    120: _("Running all of it takes about two minutes."),
    300: _("Running all of it takes about five minutes."),
    600: _("Running all of it takes about ten minutes."),
}


def reading_minutes(notebook: NotebookNode) -> tuple[int, int]:
    """Return the minutes for the ordinary sections, and for the second readings (0 if none)."""
    short, second = reading_seconds(notebook)
    return rounded(short), rounded(second) if second else 0


def time_line(notebook: NotebookNode, exercise_minutes: list[int], run_step: int = 0) -> str:
    """Return the text after **Time:** in the opening; it omits the run time if no step is given."""
    short, second = reading_minutes(notebook)
    exercises = rounded(60 * sum(exercise_minutes)) if exercise_minutes else 0
    line = {
        (False, False): _("{short} minutes."),
        (True, False): _("{short} minutes, {second} more with the second readings."),
        (False, True): _("{short} minutes, {exercises} for the exercises."),
        (True, True): _(
            "{short} minutes, {second} more with the second readings, "
            "{exercises} for the exercises."
        ),
    }[bool(second), bool(exercises)].format(short=short, second=second, exercises=exercises)
    if not run_step:
        return line
    return _("{reading} {running}").format(reading=line, running=RUN_STEPS[run_step])


def reading_seconds(notebook: NotebookNode) -> tuple[float, float]:
    """Return the seconds for the ordinary sections, and for those marked as second readings."""
    seconds = {False: 0.0, True: 0.0}
    second_reading = False
    for cell in notebook.cells:
        tags = cell.metadata.get("tags", [])
        if cell.cell_type == "markdown" and cell.source.startswith("## "):
            second_reading = markers.SECOND_READING_TAG in tags
        not_shown = "remove-cell" in tags
        if not not_shown and not re.match(UNCOUNTED, cell.id):
            seconds[second_reading] += (
                code_seconds(cell) if cell.cell_type == "code" else text_seconds(cell.source)
            )
    return seconds[False], seconds[True]


def code_seconds(cell: NotebookNode) -> float:
    """Return the seconds for a code cell and its outputs."""
    seconds = CODE_LINE * lines(cell.source)
    for output in cell.outputs:
        data = output.get("data", {})
        if "image/svg+xml" in data:
            seconds += PICTURE
        else:
            seconds += OUTPUT_LINE * lines(output.get("text", data.get("text/plain", "")))
    return seconds


def text_seconds(text: str) -> float:
    """Return the seconds for a text."""
    seconds = 0.0
    for pattern, each in TEXT.items():
        text, number = re.subn(pattern, " ", text, flags=re.S)
        seconds += each * number
    return seconds


def lines(text: str) -> int:
    """Count the lines that are not blank."""
    return sum(bool(line.strip()) for line in text.splitlines())


def run_times() -> dict[str, int]:
    """Return the run time that is recorded for each notebook."""
    times: dict[str, int] = json.loads(RUN_TIMES.read_text("utf-8"))
    return times


def keep_run_time(name: str, seconds: float) -> None:
    """Record the key of RUN_STEPS for a run of this length, unless the recorded one still fits."""
    times = run_times()
    kept = times.get(name, 0)
    if not kept / 5 <= seconds <= kept:
        times[name] = next((step for step in RUN_STEPS if 1.5 * seconds <= step), max(RUN_STEPS))
        text = json.dumps(times, indent=1, sort_keys=True) + "\n"
        RUN_TIMES.write_text(text, encoding="utf-8", newline="\n")


def in_minutes(count: int) -> str:
    """A number of minutes, with the unit abbreviated."""
    return _("{minutes}\xa0min").format(minutes=count)


def rounded(seconds: float) -> int:
    """Convert seconds to minutes: a multiple of five, but not 0, because the estimate is rough."""
    return max(STEP, round(seconds / 60 / STEP) * STEP)
