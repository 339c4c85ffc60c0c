"""Run library and notebooks where we are, and write the result into book/validation.md.

    make validate                    on the CPU
    make validate DEVICE=cuda        on a GPU

A row says what was computed where, with which versions, at which commit, and how much of it came
out right, failures included. A new run of the same combination takes the place of its row.
"""

import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import torch
from packaging.version import Version

from tools import device
from tools.common import ROOT, UserError

PAGE = ROOT / "book" / "validation.md"
START, END = "<!-- rows: make validate writes them -->\n", "<!-- end of rows -->\n"
HEAD = ("computed on", "Python", "PyTorch", "tests", "cells", "commit")
KEY = 3  # so many columns say which combination a row is about

# The rooms of the tests that compute; pages and tools are the same on every device.
ROOMS = [f"tests/{room}" for room in ("library", "exercises", "figures", "notebooks")]
PYTEST = [sys.executable, "-m", "pytest", "--nbval", "-o", "junit_family=xunit1"]

Counts = tuple[int, int]  # right, all


def main() -> int:
    """Run, write the row and show it; 1 if something failed or nothing could be run."""
    try:
        commit = committed()
        page = PAGE.read_text("utf-8")
        if not (START in page and END in page):
            raise UserError(f"{PAGE.name} has lost the lines around its table: {START.strip()}")
        tests, notebooks = run()
    except UserError as error:
        print(f"attention book: {error}", file=sys.stderr)
        return 1
    row = cells(tests, notebooks, commit)
    PAGE.write_text(with_row(page, row), encoding="utf-8")
    print(line(row))
    return 0 if all(right == all_ > 0 for right, all_ in (tests, notebooks)) else 1


def committed() -> str:
    """The commit that is checked out, if what it holds is what will run."""
    page = PAGE.relative_to(ROOT).as_posix()
    if git("status", "--porcelain", "--", ".", f":!{page}"):
        raise UserError(
            "commit your changes and new files first: a row names the commit that it is about"
        )
    return git("rev-parse", "--short=7", "HEAD")


def git(*command: str) -> str:
    """What git says."""
    done = subprocess.run(["git", *command], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        raise UserError("this is no clone of the repository, so no commit can be named")
    return done.stdout.strip()


def run() -> tuple[Counts, Counts]:
    """Run the tests that compute, and the notebooks; how many there are and how many passed."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.xml")
        subprocess.run([*PYTEST, f"--junitxml={report}", *ROOMS, "book"], cwd=ROOT)
        if not report.exists():
            raise UserError("pytest did not come to its end")
        return counted(report)


def counted(report: Path) -> tuple[Counts, Counts]:
    """What a report of pytest counts, tests and cells of notebooks apart."""
    seen = {True: [0, 0], False: [0, 0]}
    for case in ElementTree.parse(report).iter("testcase"):
        outcomes = {child.tag for child in case}
        if "skipped" in outcomes:
            continue
        counts = seen[case.get("classname", "").startswith("book")]
        counts[0] += not outcomes & {"failure", "error"}
        counts[1] += 1
    tests, notebooks = seen[False], seen[True]
    return (tests[0], tests[1]), (notebooks[0], notebooks[1])


def cells(tests: Counts, notebooks: Counts, commit: str) -> list[str]:
    """A row of the table."""
    system = f"{platform.system()} {platform.machine()}"
    where = f"CPU, {system}"
    if device.rehearsing():
        where = f"rehearsal of CUDA, {system}"
    elif device.requested() == "cuda":
        where = f"{torch.cuda.get_device_name()}, CUDA {torch.version.cuda}, {system}"
    shares = [f"{right:,} of {total:,}" for right, total in (tests, notebooks)]
    versions = [platform.python_version(), torch.__version__]
    return [where, *versions, *shares, commit]


def line(row: list[str]) -> str:
    """A row as Markdown."""
    return f"| {' | '.join(row)} |"


def rows(page: str) -> list[list[str]]:
    """The rows of the table in the page."""
    lines = page.partition(START)[2].partition(END)[0].strip().splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def with_row(page: str, row: list[str]) -> str:
    """The page with a row added, or put in the place of the one about the same combination."""
    before, start, rest = page.partition(START)
    _, end, after = rest.partition(END)
    table = {tuple(old[:KEY]): old for old in rows(page)} | {tuple(row[:KEY]): row}
    lines = [
        line(list(HEAD)),
        "|---" * len(HEAD) + "|",
        *map(line, sorted(table.values(), key=order)),
    ]
    return before + start + "\n" + "\n".join(lines) + "\n\n" + end + after


def order(row: list[str]) -> tuple[Any, ...]:
    """By device and system, then by version."""
    return row[0], *map(Version, row[1:KEY])


if __name__ == "__main__":
    sys.exit(main())
