"""Files are checked when they are saved, and words can be typed meanwhile."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from attnbook.exercises import log
from attnbook.exercises.cards import as_text
from attnbook.exercises.catalog import ALL
from attnbook.exercises.terminal import answer_files, watch
from tests.exercises.terminal.example import (
    EXERCISE,
    FILE,
    NAME,
    RIGHT,
    WRONG,
    Quick,
    answer,
    starts_a_process,
)


@pytest.fixture
def watcher(monkeypatch):
    monkeypatch.setattr(watch, "Runner", Quick)
    Quick.ran = []
    watcher = watch.Watcher(EXERCISE)
    watcher.open_exercise(EXERCISE)
    yield watcher
    as_text.command_template = ""


def poll(watcher: watch.Watcher, times: int = 2) -> None:
    for _ in range(times):
        watcher.check_saved_file()


def test_a_file_is_checked_once_it_is_completely_saved(watcher):
    poll(watcher)
    assert Quick.ran == []
    Path(FILE).write_text("half")
    poll(watcher, 1)
    Path(FILE).write_text("half and half")
    poll(watcher, 1)
    assert Quick.ran == []
    poll(watcher, 4)
    assert Quick.ran == ["half and half"]


@pytest.mark.parametrize("command", ["next", "reset"])
def test_a_file_is_checked_that_is_saved_while_the_words_before_it_are_printed(
    watcher, monkeypatch, command
):
    with monkeypatch.context() as patch:
        patch.setattr(watch.console, "print_text", lambda *texts: Path(FILE).write_text("soon"))
        patch.setattr(answer_files, "next_exercise", lambda *told: EXERCISE)
        if command == "next":
            Path(FILE).unlink()
        watcher.run_command(command)
    assert Quick.ran == []
    poll(watcher, 4)
    assert Quick.ran == ["soon"]


def test_after_a_pass_enter_opens_the_next_unsolved_exercise(watcher, capsys, monkeypatch):
    log.record("03.map", "pass")
    Path(FILE).write_text("right")
    capsys.readouterr()
    poll(watcher)
    assert watcher.exercise is EXERCISE
    assert not Path("03_weights.py").exists()
    assert capsys.readouterr().out.endswith("\nPress Enter for the next one: 03.weights\n")
    watcher.run_command("hint")
    assert "03.scores hint 1 of" in capsys.readouterr().out
    watcher.run_command("")
    assert watcher.exercise is ALL["03.weights"]
    assert Path("03_weights.py").exists()
    assert "Exercise 03.weights" in capsys.readouterr().out
    monkeypatch.setattr(watcher, "passed", set(ALL) - {"03.weights", "01.winner"})
    for name, following in (("03.weights", ALL["01.winner"]), ("01.winner", None)):
        answer_files.path_of(ALL[name]).write_text("right")
        poll(watcher)
        if following:
            watcher.run_command("")
        assert watcher.exercise is following
    assert "You have passed them all." in capsys.readouterr().out


def test_enter_opens_nothing_if_a_failure_follows_a_pass(watcher, capsys):
    for content in ("right", "wrong"):
        Path(FILE).write_text(content)
        poll(watcher)
    capsys.readouterr()
    watcher.run_command("")
    assert watcher.exercise is EXERCISE
    assert capsys.readouterr().out == ""


def test_if_nobody_can_type_the_next_exercise_opens_at_once(watcher):
    Path(FILE).write_text("right")
    poll(watcher)
    watcher.run_command(None)
    assert watcher.exercise is ALL["03.map"]
    Path("03_map.py").write_text("right")
    poll(watcher)
    assert watcher.exercise is ALL["03.weights"]


def test_a_file_that_is_deleted_is_named_once(watcher, capsys):
    Path("03_map.py").write_text("wrong")
    poll(watcher)
    for name, told in (
        ("03_map.py", "has disappeared. Save it again, or"),
        (FILE, "has disappeared.\n"),
    ):
        capsys.readouterr()
        Path(name).unlink()
        poll(watcher, 4)
        assert capsys.readouterr().out.count(f"{name} {told}") == 1
    Path("03_map.py").write_text("wrong again")
    poll(watcher)
    assert Quick.ran[-1] == "wrong again"


def test_reset_while_watching_starts_again_and_checks_nothing(watcher, capsys):
    stub = Path(FILE).read_text("utf-8")
    Path(FILE).write_text("wrong")
    poll(watcher)
    watcher.run_command("reset")
    assert "Your old answer: " in capsys.readouterr().out
    poll(watcher, 4)
    assert Quick.ran == ["wrong"]
    assert Path(FILE).read_text("utf-8") == stub


def test_another_file_that_is_saved_becomes_the_current_one(watcher, capsys):
    Path("03_map.py").write_text("wrong")
    poll(watcher)
    watcher.run_command("hint")
    assert "03.map hint 1 of" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("h", "03.scores hint 1"),
        ("solution", "Or use `solution --insist`"),
        ("solution --insist", "one right answer"),
        ("card", "Exercise 03.scores"),
        ("p", "Your progress"),
        ("n", "Exercise 03.map"),
        ("fly", "There is no command 'fly'"),
        ("", ""),
    ],
)
def test_words_typed_while_watching(word, message, watcher, capsys):
    capsys.readouterr()
    watcher.run_command(word)
    output = capsys.readouterr().out
    assert (message in output) if message else not output
    watcher.run_command("q")
    assert watcher.exercise is None


@starts_a_process
@pytest.mark.skipif(os.name == "nt", reason="Ctrl-C is no signal there")
def test_watch_from_the_first_save_to_ctrl_c(tmp_path):
    command = [sys.executable, "-m", "attnbook", "watch", NAME]
    with (tmp_path / "output").open("w") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            # without this, the program ignores Ctrl-C if a shell runs the tests in the background
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )

    def wait_for(words: str) -> None:
        for _ in range(3000):
            if words in (tmp_path / "output").read_text("utf-8"):
                return
            assert process.poll() is None
            time.sleep(0.1)
        pytest.fail(f"no {words!r} in {(tmp_path / 'output').read_text('utf-8')}")

    try:
        wait_for("It is checked")
        answer(WRONG)
        wait_for("✗ 03.scores")
        process.stdin.write(b"hint\n")
        process.stdin.flush()
        wait_for("03.scores hint 1 of 3")
        answer(RIGHT)
        wait_for("Press Enter for the next one: 03.map")
        assert "Exercise 03.map" not in (tmp_path / "output").read_text("utf-8")
        process.stdin.write(b"\n")
        process.stdin.flush()
        wait_for("Exercise 03.map")
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.communicate()
    text = (tmp_path / "output").read_text("utf-8")
    assert "✓ 03.scores" in text
    assert "Traceback" not in text
