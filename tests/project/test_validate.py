"""The table of what was checked where says what was run, and the page beside it says no more."""

import re
import subprocess
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from tools import validate
from tools.common import ROOT, UserError

TEXT = validate.PAGE.read_text("utf-8")
ROWS = [dict(zip(validate.HEAD, row, strict=True)) for row in validate.rows(TEXT)]

PAGE = f"# Title\n\n{validate.START}{validate.END}\nText.\n"
ROW = ["CPU, x", "3.11.7", "2.13.0", "9 of 9", "5 of 5", "abc1234"]

REPORT = """<testsuites><testsuite>
<testcase classname="tests.test_heads" name="a"/>
<testcase classname="tests.test_heads" name="b"><failure message="no"/></testcase>
<testcase classname="tests.test_heads" name="c"><error message="no"/></testcase>
<testcase classname="tests.test_heads" name="d"><skipped message="no"/></testcase>
<testcase classname="book.01_library.ipynb" name="Cell 0"/>
<testcase classname="book.01_library.ipynb" name="Cell 1"/>
<testcase classname="book.01_library.ipynb" name="Cell 2"><failure message="no"/></testcase>
</testsuite></testsuites>"""


def test_what_failed_is_counted_and_what_was_skipped_is_not(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    report.write_text(REPORT)
    assert validate.counted(report) == ((1, 3), (2, 3))


def test_the_real_report_tells_tests_from_cells(tmp_path: Path) -> None:
    """How pytest and nbval name a case is theirs to change."""
    report = tmp_path / "report.xml"
    command = [*validate.PYTEST, f"--junitxml={report}", "-k", "sentence or imports or Cell"]
    files = ["tests/library/test_sentence.py", "book/02_embeddings.ipynb"]
    subprocess.run([*command, "-q", "--maxfail=1", *files], cwd=ROOT, check=True)
    tests, cells = validate.counted(report)
    assert tests[0] == tests[1] > 3
    assert cells[0] == cells[1] > 30


def test_a_row_takes_the_place_of_an_older_one() -> None:
    once = validate.with_row(PAGE, ROW)
    assert validate.rows(once) == [ROW]
    again = validate.with_row(once, [*ROW[:3], "8 of 9", "5 of 5", "def5678"])
    assert validate.rows(again) == [[*ROW[:3], "8 of 9", "5 of 5", "def5678"]]
    other = validate.with_row(again, ["A GPU", *ROW[1:]])
    other = validate.with_row(other, [*ROW[:2], "2.6.0+cu124", *ROW[3:]])
    found = [(row[0], row[2]) for row in validate.rows(other)]
    assert found == [("A GPU", "2.13.0"), ("CPU, x", "2.6.0+cu124"), ("CPU, x", "2.13.0")]
    assert other.startswith("# Title")
    assert other.endswith("\nText.\n")


@pytest.mark.parametrize("name", ["code.py", "new.py"])
def test_what_is_not_committed_is_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(validate, "ROOT", tmp_path)
    monkeypatch.setattr(validate, "PAGE", tmp_path / "page.md")
    for file in ("code.py", "page.md"):
        (tmp_path / file).write_text("1")
    who = ("-c", "user.name=x", "-c", "user.email=x@example.org")
    for command in (("init",), ("add", "."), (*who, "commit", "--message=x")):
        subprocess.run(["git", *command], cwd=tmp_path, check=True, capture_output=True)
    (tmp_path / "page.md").write_text("another row")  # which is no reason
    assert re.fullmatch("[0-9a-f]{7}", validate.committed())
    (tmp_path / name).write_text("2")
    with pytest.raises(UserError, match="commit your changes and new files first"):
        validate.committed()


def test_a_run_of_nothing_is_no_success(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    monkeypatch.setattr(validate, "PAGE", page)
    monkeypatch.setattr(validate, "committed", lambda: "abc1234")
    for found, status in (((5, 5), (9, 9)), 0), (((5, 5), (0, 0)), 1), (((4, 5), (9, 9)), 1):
        monkeypatch.setattr(validate, "run", lambda found=found: found)
        assert validate.main() == status


def test_the_page_has_rows_for_the_pinned_and_the_oldest_pytorch() -> None:
    pinned = re.search(r"^torch==(\S+)", (ROOT / "requirements.txt").read_text("utf-8"), re.M)
    supported = re.search(r'"torch(>=[\d.]+)"', (ROOT / "pyproject.toml").read_text("utf-8"))
    assert pinned
    assert supported
    versions = {Version(row["PyTorch"]).base_version for row in ROWS}
    assert pinned[1] in versions
    assert any(version.startswith(supported[1].removeprefix(">=")) for version in versions)
    assert all(version in SpecifierSet(supported[1]) for version in versions)


def test_the_page_says_whether_a_gpu_was_used() -> None:
    on_a_gpu = [row for row in ROWS if "CUDA" in row["computed on"] and "rehearsal" not in str(row)]
    assert ("No row above is of a GPU" in TEXT) == (not on_a_gpu)


def test_every_row_names_a_commit_and_two_counts() -> None:
    assert ROWS
    for row in ROWS:
        assert re.fullmatch(r"[0-9a-f]{7}", row["commit"])
        for name in ("tests", "cells"):
            right, total = (int(n.replace(",", "")) for n in row[name].split(" of "))
            assert 0 < right <= total
