"""Every general statement of a summary is tried by a program that quotes it."""

import ast
import re
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from manuscript.common import ROOT, UserError
from tests.support.not_general import DEFINITIONS, RESULTS
from tools import claims

SUMMARIES = claims.summaries()
NOT_GENERAL = [*DEFINITIONS, *RESULTS]


class Program(NamedTuple):
    """A test that is marked with `@claim`."""

    name: str
    statements: tuple[str, ...]
    says_what: bool  # it names what it tries, by arguments or in words


def programs() -> list[Program]:
    """Read the marks of all tests, without importing the tests."""
    found = []
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        if "@claim(" in (text := path.read_text("utf-8")):
            for test in ast.walk(ast.parse(text)):
                if isinstance(test, ast.FunctionDef):
                    found += marks(path.name, test)
    return found


def marks(file: str, test: ast.FunctionDef) -> list[Program]:
    """Read the marks of a test."""
    calls = [each for each in test.decorator_list if isinstance(each, ast.Call)]
    others = any(ast.unparse(call.func).endswith("parametrize") for call in calls)
    return [
        Program(
            f"{file}: {test.name}",
            tuple(ast.literal_eval(each) for each in call.args),
            others or bool(call.keywords),
        )
        for call in calls
        if ast.unparse(call.func) == "claim"
    ]


def sentences(summary: str) -> list[str]:
    """Split a summary into its sentences and the parts between semicolons, without its heading."""
    points = re.findall(r"^\d+\. (.*)", summary, re.M)
    return [part for point in points for part in re.split(r"(?<=[.;])\)? +", point) if part]


PROGRAMS = programs()
QUOTED = [s for program in PROGRAMS for s in program.statements]
TRIED = [n for n, text in SUMMARIES.items() if any(s in text for s in QUOTED)]


def uncovered(summary: str, quoted: list[str]) -> list[str]:
    """Return the sentences of a summary of which less than half is quoted."""
    left = summary
    for each in sorted(quoted, key=len, reverse=True):
        left = left.replace(each, "\0" * len(each))
    start, missing = 0, []
    for sentence in sentences(summary):
        start = summary.index(sentence, start)
        if left[start : start + len(sentence)].count("\0") < len(sentence) / 2:
            missing.append(sentence)
    return missing


def test_each_statement_is_quoted_verbatim_from_one_summary() -> None:
    for statement in [*QUOTED, *NOT_GENERAL]:
        where = [number for number, text in SUMMARIES.items() if statement in text]
        assert len(where) == 1, f"{statement!r} is in the summaries of {where}"


@pytest.mark.parametrize("number", TRIED)
def test_every_sentence_of_a_summary_is_tried_or_is_no_statement(number: int) -> None:
    assert uncovered(SUMMARIES[number], [*QUOTED, *NOT_GENERAL]) == []


def test_what_is_no_general_statement_is_not_tried() -> None:
    assert not [part for part in NOT_GENERAL if any(part in q or q in part for q in QUOTED)]


def test_a_program_says_what_it_tries() -> None:
    assert [program.name for program in PROGRAMS if not program.says_what] == []


def test_a_new_sentence_and_a_changed_one_are_found() -> None:
    summary = "## 1.2 Summary\n\n1. One. Two; (three.)\n2. The $x^2$ of it.\n"
    assert sentences(summary) == ["One.", "Two;", "(three.)", "The $x^2$ of it."]
    assert uncovered(summary, ["One. Two", "three", "The $x^2$"]) == []
    assert uncovered(summary, ["One", "Zwei", "three"]) == ["Two;", "The $x^2$ of it."]


# --- the table -----------------------------------------------------------------------------------

PROGRAM = """
from tests.support.claims import claim


@claim("One.", seed=(1, 2), width=(8,))
def test_one(seed, width):
    assert seed == 1 and width == 8


@claim("Two.", tried="all widths")
def test_two():
    pass
"""

CONFTEST = """
from tests.support.claims import report_claims as pytest_collection_modifyitems
"""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A page with an empty table, and a file of programs in place of ours."""
    (tmp_path / "test_chapter_07.py").write_text(PROGRAM)
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "page.md").write_text("".join(["Text.\n", *claims.TABLE.ends, "Text.\n"]))
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-o"]
    monkeypatch.setattr(claims, "PYTEST", [*command, "junit_family=xunit1"])
    monkeypatch.setattr(claims, "TESTS", [str(tmp_path)])
    monkeypatch.setattr(claims, "PAGE", tmp_path / "page.md")
    monkeypatch.setattr(claims, "committed", lambda: "abc1234")
    monkeypatch.setattr(claims, "device_and_system", lambda: "CPU, x")
    monkeypatch.setattr(claims, "summaries", lambda: {7: "One. Two."})
    return tmp_path / "page.md"


def test_the_table_counts_what_was_tried_and_what_held(run: Path, capsys) -> None:
    assert claims.main() == 1  # one try failed
    (row,) = claims.TABLE.rows(run.read_text())
    assert row[:5] == ["CPU, x", "7", "2", "3", "2"]
    assert row[-1] == "abc1234"
    printed = capsys.readouterr().out.splitlines()
    assert printed[2:] == [
        "| 7 | One. | seed 1, width 8; seed 2, width 8 | 1 of 2 |",
        "| 7 | Two. | all widths | 1 of 1 |",
    ]


def test_an_interrupted_run_writes_no_row(run: Path, monkeypatch) -> None:
    monkeypatch.setattr(claims, "PYTEST", [sys.executable, "-c", "raise SystemExit(2)"])
    with pytest.raises(UserError, match="pytest was interrupted or crashed"):
        claims.main()
    assert not claims.TABLE.rows(run.read_text())
