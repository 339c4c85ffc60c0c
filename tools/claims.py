"""Try the general statements of the summaries, and write the result to book/validation.md.

    make claims

A program is a test that is marked with `@claim` (tests/support/claims.py) or is in tests/claims/.
It tries a statement with other seeds and sizes than its chapter. The command prints how often each
statement held, and writes a row for each chapter into the page. The weekly workflow shows the list.
"""

import json
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from datetime import date
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

from manuscript.chapters import chapters
from manuscript.common import ROOT, UserError, run_tool
from tools.validate import PAGE, Table, committed, device_and_system, markdown

COLUMNS = ["statements", "tries", "held", "seconds", "date", "commit"]
TABLE = Table("claims", ["computed on", "chapter", *COLUMNS], 2)
LIST = ["chapter", "statement", "tried", "held"]
PYTEST = [sys.executable, "-m", "pytest", "-n", "auto", "-m", "claim", "-o", "junit_family=xunit1"]
TESTS = [f"tests/{folder}" for folder in ("claims", "library", "notebooks")]


class Try(NamedTuple):
    """One run of a program."""

    file: str
    statements: tuple[str, ...]  # of a summary; none if it tries another sentence of the chapter
    tried: str
    seconds: float
    held: bool


def main() -> int:
    """Run the programs, print a list, write the rows; return 1 if a statement did not hold."""
    commit = committed()
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.xml")
        done = subprocess.run([*PYTEST, f"--junitxml={report}", *TESTS], cwd=ROOT, stdout=2)
        if done.returncode not in (0, 1):  # 0: all passed; 1: some failed
            raise UserError("pytest was interrupted or crashed, so no row was written")
        tries = by_chapter(read_report(report))
    page, stamp = PAGE.read_text("utf-8"), [date.today().isoformat(), commit]
    print(markdown(LIST), "|---" * len(LIST) + "|", sep="\n")
    for number, found in sorted(tries.items()):
        for line in listed(number, found):
            print(markdown(line))
        page = TABLE.with_row(page, [device_and_system(), str(number), *counted(found), *stamp])
    PAGE.write_text(page, encoding="utf-8")
    return 0 if all(each.held for found in tries.values() for each in found) else 1


def read_report(report: Path) -> list[Try]:
    """Return the tries of pytest's report, without skipped ones."""
    tries = []
    for case in ElementTree.parse(report).iter("testcase"):
        outcomes = {child.tag for child in case}
        values = [(each.get("name"), each.get("value", "")) for each in case.iter("property")]
        names = {name: [v for n, v in values if n == name] for name in ("claim", "tried")}
        if "skipped" not in outcomes:
            given = re.findall(r"\[(.*)\]", case.get("name", ""))
            tried = "; ".join(filter(None, [*names["tried"], *given]))
            held = not outcomes & {"failure", "error"}
            seconds = float(case.get("time", 0))
            tries.append(Try(case.get("file", ""), tuple(names["claim"]), tried, seconds, held))
    return tries


def by_chapter(tries: list[Try]) -> dict[int, list[Try]]:
    """Sort tries by the chapters whose summaries they quote, or else by the names of files."""
    texts, found = summaries(), defaultdict(list)
    for each in tries:
        named = re.findall(r"test_[a-z]+_(\d\d)", each.file)
        numbers = {n for n, text in texts.items() if any(s in text for s in each.statements)}
        for number in numbers or map(int, named):
            found[number].append(each)
    return found


def summaries() -> dict[int, str]:
    """Return the summary of each chapter."""
    texts = {}
    for chapter in chapters():
        cells = json.loads(chapter.path.read_text("utf-8"))["cells"]
        (texts[chapter.number],) = ("".join(c["source"]) for c in cells if c["id"] == "summary")
    return texts


def listed(number: int, tries: list[Try]) -> list[list[str]]:
    """Return a line for each statement: what was tried, and how often it held."""
    lines = []
    for statement in dict.fromkeys(s for each in tries for s in each.statements):
        programs = [each for each in tries if statement in each.statements]
        tried = "; ".join(dict.fromkeys(each.tried for each in programs if each.tried))
        held = f"{sum(each.held for each in programs)} of {len(programs)}"
        lines.append([str(number), statement.replace("|", r"\|"), tried, held])
    return lines


def counted(tries: list[Try]) -> list[str]:
    """Count the statements, tries and seconds of a chapter, and in how many tries they held."""
    statements = {s for each in tries for s in each.statements}
    seconds = sum(each.seconds for each in tries)
    numbers = len(statements), len(tries), sum(each.held for each in tries), round(seconds)
    return [str(number) for number in numbers]


if __name__ == "__main__":
    run_tool(main)
