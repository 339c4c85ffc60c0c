"""The file of an answer is made once, and nothing in it is lost."""

import itertools
import re
from pathlib import Path

import pytest
from rich.cells import cell_len

from attnbook.exercises.cards import as_text
from attnbook.exercises.catalog import ALL
from attnbook.exercises.terminal import answer_files
from tests.exercises.terminal.example import EXERCISE, FILE, each_exercise


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
    comments = re.findall("^#.*", before, re.MULTILINE)
    assert len(comments) >= 3
    assert max(map(len, comments)) <= as_text.MAX_WIDTH
    assert "mistakes" not in "".join(re.findall("^(?:from|import).*", before, re.MULTILINE))


def test_a_paragraph_of_the_task_is_wrapped_once():
    for exercise in ALL.values():
        content = answer_files.file_content(exercise)
        for paragraph in content.partition("\n\n")[0].split("\n#\n"):
            lines = [line.removeprefix("# ") for line in paragraph.splitlines()]
            if any(answer_files.STRUCTURE.match(line) for line in lines):
                continue
            for line, following in itertools.pairwise(lines):
                assert cell_len(f"# {line} {following.split()[0]}") > as_text.MAX_WIDTH, paragraph


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
