"""Chapter 2 prints S1's dictionary, ids and numbers, digit for digit and in S1's order.

nbval compares a chapter with itself. This compares it with `life_is_short`, whose numbers
test_sentence.py compares with those of the source.
"""

import re

from attnbook.sentence import life_is_short
from tests.support.chapters import Chapter

printed = Chapter("02_embeddings.ipynb").printed


def test_the_dictionary_and_the_ids_stand_in_the_chapter() -> None:
    dictionary = "{'Life': 0, 'dessert': 1, 'eat': 2, 'first': 3, 'is': 4, 'short': 5}"
    assert dictionary in printed("dictionary").splitlines()
    assert printed("ids-of-the-sentence").splitlines()[-1].split() == list("045213")


def test_the_96_numbers_stand_in_the_chapter() -> None:
    words, rows = life_is_short()
    shown: dict[str, list[str]] = {word: [] for word in words}
    for line in printed("s1-embedding").splitlines():
        word, *numbers = line.split()
        if word in shown:
            shown[word] += re.findall(r"-?\d+\.\d{4}", " ".join(numbers))
    assert list(shown.values()) == [[f"{x:.4f}" for x in row] for row in rows.tolist()]
