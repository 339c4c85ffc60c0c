"""The table in book/validation.md reports what was actually run."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from manuscript.common import ROOT, UserError
from tools import validate

PAGE = f"# Title\n\n{''.join(validate.TABLE.ends)}\nText.\n"
ROW = ["CPU, x", "3.11.7", "2.13.0", "9 of 9", "5 of 5", "abc1234"]


def test_a_row_replaces_an_older_one_of_the_same_combination() -> None:
    once = validate.TABLE.with_row(PAGE, ROW)
    assert validate.TABLE.rows(once) == [ROW]
    again = validate.TABLE.with_row(once, [*ROW[:3], "8 of 9", "5 of 5", "def5678"])
    assert validate.TABLE.rows(again) == [[*ROW[:3], "8 of 9", "5 of 5", "def5678"]]
    other = validate.TABLE.with_row(again, ["A GPU", *ROW[1:]])
    other = validate.TABLE.with_row(other, [*ROW[:2], "2.6.0+cu124", *ROW[3:]])
    found = [(row[0], row[2]) for row in validate.TABLE.rows(other)]
    assert found == [("A GPU", "2.13.0"), ("CPU, x", "2.6.0+cu124"), ("CPU, x", "2.13.0")]
    assert other.count(validate.TABLE.ends[1]) == 1
    assert other.startswith("# Title")
    assert other.endswith("\nText.\n")


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Commit the page in a small checkout."""
    monkeypatch.setattr(validate, "ROOT", tmp_path)
    monkeypatch.setattr(validate, "PAGE", tmp_path / "page.md")
    (tmp_path / "page.md").write_text(PAGE)
    who = ("-c", "user.name=x", "-c", "user.email=x@example.org")
    for command in (("init",), ("add", "."), (*who, "commit", "--message=x")):
        subprocess.run(["git", *command], cwd=tmp_path, check=True, capture_output=True)
    return tmp_path / "page.md"


def test_uncommitted_changes_are_refused(page: Path) -> None:
    page.write_text("another row")  # this file does not count as a change
    assert re.fullmatch("[0-9a-f]{7}", validate.committed())
    page.with_name("new.py").write_text("2")
    with pytest.raises(UserError, match="commit your changes and new files first"):
        validate.main()


@pytest.mark.parametrize(
    ("tests", "cells", "status"), [((5, 5), (9, 9), 0), ((5, 5), (0, 0), 1), ((4, 5), (9, 9), 1)]
)
def test_a_failure_or_an_empty_run_exits_with_1(
    tests: tuple[int, int], cells: tuple[int, int], status: int, page: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(validate, "PYTEST", [sys.executable, "-c", "raise SystemExit(1)"])
    monkeypatch.setattr(validate, "passed_and_all", lambda report: [tests, cells])
    assert validate.main() == status
    (row,) = validate.TABLE.rows(page.read_text())
    assert row[3:5] == [f"{tests[0]} of {tests[1]}", f"{cells[0]} of {cells[1]}"]


def test_an_interrupted_run_writes_no_row(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(validate, "PYTEST", [sys.executable, "-c", "raise SystemExit(2)"])
    with pytest.raises(UserError, match="pytest was interrupted or crashed"):
        validate.main()
    assert page.read_text() == PAGE


def test_the_page_has_rows_for_the_pinned_and_the_oldest_pytorch() -> None:
    pinned = re.findall(r"^torch==(\S+)", (ROOT / "requirements.txt").read_text("utf-8"), re.M)
    oldest = re.findall(r'"torch>=([\d.]+)"', (ROOT / "pyproject.toml").read_text("utf-8"))
    rows = validate.TABLE.rows(validate.PAGE.read_text("utf-8"))
    versions = {Version(row[2]).base_version for row in rows}
    assert set(pinned) < versions
    assert any(version in SpecifierSet(f"=={oldest[0]}.*") for version in versions)
