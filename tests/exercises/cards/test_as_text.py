"""Cards as text: they fit the screen, in any encoding."""

import io
import re
import sys

import pytest
from rich.cells import cell_len

from attnbook.exercises import check
from attnbook.exercises.cards import as_text, console
from attnbook.exercises.cards.feedback import Feedback
from attnbook.exercises.catalog import ALL
from attnbook.exercises.checker.diagnose import diagnose
from attnbook.exercises.terminal import answer_files
from attnbook.exercises.terminal.commands import main
from tests.exercises.terminal.example import EXERCISE, NAME, each_exercise

MARKUP = r"\$|:::|\|--|^> |\*\*\w|\\[a-z]+\{"


@pytest.mark.usefixtures("solved_cases")
@each_exercise
def test_every_card_fits_and_shows_no_markup(name, capsys, monkeypatch):
    exercise = ALL[name]
    mistakes = [*exercise.mistakes, *getattr(exercise.common_mistakes, "singles", list)()]
    cards = [diagnose(exercise, f) for f in (mistakes[0].wrong, exercise.reference)]
    cards += [Feedback("failed", name, mistake.message) for mistake in mistakes]
    code = {line for card in cards for other in card.others for line in other.splitlines()}
    for columns in (40, 80):
        monkeypatch.setenv("COLUMNS", str(columns))
        console.print_text(answer_files.card_text(exercise), *map(as_text.card, cards))
        lines = [line for line in capsys.readouterr().out.splitlines() if line not in code]
        assert [line for line in lines if cell_len(line) > columns] == []
        assert [line for line in lines if re.search(MARKUP, line)] == []


def test_details_are_shown_once_whatever_else_is_empty():
    card = as_text.card_as_text(Feedback("info", "head", "", ("a  1\nb  2", "def f():\n    pass")))
    assert card == "· head\n  a  1\n  b  2\ndef f():\n    pass"


def test_on_a_wide_screen_lines_are_no_longer_than_can_be_read(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    console.print_text(as_text.card(Feedback("failed", "head", "word " * 99)))
    assert max(map(len, capsys.readouterr().out.splitlines())) in range(95, 101)


def test_columns_too_wide_for_the_screen_continue_below_their_start(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "24")
    numbers = "yours    0.1 0.2 0.3 0.4\n         0.5 0.6 0.7 0.8"
    console.print_text(as_text.card(Feedback("failed", "head", details=(numbers,))))
    assert capsys.readouterr().out.splitlines()[1:] == [
        "  yours    0.1 0.2 0.3",
        "           0.4",
        "           0.5 0.6 0.7",
        "           0.8",
    ]


def test_other_right_answers_are_shown_under_a_pass_and_can_be_copied():
    answer = f"def a():\n    return {'long ' * 30}1"
    card = as_text.card_as_text(Feedback("passed", "head", others=(answer, answer)))
    assert card.count(f"Another right answer:\n{answer}") == 2


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "gbk"])
def test_a_stream_that_cannot_show_a_sign_gets_another(encoding, monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(), encoding)
    monkeypatch.setattr(sys, "stdout", stream)
    check(EXERCISE.reference, NAME)
    check(lambda query, key: query @ key.mT, NAME)
    for line in ("progress", "list", "card 04.jobs", "hint 03.scores"):
        assert main(line.split()) == 0
    stream.flush()
    output = stream.buffer.getvalue().decode(encoding)
    assert "+ 03.scores" in output or "✓ 03.scores" in output
    assert ("苹果" in output) == (encoding == "gbk")
    assert (r"\u82f9" in output) == (encoding != "gbk")


@pytest.mark.parametrize(
    ("settings", "colored"),
    [({}, False), ({"FORCE_COLOR": "1"}, True), ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False)],
)
def test_colors_are_used_only_in_terminals_that_want_them(settings, colored, capsys, monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    check(lambda query, key: query @ key.mT, NAME)
    assert bool(re.search(r"\x1b\[[\d;]*3\d", capsys.readouterr().out)) == colored
    assert "\x1b" not in as_text.card_as_text(Feedback("passed", "head"))


class ZMQInteractiveShell: ...


class TerminalInteractiveShell: ...


@pytest.mark.parametrize(
    ("shell", "in_terminal"),
    [(None, True), (TerminalInteractiveShell(), True), (ZMQInteractiveShell(), False)],
)
def test_a_card_is_shown_once_as_text_in_a_terminal_and_as_html_in_a_notebook(
    shell, in_terminal, capsys, monkeypatch
):
    shown = []
    monkeypatch.setattr("IPython.get_ipython", lambda: shell)
    monkeypatch.setattr("IPython.display.display", lambda data, raw: shown.append(data))
    check(EXERCISE.reference, NAME)
    assert capsys.readouterr().out.count("✓ 03.scores") == in_terminal
    assert len(shown) == (not in_terminal)
    for data in shown:
        assert data["text/plain"].startswith("✓ 03.scores ")
        assert data["text/html"].startswith('<div role="status"')
    exec(answer_files.file_content(EXERCISE), {})  # a stub prints the same line in any shell
    assert capsys.readouterr().out == "○ 03.scores not attempted\n"
