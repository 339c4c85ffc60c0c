"""The minutes of a chapter are counted from what it holds, road by road."""

import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from tools import words
from tools.minutes import SECONDS, count, roads, time_line

SECOND = f"## 1.2 More ({words.SECOND_READING})"
PICTURE = new_output("display_data", {"image/svg+xml": "<svg/>", "text/plain": "a\nb"})
TEXT = new_output("stream", text="one\ntwo\n")


@pytest.mark.parametrize(
    ("source", "kinds"),
    [
        ("Two words", {"word": 2}),
        ("[Two words](a_long/address.html) <summary>here</summary>", {"word": 3}),
        ("苹果很甜 píngguǒ", {"word": 5}),
        ("$a$ and $$b\n= c$$", {"word": 1, "formula in a line": 1, "formula of its own": 1}),
        (f"**{words.PREDICT}** How?", {"word": 5, "prediction": 1}),
    ],
)
def test_what_is_counted_in_a_text(source: str, kinds: dict[str, int]) -> None:
    counted = count(new_markdown_cell(source))
    assert {kind: number for kind, number in counted.items() if number} == kinds


def test_what_is_counted_in_code() -> None:
    cell = new_code_cell("a = 1\n\nb = 2", outputs=[PICTURE, TEXT])
    assert count(cell) == {"picture": 1, "line of code": 2, "line of output": 2}


def notebook(*sources: str) -> NotebookNode:
    """A notebook of these texts."""
    return new_notebook(cells=[new_markdown_cell(source) for source in sources])


def test_a_second_reading_lasts_until_the_next_heading_and_exercises_are_not_read() -> None:
    chapter = notebook("one", SECOND, "two", "### Deeper", "## 1.3 Short", "three")
    chapter.cells.append(new_markdown_cell("a card", id="exercise-one"))
    chapter.cells.append(new_markdown_cell("again", metadata={"tags": ["remove-cell"]}))
    short, second = roads(chapter)
    word = SECONDS["word"]
    assert short == pytest.approx(word * len("one 1 3 Short three".split()))
    assert second == pytest.approx(word * len("1 2 More second reading two Deeper".split()))


def test_the_line_names_the_roads_that_there_are_and_rounds() -> None:
    text = "word " * 130 * 11
    assert time_line(notebook(text), []) == "10 minutes."
    assert time_line(notebook(text, SECOND, text), [5, 8]) == (
        "10 minutes, 10 more with the second readings, 15 for the exercises."
    )
    assert time_line(notebook("word"), []) == "5 minutes."
