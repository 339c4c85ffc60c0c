"""The reader's own pairs: a file with a sentence and its translation in each line."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from attnbook.grammar.corpus import Pair

LONGEST_LINE = 10_000  # characters; longer lines hold no sentence


class Loaded(NamedTuple):
    """What a file held: its pairs, and for each line that is none its number and the reason."""

    pairs: list[Pair]
    problems: list[str]


def load_pairs(path: str | Path, cut: Callable[[str], Sequence[str]] | None = None) -> Loaded:
    """Read a file with a sentence and its translation in each line, in UTF-8, a tab between them.

    Of the columns, the first two with letters are taken, so numbers before a sentence and notes
    behind do no harm. Of these two, the Chinese is the one with more Chinese characters. `cut`
    makes words of it: each character is one unless you give another function.

    Raises:  ValueError if the path is no file
    """
    if not Path(path).is_file():
        raise ValueError(f"there is no file {str(path)!r}")
    loaded = Loaded([], [])
    with open(path, encoding="utf-8-sig", errors="surrogateescape") as file:
        number = 0
        while line := file.readline(LONGEST_LINE):
            number += 1
            try:
                loaded.pairs.append(read_pair(line, cut or characters))
            except ValueError as reason:
                loaded.problems.append(f"line {number}: {reason}")
            while line and not line.endswith("\n"):  # the rest of a line that is too long
                line = file.readline(LONGEST_LINE)
    return loaded


def read_pair(line: str, cut: Callable[[str], Sequence[str]]) -> Pair:
    """One line as a pair, or a ValueError that says why it is none."""
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
    return len(re.findall("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]", text))


def characters(chinese: str) -> list[str]:
    """Each Chinese character and sign by itself; foreign words and numbers whole."""
    return re.findall(r"[a-z0-9]+|\S", chinese.lower())


def english_words(text: str) -> list[str]:
    """Words in lower case, punctuation cut off; an apostrophe stays with what follows it."""
    return re.findall(r"'?\w+|[^\w\s]", text.lower().replace("’", "'"))
