"""The exercises outside a notebook: cards as text, a file for each answer, and the commands."""

import io
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from rich.cells import cell_len

from attnbook import exercises
from attnbook.exercises import check, log
from attnbook.exercises.cards import as_text, console
from attnbook.exercises.cards.feedback import Feedback
from attnbook.exercises.catalog import ALL
from attnbook.exercises.checker.diagnose import diagnose
from attnbook.exercises.terminal import answer_files, runner, watch
from attnbook.exercises.terminal import commands as terminal
from attnbook.exercises.terminal.commands import main
from attnbook.exercises.terminal.runner import Result, Runner

NAME = "03.scores"
EXERCISE = ALL[NAME]
FILE = "03_scores.py"
RAISES = re.compile(r" +raise NotImplementedError.*\n")
RIGHT = "    return query @ key.mT / math.sqrt(query.size(-1))\n"
WRONG = "    return query @ key.mT\n"
MARKUP = r"\$|:::|\|--|^> |\*\*\w|\\[a-z]+\{"
starts_a_process = pytest.mark.on_cpu  # a rehearsal simulates its GPU in this process only
each_exercise = pytest.mark.parametrize("name", ALL)


@pytest.fixture(autouse=True)
def workplace(tmp_path, monkeypatch):
    monkeypatch.setenv("ATTNBOOK_PROGRESS", str(tmp_path / "kept"))
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def typed(capsys):
    """Run a command line; return its standard output, its standard error and its exit code."""

    def typed(line: str) -> tuple[str, str, int]:
        code = main(line.split())
        output = capsys.readouterr()
        return output.out, output.err, code

    return typed


def answer(line: str) -> None:
    """Write an answer into the file of 03.scores, in place of the stub's `raise`."""
    answer_files.create(EXERCISE)
    content = answer_files.file_content(EXERCISE)
    path = answer_files.path_of(EXERCISE)
    path.write_text(RAISES.sub(line.replace("\\", r"\\"), content), "utf-8")


class Quick:
    """A substitute for Runner that starts no process: a file passes if it contains "right"."""

    ran: list[str]

    def run(self, path: Path) -> list[Result]:
        Quick.ran.append(path.read_text("utf-8"))
        name = answer_files.exercise_id(path.name)
        return [Result(name, "passed" if "right" in path.read_text("utf-8") else "failed")]

    def close(self) -> None: ...


# --- cards as text ---------------------------------------------------------------------------


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


# --- the file of an answer -------------------------------------------------------------------


@pytest.mark.usefixtures("solved_cases")
@each_exercise
def test_a_started_file_holds_all_that_the_solution_needs(name, capsys):
    exercise = ALL[name]
    stub, solution = exercise.stub.strip(), exercise.solution()
    before = answer_files.file_content(exercise)
    for content, output in (
        (before, f"○ {name} not attempted\n"),
        (before.replace(stub, solution), f"✓ {name} "),
    ):
        exec(compile(content, FILE, "exec"), {})
        assert capsys.readouterr().out.startswith(output)
    assert len(re.findall("^# .*", before, re.MULTILINE)) >= 3


def test_reset_restores_the_stub_and_keeps_every_answer(typed):
    stub = answer_files.file_content(EXERCISE)
    for content, kept in (("mine", "03_scores.old.py"), ("again", "03_scores.old2.py")):
        Path(FILE).write_text(content)
        out, _, code = typed("reset 03.scores")
        assert code == 0
        assert f"The stub is back: {Path(FILE).resolve()}\n" in out
        assert f"Your old answer: {Path(kept).resolve()}\n" in out
        assert Path(FILE).read_text("utf-8") == stub
    assert "Your old answer" not in typed("reset")[0], "the file already contains the stub"
    Path(FILE).unlink()
    assert "Your old answer" not in typed("reset 03.scores")[0]
    assert Path(FILE).read_text("utf-8") == stub
    assert {p.name: p.read_text() for p in Path().glob("*.old*")} == {
        "03_scores.old.py": "mine",
        "03_scores.old2.py": "again",
    }


def test_a_reset_that_fails_loses_nothing(typed, monkeypatch):
    Path(FILE).write_text("mine")
    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", lambda path, target: Path("nowhere/at/all").read_text())
        assert typed("reset 03.scores")[1:] == (
            "attnbook: nowhere/at/all: No such file or directory\n",
            2,
        )
    assert [path.name for path in Path().glob("03*")] == [FILE]
    assert Path(FILE).read_text() == "mine"


def test_start_writes_a_file_once_and_never_over_an_answer(typed):
    out, _, code = typed("start 03.scores")
    assert code == 0
    assert f"Your file: {Path(FILE).resolve()}\n" in out
    Path(FILE).write_text("mine")
    out, _, code = typed("start 03.scores")
    assert code == 0
    assert "was not changed" in out
    assert Path(FILE).read_text() == "mine"


def test_without_an_id_a_command_uses_the_last_saved_file_or_the_next_exercise(typed):
    first = next(iter(ALL))
    assert first in typed("card")[0]
    for seconds, name in enumerate(("03.scores", "03.map"), 100):
        answer_files.create(ALL[name])
        os.utime(answer_files.path_of(ALL[name]), (seconds, seconds))
    assert "03.map hint 1" in typed("hint")[0]
    assert f"Your file: {Path('01_lookup.py').resolve()}" in typed("start")[0]


# --- commands --------------------------------------------------------------------------------


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


# --- running a file --------------------------------------------------------------------------


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
    monkeypatch.setattr(runner, "CHECK_SECONDS", 10.0)
    answer(line)
    assert not runner.all_passed(Runner().run(Path(FILE)))
    output = capfd.readouterr()
    assert message in output.out
    assert output.err == ""


@starts_a_process
def test_a_file_that_runs_ends_with_the_program_that_runs_it():
    endless = "sum(range(10**13))" if sys.platform == "linux" else "while True: pass"
    Path(FILE).write_text(f"print('begun', flush=True)\n{endless}")
    command = [sys.executable, "-m", "attnbook", "check", FILE]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline().strip() == b"begun"
        process.kill()
        process.communicate(timeout=5)  # returns only when no process is left that could write


def test_after_a_check_that_passes_the_next_exercise_is_named(typed, monkeypatch):
    monkeypatch.setattr(terminal, "Runner", Quick)
    Quick.ran = []
    Path(FILE).write_text("right")
    out, _, code = typed(f"check {FILE}")
    assert code == 0
    assert "The next one: python -m attnbook start 03.map" in out


@pytest.fixture
def as_main(monkeypatch):
    """Undo the changes that running a file makes."""
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    monkeypatch.setattr(sys, "argv", [])
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    monkeypatch.setattr(exercises, "diagnose", exercises.diagnose)


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


# --- at each save ----------------------------------------------------------------------------


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
