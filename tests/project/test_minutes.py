"""The minutes of a chapter are estimated from its contents."""

import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from tools import markers
from tools.minutes import code_seconds, reading_seconds, text_seconds, time_line

SECOND = f"## 1.2 More ({markers.SECOND_READING})"
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
    """A notebook of these texts."""
    return new_notebook(cells=[new_markdown_cell(source) for source in sources])


def test_a_second_reading_lasts_until_the_next_heading_and_exercises_are_not_read() -> None:
    chapter = notebook("one", SECOND, "two", "### Deeper", "## 1.3 Short", "three")
    chapter.cells.append(new_markdown_cell("a card", id="exercise-one"))
    chapter.cells.append(new_markdown_cell("again", metadata={"tags": ["remove-cell"]}))
    short, second = reading_seconds(chapter)
    assert short == pytest.approx(WORD * len("one 1 3 Short three".split()))
    assert second == pytest.approx(WORD * len("1 2 More second reading two Deeper".split()))


def test_the_line_names_the_parts_that_there_are_and_rounds() -> None:
    text = "word " * 130 * 11
    assert time_line(notebook(text), []) == "10 minutes."
    assert time_line(notebook(text, SECOND, text), [5, 8]) == (
        "10 minutes, 10 more with the second readings, 15 for the exercises."
    )
    assert time_line(notebook("word"), []) == "5 minutes."
