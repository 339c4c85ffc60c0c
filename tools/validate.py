"""Test the library and notebooks on this machine, and write the result to book/validation.md.

    make validate                    on the CPU
    make validate DEVICE=cuda        on a GPU

A row names the device, the system, the versions and the commit, and says how many tests and cells
passed. A new run of the same combination replaces its row.
"""

import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import torch
from packaging.version import Version

from manuscript.common import ROOT, UserError, run_tool

PAGE = ROOT / "book" / "validation.md"

# The tests whose results may depend on the device, or on the version of PyTorch or Python, as those
# of `examine` do, which stay on the CPU. Those of pages and tools do not.
FOLDERS = ("library", "examination", "exercises", "figures", "notebooks")
TESTS = [f"tests/{folder}" for folder in FOLDERS]
PYTEST = [sys.executable, "-m", "pytest", "--nbval", "-o", "junit_family=xunit1"]
if os.environ.get("ATTNBOOK_DEVICE") != "cuda" or os.environ.get("ATTNBOOK_REHEARSAL"):
    PYTEST += ["-n", "auto"]  # a GPU's memory may be too small for a process on each core


class Table(NamedTuple):
    """A table in the page, between two comments, which a command writes row by row.

    The first `key` columns identify a row: the computer, then versions or numbers.
    """

    command: str
    head: list[str]
    key: int

    @property
    def ends(self) -> tuple[str, str]:
        """The comments before and after the table."""
        return f"<!-- rows: make {self.command} writes them -->\n", "<!-- end of rows -->\n"

    def rows(self, page: str) -> list[list[str]]:
        """Read the rows of the table in the page."""
        start, end = self.ends
        lines = page.partition(start)[2].partition(end)[0].strip().splitlines()[2:]
        return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]

    def with_row(self, page: str, row: list[str]) -> str:
        """Add a row to the page, in place of an earlier row for the same combination."""
        start, end = self.ends
        before, _, rest = page.partition(start)
        after = rest.partition(end)[2]
        table = {tuple(old[: self.key]): old for old in [*self.rows(page), row]}
        rows = sorted(table.values(), key=lambda row: (row[0], *map(Version, row[1 : self.key])))
        lines = [markdown(self.head), "|---" * len(self.head) + "|", *map(markdown, rows)]
        return before + start + "\n" + "\n".join(lines) + "\n\n" + end + after


def markdown(row: list[str]) -> str:
    """Format a row of a table."""
    return f"| {' | '.join(row)} |"


TABLE = Table("validate", ["computed on", "Python", "PyTorch", "tests", "cells", "commit"], 3)


def main() -> int:
    """Run the tests, write a row and print it; return 1 if something failed or nothing was run."""
    commit = committed()
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.xml")
        done = subprocess.run([*PYTEST, f"--junitxml={report}", *TESTS, "book"], cwd=ROOT)
        if done.returncode not in (0, 1):  # 0: all passed; 1: some failed
            raise UserError("pytest was interrupted or crashed, so no row was written")
        counts = passed_and_all(report)
    shares = [f"{passed:,} of {total:,}" for passed, total in counts]
    row = [device_and_system(), platform.python_version(), torch.__version__, *shares, commit]
    PAGE.write_text(TABLE.with_row(PAGE.read_text("utf-8"), row), encoding="utf-8")
    print(markdown(row))
    return 0 if all(passed == total > 0 for passed, total in counts) else 1


def committed() -> str:
    """Return the commit that is checked out; raise `UserError` if a file differs from it."""

    def git(command: str) -> str:
        return subprocess.check_output(["git", *command.split()], cwd=ROOT, text=True).strip()

    if git(f"status --porcelain -- . :!{PAGE.relative_to(ROOT).as_posix()}"):
        raise UserError("commit your changes and new files first: a row names the commit")
    return git("rev-parse --short=7 HEAD")


def passed_and_all(report: Path) -> list[tuple[int, int]]:
    """Return (passed, total) from pytest's report, first for the tests, then for the cells."""
    counts = {False: [0, 0], True: [0, 0]}
    for case in ElementTree.parse(report).iter("testcase"):
        outcomes = {child.tag for child in case}
        if "skipped" not in outcomes:
            count = counts[case.get("file", "").endswith(".ipynb")]
            count[0] += not outcomes & {"failure", "error"}
            count[1] += 1
    return [(passed, total) for passed, total in counts.values()]


def device_and_system() -> str:
    """Name the device and the system, for the first column."""
    system = f"{platform.system()} {platform.machine()}"
    if os.environ.get("ATTNBOOK_REHEARSAL"):
        return f"rehearsal of CUDA, {system}"
    if os.environ.get("ATTNBOOK_DEVICE") == "cuda":
        return f"{torch.cuda.get_device_name()}, CUDA {torch.version.cuda}, {system}"
    return f"CPU, {system}"


if __name__ == "__main__":
    run_tool(main)
