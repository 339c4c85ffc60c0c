"""A file is run in a process of its own, and whatever stops it is explained."""

import importlib
import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from attnbook.exercises import log
from attnbook.exercises.cards import as_text
from attnbook.exercises.terminal import answer_files, runner
from attnbook.exercises.terminal.commands import main
from attnbook.exercises.terminal.runner import Runner
from tests.exercises.terminal.example import (
    EXERCISE,
    FILE,
    NAME,
    RAISES,
    RIGHT,
    WRONG,
    answer,
    starts_a_process,
)


@starts_a_process
def test_check_runs_the_file_in_a_process_of_its_own_even_if_it_closes_its_output(capfd):
    answer(f"{WRONG}import sys; sys.stdout.close()\n")
    assert main(["check"]) == 1
    output = capfd.readouterr()
    assert "✗ 03.scores" in output.out
    assert "`python -m attnbook hint 03.scores`" in output.out.replace("\n  ", " ")
    assert output.err == ""
    assert log.read()[0][NAME] == {"try": 1}


@starts_a_process
@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("    import os; os._exit(0)\n", "03_scores.py ended Python (exit code 0)"),
        ("    return sum(range(10**13))\n", "return sum(range(10**13))"),
    ],
)
def test_an_answer_that_crashes_python_or_never_ends_gets_a_message(
    line, message, capfd, monkeypatch
):
    monkeypatch.setattr(runner, "CHECK_SECONDS", 3.0)
    answer(line)
    assert not runner.all_passed(Runner().run(Path(FILE)))
    output = capfd.readouterr()
    assert message in output.out
    assert output.err == ""


@starts_a_process
def test_a_file_that_never_reaches_its_check_is_stopped(capfd, monkeypatch):
    monkeypatch.setattr(runner, "LOAD_SECONDS", 1.0)
    Path(FILE).write_text("\nwhile True:\n    pass\n")
    assert not runner.all_passed(Runner().run(Path(FILE)))
    assert "03_scores.py took too long" in capfd.readouterr().out


@starts_a_process
def test_a_file_that_runs_ends_with_the_program_that_runs_it():
    endless = "sum(range(10**13))" if sys.platform == "linux" else "while True: pass"
    Path(FILE).write_text(f"print('begun', flush=True)\n{endless}")
    command = [sys.executable, "-m", "attnbook", "check", FILE]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline().strip() == b"begun"
        process.kill()
        process.communicate(timeout=5)  # returns only when no process is left that could write


@starts_a_process
@pytest.mark.skipif(os.name != "posix", reason="Windows cannot fork")
def test_a_process_that_a_file_leaves_behind_is_ended():
    fcntl = importlib.import_module("fcntl")  # which Windows lacks
    Path(FILE).write_text(
        "import fcntl, os, pathlib, time\n"
        "if not os.fork():\n"
        "    file = open('held', 'w')\n"
        "    fcntl.flock(file, fcntl.LOCK_EX)\n"
        "    pathlib.Path('begun').touch()\n"
        "    time.sleep(100)\n"
        "while not pathlib.Path('begun').exists():\n"
        "    time.sleep(0.1)\n"
    )
    Runner().run(Path(FILE))
    with open("held") as file:
        for _ in range(100):  # a process needs a moment to end
            with suppress(BlockingIOError):
                return fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            time.sleep(0.1)
    pytest.fail("the process still holds its file")


def test_each_check_has_its_own_time_limit(as_main, monkeypatch, tmp_path):
    limits: list[float] = []
    monkeypatch.setattr(
        "faulthandler.dump_traceback_later", lambda seconds, **more: limits.append(seconds)
    )
    answer(RIGHT)
    Path(FILE).rename(runner.SOURCE_FILE)
    runner.check_file(Path(FILE), tmp_path, 10, 60)
    assert limits == [10, 60, 10]


@pytest.mark.parametrize(
    ("source", "parts"),
    [
        ("def f(:\n", ("is not valid Python yet", "SyntaxError", "line 1   def f(:")),
        ("\nx = np.ones(3)", ("stopped before its end", "name 'np' is", "line 2   x = np.ones(3)")),
        ("def my_score(): 0\nmy_scores", ("Did you mean `my_score`?", "line 2   my_scores")),
        ("def dot(): 0\nmy_scores", ("asks for `my_scores`; your file defines `dot`.",)),
        ("\nx = split_heads(3)", ("split_heads' is not", "`from attnbook import split_heads`.")),
        ("import nowhere_at_all", ("No module named", "line 1   import")),
        ("import sys\nsys.exit()", ("SystemExit", "line 2   sys.exit()")),
        ("import helper", ("helper.py is not valid Python yet", "line 1   1 +")),
        ("\x00", ("is not valid Python yet", "null byte")),
    ],
)
def test_the_line_at_which_a_file_stops_before_its_check_is_shown(source, parts, as_main):
    Path("helper.py").write_text("1 +")
    card = as_text.card_as_text(runner.run_file(Path(FILE).resolve(), source.encode())).replace(
        "\n  ", " "
    )
    assert [part for part in parts if part not in card] == []


@pytest.mark.parametrize(
    ("name", "source", "message"),
    [
        ("03_scores.py", "", 'last line should be `check(my_scores, "03.scores")`, not indented.'),
        ("01_winner.py", "", 'should be `check(winner, "01.winner")`, not indented.'),
        ("01_winner.py", "1", "`python -m attnbook reset 01.winner` brings back the stub"),
        ("mine.py", "1", 'should be `check(NAME, "ID")`, not indented.'),
    ],
)
def test_a_file_without_a_check_gets_a_message_with_the_right_line(
    name, source, message, as_main, capsys, tmp_path, monkeypatch
):
    monkeypatch.setattr(as_text, "command_template", "python -m attnbook {name} {exercise}")
    (tmp_path / runner.SOURCE_FILE).write_text(source)
    runner.check_file(Path(name), tmp_path, 10, 10)
    assert message in capsys.readouterr().out.replace("\n  ", " ")


def test_lines_in_messages_are_those_that_ran_not_those_saved_since(as_main, capsys):
    first = answer_files.file_content(EXERCISE)
    path = Path(FILE).resolve()
    for line in ("    return queriess @ key.mT\n", "    return query @ keyss.mT\n"):
        path.write_text("\n\n\n")  # now another version is on disk
        assert runner.run_file(path, RAISES.sub(line, first).encode()) is None
        output = capsys.readouterr().out
        assert f"in your line   {line.strip()}" in output
    assert "Did you mean `key`?" in output.replace("\n ", "")
