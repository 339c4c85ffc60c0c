"""The appendix on the sources: its tables are complete, and it shows the mistakes it lists.

The rules in tools/rules.py check that the sections the appendix refers to exist. Its own cells
assert that its numbers agree with the sources.
"""

import re

import pytest

from tests.support import quotations
from tests.support.chapters import BOOK, Chapter
from tools.rules import asserts

appendix = Chapter("appendix_sources.ipynb")
TEXT = "\n\n".join(c["source"] for c in appendix.cells.values() if c["cell_type"] == "markdown")
SOURCES = ("S0", "S1", "S2", "S3", "S4")
LINKS = r"\[\d+\.\d+\]\(\w+\.ipynb\)"
KINDS = ("wrong", "missing", "on condition")
HASHES = quotations.read()
CHAPTERS = sorted({path.name for path in BOOK.glob("[01]*.ipynb")})


@pytest.mark.parametrize("source", SOURCES)
def test_every_row_is_open_or_points_to_sections(source: str) -> None:
    (table,) = re.findall(rf"^\| section of {source} \|.*\n\|[-:|]+\n((?:\|.*\|\n?)+)", TEXT, re.M)
    for row in table.splitlines():
        section, teaches, where = row.strip("| ").split(" | ")
        assert " · " in section, f"{section}: add the English title after ' · '"
        assert teaches, f"{section}: say what it teaches, in the second column of its row"
        assert re.fullmatch(rf"open: chapter \d+|{LINKS}(, {LINKS})*", where), section


def test_every_section_of_the_page_that_it_names_is_there() -> None:
    titles = re.findall(r"^## (A\.\d+) ", TEXT, re.M)
    assert titles == [f"A.{n}" for n in range(1, len(titles) + 1)]
    assert set(re.findall(r"A\.\d+", TEXT)) == set(titles)


def code_under(heading: str) -> list[str]:
    """The code cells between a heading and the next one."""
    names = list(appendix.cells)
    start = next(n for n in names if re.search(heading, appendix.source(n), re.M))
    below = names[names.index(start) + 1 :]
    end = next(n for n in below if re.search("^##", appendix.source(n), re.M))
    return [name for name in below[: below.index(end)] if name in appendix.code]


def to_read_with_care(source: str) -> list[list[str]]:
    """A source's second table, row by row: the claim, the truth, the kind, and where to look."""
    (table,) = re.findall(rf"^\| what {source} says \|.*\n\|[-:|]+\n((?:\|.*\|\n?)+)", TEXT, re.M)
    return [row.strip("| ").split(" | ") for row in table.splitlines()]


@pytest.mark.parametrize("source", SOURCES)
def test_every_row_has_a_kind_and_a_section_or_a_cell_that_can_fail(source: str) -> None:
    named = set()
    for says, _, kind, shown in to_read_with_care(source):
        assert kind in KINDS, says
        assert re.fullmatch(rf"({LINKS}|cell \d)(, {LINKS})*", shown), says
        named |= set(re.findall(r"cell (\d)", shown))
    code: dict[str, str] = {}  # the code under "# cell 1", in one or more cells
    for name in code_under(f"^### {source}: to read with care$"):
        number = re.match(r"# cell (\d)", appendix.source(name))
        assert number, name
        code[number[1]] = code.get(number[1], "") + appendix.source(name) + "\n"
    assert set(code) == named
    assert [n for n in code if not asserts(code[n]) and "raise" not in code[n]] == []


def test_fewer_than_half_of_the_rows_are_wrong_as_the_summary_says() -> None:
    kinds = [kind for source in SOURCES for *_, kind, _ in to_read_with_care(source)]
    assert "fewer than half are wrong" in appendix.source("summary")
    assert 0 < kinds.count("wrong") < len(kinds) / 2


@pytest.mark.parametrize("name", [n for n in appendix.cells if re.match(r"s\d(-mistakes)?$", n)])
def test_the_appendix_quotes_what_its_source_says(name: str) -> None:
    found = quotations.digests(appendix.source(name))
    assert found
    assert found <= HASHES[name[:2].upper()]


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_quotes_what_a_source_says(name: str) -> None:
    """In texts that name a source, every four consecutive Chinese characters are from a source."""
    cells = Chapter(name).cells.values()
    texts = [c["source"] for c in cells if c["cell_type"] == "markdown"]
    naming = "\n".join(text for text in texts if re.search(r"\bS[0-4]\b", text))
    quoted = quotations.CHINESE.findall(naming)
    assert [q for q in quoted if not any(quotations.digests(q) <= h for h in HASHES.values())] == []


def test_an_invented_quotation_is_found() -> None:
    assert not quotations.digests("除以维度更好地控制方差") <= HASHES["S0"]
    assert quotations.digests("更好地控制") <= HASHES["S0"]


def test_every_decimal_that_s1_prints_is_in_the_chapters() -> None:
    code = [appendix.source(name) for name in code_under("^### S1: its numbers$")]
    typed = re.findall(r"-?\b\d+\.\d{4}\b", "\n".join(code))
    chapters = "02_embeddings.ipynb", "03_single_head.ipynb"
    printed = re.findall(r"-?\d+\.\d{4}\b", "".join(Chapter(name).printed() for name in chapters))
    assert len(typed) >= 96 + 6 + 6 + 28
    assert set(typed) <= set(printed)
