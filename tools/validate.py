"""Run library and notebooks where we are, and write the result into book/validation.md.

    make validate                    on the CPU
    make validate DEVICE=cuda        on a GPU

A row says what was computed where, with which versions, at which commit, and how much of it came
out right, failures included. A new run of the same combination takes the place of its row.
"""

import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from xml.etree import ElementTree

import torch
from packaging.version import Version

from tools.common import ROOT, UserError, run_tool

PAGE = ROOT / "book" / "validation.md"
START, END = "<!-- rows: make validate writes them -->\n", "<!-- end of rows -->\n"
HEAD = ["computed on", "Python", "PyTorch", "tests", "cells", "commit"]
KEY = 3  # so many columns say which combination a row is about

# The rooms of the tests that compute; pages and tools are the same on every device.
ROOMS = [f"tests/{room}" for room in ("library", "exercises", "figures", "notebooks")]
PYTEST = [sys.executable, "-m", "pytest", "--nbval", "-o", "junit_family=xunit1"]


def main() -> int:
    """Run, write the row and show it; 1 if something failed or nothing could be run."""
    commit = committed()
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.xml")
        done = subprocess.run([*PYTEST, f"--junitxml={report}", *ROOMS, "book"], cwd=ROOT)
        if done.returncode not in (0, 1):  # all passed, some failed
            raise UserError("pytest did not come to its end")
        counts = passed_and_all(report)
    shares = [f"{passed:,} of {total:,}" for passed, total in counts]
    row = [place(), platform.python_version(), torch.__version__, *shares, commit]
    PAGE.write_text(with_row(PAGE.read_text("utf-8"), row), encoding="utf-8")
    print(markdown(row))
    return 0 if all(passed == total > 0 for passed, total in counts) else 1


def committed() -> str:
    """The commit that is checked out; raise `UserError` if not all of what will run is in it."""

    def git(command: str) -> str:
        return subprocess.check_output(["git", *command.split()], cwd=ROOT, text=True).strip()

    if git(f"status --porcelain -- . :!{PAGE.relative_to(ROOT).as_posix()}"):
        raise UserError("commit your changes and new files first: a row names the commit")
    return git("rev-parse --short=7 HEAD")


def passed_and_all(report: Path) -> list[tuple[int, int]]:
    """How many passed, and of how many, in a report of pytest: the tests, then notebooks' cells."""
    counts = {False: [0, 0], True: [0, 0]}
    for case in ElementTree.parse(report).iter("testcase"):
        outcomes = {child.tag for child in case}
        if "skipped" not in outcomes:
            count = counts[case.get("file", "").endswith(".ipynb")]
            count[0] += not outcomes & {"failure", "error"}
            count[1] += 1
    return [(passed, total) for passed, total in counts.values()]


def place() -> str:
    """The device and the system, as the first column names them."""
    system = f"{platform.system()} {platform.machine()}"
    if os.environ.get("ATTNBOOK_REHEARSAL"):
        return f"rehearsal of CUDA, {system}"
    if os.environ.get("ATTNBOOK_DEVICE") == "cuda":
        return f"{torch.cuda.get_device_name()}, CUDA {torch.version.cuda}, {system}"
    return f"CPU, {system}"


def markdown(row: list[str]) -> str:
    """A row of the table."""
    return f"| {' | '.join(row)} |"


def rows(page: str) -> list[list[str]]:
    """The rows of the table in the page."""
    lines = page.partition(START)[2].partition(END)[0].strip().splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def with_row(page: str, row: list[str]) -> str:
    """The page with a row added, or put in the place of the one about the same combination."""
    before, start, rest = page.partition(START)
    _, end, after = rest.partition(END)
    table = {tuple(old[:KEY]): old for old in [*rows(page), row]}
    by_version = sorted(table.values(), key=lambda row: (row[0], *map(Version, row[1:KEY])))
    lines = [markdown(HEAD), "|---" * len(HEAD) + "|", *map(markdown, by_version)]
    return before + start + "\n" + "\n".join(lines) + "\n\n" + end + after


if __name__ == "__main__":
    run_tool(main)
