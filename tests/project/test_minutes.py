"""The minutes of a chapter are estimated from its contents, and its run time is recorded."""

from pathlib import Path

import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from manuscript import markers, minutes
from manuscript.common import ROOT
from manuscript.minutes import code_seconds, reading_seconds, text_seconds, time_line
from manuscript.normal_form import read

SECOND = f"## 1.2 More ({markers.SECOND_READING})"  # its cell has a tag: see `notebook`
WORD = text_seconds("word")


def test_words_and_formulas_are_counted_but_not_addresses() -> None:
    assert text_seconds("[Two words](a_long/address.html) <b>don't</b>") == pytest.approx(3 * WORD)
    assert text_seconds("苹果很甜 píngguǒ") == pytest.approx(5 * WORD)
    assert text_seconds("$a$ and $$b\n= c$$") == pytest.approx(5 + 25 + WORD)
    assert text_seconds(f"**{markers.PREDICT}** How?") == pytest.approx(42 + WORD)


def test_lines_and_pictures_are_counted_in_code() -> None:
    picture = new_output("display_data", {"image/svg+xml": "<svg/>", "text/plain": "a\nb"})
    text = new_output("stream", text="one\ntwo\n")
    assert (
        code_seconds(new_code_cell("a = 1\n\nb = 2", outputs=[picture, text])) == 2 * 7 + 45 + 2 * 2
    )


def notebook(*sources: str) -> NotebookNode:
    """Make a notebook with these texts."""
    tags = {SECOND: {"tags": [markers.SECOND_READING_TAG]}}
    cells = [new_markdown_cell(source, metadata=tags.get(source, {})) for source in sources]
    return new_notebook(cells=cells)


def test_a_second_reading_lasts_until_the_next_heading_and_exercises_are_not_read() -> None:
    chapter = notebook("one", SECOND, "two", "### Deeper", "## 1.3 Short", "three")
    chapter.cells.append(new_markdown_cell("a card", id="exercise-one"))
    chapter.cells.append(new_markdown_cell("again", metadata={"tags": ["remove-cell"]}))
    short, second = reading_seconds(chapter)
    assert short == pytest.approx(WORD * len("one 1 3 Short three".split()))
    assert second == pytest.approx(WORD * len("1 2 More second reading two Deeper".split()))


def test_the_line_names_the_existing_parts_and_rounds() -> None:
    text = "word " * 130 * 11
    assert time_line(notebook(text), []) == "10 minutes."
    assert time_line(notebook(text, SECOND, text), [5, 8]) == (
        "10 minutes, 10 more with the second readings, 15 for the exercises."
    )
    assert time_line(notebook("word"), []) == "5 minutes."


def test_a_run_time_is_rounded_up_and_kept_until_it_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tmp_path / "times.json"
    monkeypatch.setattr(minutes, "RUN_TIMES", table)
    table.write_text('{"other": 120}')
    seen = []
    for seconds in 20, 31, 12, 100, 59, 11, 5000:
        minutes.keep_run_time("one", seconds)
        seen.append(minutes.run_times()["one"])
    assert seen == [30, 60, 60, 300, 120, 30, 600]
    assert minutes.run_times()["other"] == 120
    assert time_line(notebook("word"), [], 60).endswith(
        "5 minutes. Running all of it takes about a minute."
    )


def test_every_chapter_has_a_run_time_and_tells_it() -> None:
    times = minutes.run_times()
    for path in (ROOT / "book").glob("*.ipynb"):
        opening = str(read(path).cells[0].source)
        assert opening.count(minutes.RUN_STEPS[times.pop(path.stem)]) == 1
    assert not times  # no time for a chapter that no longer exists
