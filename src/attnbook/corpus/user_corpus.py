"""Load the reader's own parallel corpus: a TSV file of sentences and their translations."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from attnbook.corpus.grammar.corpus import Pair
from attnbook.language import HAN

LONGEST_LINE = 10_000  # characters; longer lines are rejected


class LoadedPairs(NamedTuple):
    """The pairs of a file, and a message for each rejected line, with its number and the reason."""

    pairs: list[Pair]
    problems: list[str]


def load_pairs(path: str | Path, cut: Callable[[str], Sequence[str]] | None = None) -> LoadedPairs:
    """Read a TSV file in UTF-8: on each line a sentence and its translation, separated by a tab.

    The first two columns that contain letters are used, so numbers before a sentence and notes
    after it are ignored. The side with more Chinese characters is the Chinese one. `cut` splits it
    into words; by default each character is a word.

    Raises:  ValueError if the path is not a file
    """
    if not Path(path).is_file():
        raise ValueError(f"there is no file {str(path)!r}")
    loaded = LoadedPairs([], [])
    with open(path, encoding="utf-8-sig", errors="surrogateescape") as file:
        number = 0
        while line := file.readline(LONGEST_LINE):
            number += 1
            try:
                loaded.pairs.append(read_pair(line, cut or characters))
            except ValueError as reason:
                loaded.problems.append(f"line {number}: {reason}")
            while line and not line.endswith("\n"):  # skip the rest of a line that is too long
                line = file.readline(LONGEST_LINE)
    return loaded


def read_pair(line: str, cut: Callable[[str], Sequence[str]]) -> Pair:
    """Parse one line as a pair.

    Raises:  ValueError with the reason if the line is not a pair
    """
    if len(line) >= LONGEST_LINE:
        raise ValueError(f"it is longer than {LONGEST_LINE} characters")
    if re.search("[\0\ud800-\udfff]", line):
        raise ValueError("it is not in UTF-8")
    if not line.strip():
        raise ValueError("it is empty")
    if "\t" not in line:
        raise ValueError("it has no tab")
    sides = [field for field in line.split("\t") if any(map(str.isalpha, field))][:2]
    if len(sides) < 2:
        raise ValueError("a side is empty")
    english, chinese = sorted(sides, key=count_chinese)
    if count_chinese(english) == count_chinese(chinese):
        raise ValueError("no side has more Chinese characters than the other")
    return Pair(tuple(cut(chinese.strip())), tuple(english_words(english)))


def count_chinese(text: str) -> int:
    """The number of Chinese characters."""
    return len(re.findall(f"[{HAN}]", text))


def characters(chinese: str) -> list[str]:
    """Split a text into Chinese characters and punctuation; Latin words and numbers stay whole."""
    return re.findall(r"[a-z0-9]+|\S", chinese.lower())


def english_words(text: str) -> list[str]:
    """Split a text into lowercase words and punctuation; an apostrophe stays with what follows."""
    return re.findall(r"'?\w+|[^\w\s]", text.lower().replace("’", "'"))
