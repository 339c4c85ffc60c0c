"""A rare Chinese character counts as Chinese in every part of the project."""

import re

import pytest

from attnbook.corpus.user_corpus import count_chinese
from attnbook.exercises.cards.as_text import BREAK, breakable
from attnbook.figures import heatmaps
from attnbook.language import HAN
from manuscript.minutes import text_seconds
from press import fonts
from press.extension import chinese
from tools.check_translation import HALF_WIDTH, QUOTED

BLOCKS = {
    "Extension A": "㐀䶿",
    "Unified Ideographs": "一鿿",
    "Compatibility Ideographs": "豈\ufaff",
}


@pytest.mark.parametrize("word", BLOCKS.values(), ids=BLOCKS)
def test_a_character_of_each_block_is_chinese(word: str) -> None:
    first, last = word
    assert count_chinese(word) == 2
    assert text_seconds(word) == text_seconds("苹果")
    assert breakable(word) == f"{first}{BREAK}{last}"
    assert heatmaps._stacked(word) == f"{first}\n{last}"
    assert fonts.CHINESE.findall(word) == [first, last]
    assert chinese.CHINESE.fullmatch(word)
    assert HALF_WIDTH.search(f"{word},")
    assert not QUOTED.sub("", f"| one cell | {word} |")
    assert re.fullmatch(f"[{HAN}]+", word)  # search.js splits by the same pattern
