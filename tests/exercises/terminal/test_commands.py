"""The commands: what each prints, and errors of one line."""

import io
import os
import re
import sys
from pathlib import Path

import pytest

from attnbook.exercises import check, log
from attnbook.exercises.cards import console
from attnbook.exercises.catalog import ALL
from attnbook.exercises.terminal import answer_files
from attnbook.exercises.terminal import commands as terminal
from attnbook.exercises.terminal.commands import main
from tests.exercises.terminal.example import EXERCISE, FILE, NAME, Quick


def test_without_an_id_a_command_uses_the_last_saved_file_or_the_next_exercise(typed):
    first = next(iter(ALL))
    assert first in typed("card")[0]
    for seconds, name in enumerate(("03.scores", "03.map"), 100):
        answer_files.create(ALL[name])
        os.utime(answer_files.path_of(ALL[name]), (seconds, seconds))
    assert "03.map hint 1" in typed("hint")[0]
    assert f"Your file: {Path('01_lookup.py').resolve()}" in typed("start")[0]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", "usage: python -m attnbook"),
        ("list", "03.scores"),
        ("next", "python -m attnbook start 01.lookup"),
        ("progress", "0 of"),
        ("hint 03.scores", "03.scores hint 1 of 3"),
        ("hint 03_scores.py", "03.scores hint 1 of 3"),
        ("card 03.scores", "raise NotImplementedError"),
        ("solution 03.scores", "python -m attnbook solution 03.scores --insist"),
        ("solution 03.scores --insist", "def "),
    ],
)
def test_each_command_prints_its_message(line, message, typed):
    out, err, code = typed(line)
    assert message in re.sub(r"\n +", " ", out)
    assert (err, code) == ("", 0)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("chek", "invalid choice: 'chek'"),
        ("hint 03.scroes", "did you mean 03.scores"),
        (
            "check 03.scores",
            "03_scores.py does not exist here; python -m attnbook start 03.scores creates",
        ),
        ("check nowhere.py", "nowhere.py"),
        ("report nowhere", "nowhere: "),
        ("report .", "contains no progress file"),
        ("start 03.map", "03_map.py: "),
    ],
)
def test_an_error_is_one_line(line, message, typed, monkeypatch, tmp_path):
    if line.startswith("start"):
        monkeypatch.setattr(answer_files, "path_of", lambda exercise: Path("nowhere/03_map.py"))
    out, err, code = typed(line)
    assert (out, code) == ("" if "start" not in line else out, 2)
    assert err.count("\n") == 1
    assert message in err


def test_a_closed_output_is_not_an_error(monkeypatch):
    stream = io.StringIO()
    stream.close()
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setenv("NO_COLOR", "1")  # without it, Python 3.14 asks if the output is a terminal
    assert main(["list"]) == 0
    check(EXERCISE.reference, NAME)
    assert log.read()[0][NAME]["pass"] == 1


def test_a_closed_pipe_ends_the_program_without_a_traceback():
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "w") as stream, pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdout", stream)
        assert console.ignore_broken_pipe(lambda: main(["list"])) == 1


def test_damaged_progress_is_reported_by_next_and_list(typed):
    log.record(NAME, "pass")
    with log.path().open("a") as file:
        file.write("\n{")
    assert "1 line is damaged in" in typed("next")[0]
    assert "1 line is damaged in" in typed("list")[0]


def test_after_a_check_that_passes_the_next_exercise_is_named(typed, monkeypatch):
    monkeypatch.setattr(terminal, "Runner", Quick)
    Quick.ran = []
    Path(FILE).write_text("right")
    out, _, code = typed(f"check {FILE}")
    assert code == 0
    assert "The next one: python -m attnbook start 03.map" in out
