"""The short road is short, and it needs nothing that only a second reading explains."""

import itertools
import json
import re
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from manuscript import markers
from manuscript.chapters import chapters
from manuscript.common import ROOT

HOUR = 60
LONGER = {3: 80}  # minutes of a chapter that may take more than an hour
ROW = re.compile(r"^\| ([^|(,]+?)(?: \([^|]*|, [^|]*)? \| [^|]*\| [^|]*\| \[([\d.]+)\]\(", re.M)
# words that are used in their everyday sense before the field's sense is introduced
EVERYDAY = {
    *"attention batch head key leak mask memory parallel query rank sequence slot".split(),
    *("Transformer", "vocabulary"),
}


class Text(NamedTuple):
    """A passage of the short road, without its code and pictures."""

    section: tuple[int, int]
    text: str


def test_a_chapter_takes_an_hour() -> None:
    found = chapters()
    minutes = {chapter.number: chapter.minutes for chapter in found}
    assert {n: m for n, m in minutes.items() if m > LONGER.get(n, HOUR)} == {}
    assert sum(m for n, m in minutes.items() if n < 10) <= 9.5 * HOUR
    assert sum(minutes.values()) <= (len(minutes) + 0.5) * HOUR
    both = sum(chapter.minutes + chapter.second_minutes for chapter in found)
    assert both <= 1.6 * len(found) * HOUR, "all chapters together take too long"


def number(section: str) -> tuple[int, int]:
    """Return a section's number as a key for comparisons."""
    chapter, place = section.split(".")
    return int(chapter), int(place)


def sections() -> dict[tuple[int, int], bool]:
    """Return all sections, and whether each is a second reading."""
    found = {}
    for chapter in chapters():
        for cell in json.loads(chapter.path.read_text("utf-8"))["cells"]:
            if heading := re.match(r"## (\d+\.\d+) ", "".join(cell["source"])):
                tags = cell["metadata"].get("tags", [])
                found[number(heading[1])] = markers.SECOND_READING_TAG in tags
    return found


def short_road() -> Iterator[Text]:
    """Yield the short road's passages, without openings, captions, exercises and closing parts."""
    last = ("Exercises", markers.SUMMARY)
    for chapter in chapters():
        here, skipped = (chapter.number, 0), False
        for cell in json.loads(chapter.path.read_text("utf-8"))["cells"]:
            source, tags = "".join(cell["source"]), cell["metadata"].get("tags", [])
            if heading := re.match(r"## (\d+\.\d+) (.*)", source):
                here = number(heading[1])
                skipped = markers.SECOND_READING_TAG in tags or heading[2] in last
            if (
                cell["cell_type"] == "markdown"
                and not skipped
                and not {"caption", "opening"} & {*tags}
            ):
                yield Text(here, re.sub(r"`[^`]*`|!\[.*?\]", "", source))


def test_a_second_reading_is_called_so_wherever_the_short_road_names_it() -> None:
    second = {section for section, skipped in sections().items() if skipped}
    assert second
    unmarked = [
        (here, name)
        for here, text in short_road()
        for name in re.findall(r"(?:[Ss]ections? |\[)(\d+\.\d+)\b", text)
        if number(name) in second and markers.SECOND_READING not in text
    ]
    assert unmarked == []


@pytest.mark.parametrize("chapter", [found.number for found in chapters() if found.number > 3])
def test_before_a_second_reading_the_short_road_says_where_it_goes_on(chapter: int) -> None:
    skipped = {section: second for section, second in sections().items() if section[0] == chapter}
    ends = [pair for pair in itertools.pairwise(skipped) if [skipped[x] for x in pair] == [0, 1]]
    assert ends
    *_, exercises, _ = skipped  # the last section is the summary
    for here, _ in ends:
        goal = next(s for s in skipped if s > here and not skipped[s])
        name = re.escape(f"section {chapter}.{goal[1]}")
        name = f"(the exercises|{name})" if goal == exercises else name
        texts = [text for section, text in short_road() if section == here]
        assert re.search(rf"On the short road, go on to {name}[.,]", texts[-1])


def test_a_term_is_introduced_before_the_short_road_uses_it() -> None:
    """An earlier use names the section that introduces the term, or links to the glossary."""
    texts, second = list(short_road()), sections()
    early = []
    rows = ROW.findall((ROOT / "book" / "notation.md").read_text("utf-8"))
    assert len(rows) > 100
    for term, section in rows:
        introduced = number(section)
        if term in EVERYDAY:
            continue
        word = re.compile(rf"\b(?<!cross-){re.escape(term)}s?\b", re.I)
        later = re.compile(rf"\b{re.escape(section)}\b|chapter {introduced[0]}\b|#glossary")
        for here, text in texts:
            if here[1] and word.search(text) and not later.search(text):
                if here < introduced or second[introduced]:
                    early.append((term, section, here))
                break
    assert early == []


@pytest.mark.parametrize("section", ["9.13", "11.6"])
def test_the_rows_of_the_glossary_are_read(section: str) -> None:
    assert ROW.findall(f"| a word (W) | \u8bcd *c\u00ed* | aw | [{section}](x.ipynb) | a |") == [
        ("a word", section)
    ]
