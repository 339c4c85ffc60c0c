"""The reader's own pairs: both orders of columns, bad lines, and any bytes at all."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnbook.corpus import (
    Pair,
    characters,
    english_words,
    load_pairs,
)


def written(folder: Path, content: bytes) -> Path:
    path = folder / "pairs.tsv"
    path.write_bytes(content)
    return path


HI = Pair(("嗨", "。"), ("hi", "."))


@pytest.mark.parametrize(
    "line",
    [
        "Hi.\t嗨。",
        "嗨。\tHi.",
        "Hi.\t嗨。\tCC-BY 2.0 (France) Attribution: tatoeba.org #538123 (CM) & #891077 (Martha)",
        "嗨。\tHi.\tCC-BY 2.0 (France)",
        "538123\tHi.\t891077\t嗨。",
        " Hi. \t 嗨 。 ",
        "\ufeffHi.\t嗨。",
    ],
)
def test_both_orders_and_further_columns_are_read(tmp_path: Path, line: str) -> None:
    assert load_pairs(written(tmp_path, line.encode())) == ([HI], [])


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"", "it is empty"),
        (b"  ", "it is empty"),
        ("Hi. 嗨。".encode(), "it has no tab"),
        ("\t嗨。".encode(), "a side is empty"),
        (b"Hi.\t", "a side is empty"),
        (b"Hi.\t...", "a side is empty"),
        (b"Hi.\tHello.", "no side has more Chinese characters than the other"),
        ("嗨。\t嗨。".encode(), "no side has more Chinese characters than the other"),
        (b"Hi.\t\xe5\x97", "it is not in UTF-8"),
        ("Hi.\t嗨。".encode("gb18030"), "it is not in UTF-8"),
        ("Hi.\t嗨。".encode("utf-16"), "it is not in UTF-8"),
        (b"Hi.\t" + "嗨".encode() * 10_000, "it is longer than 10000 characters"),
    ],
)
def test_a_bad_line_is_named_and_the_others_read(tmp_path: Path, line: bytes, reason: str) -> None:
    good = "Hi.\t嗨。".encode()
    loaded = load_pairs(written(tmp_path, b"\n".join((good, line, good))))
    assert loaded == ([HI, HI], [f"line 2: {reason}"])


def test_line_ends_may_be_mixed(tmp_path: Path) -> None:
    line = "Hi.\t嗨。".encode()
    content = line + b"\r" + line + b"\r\n" + line + b"\n" + b"no\r\r\n" + line
    loaded = load_pairs(written(tmp_path, content))
    assert loaded == ([HI] * 4, ["line 4: it has no tab", "line 5: it is empty"])


def test_an_empty_file_holds_nothing(tmp_path: Path) -> None:
    assert load_pairs(written(tmp_path, b"")) == ([], [])
    assert load_pairs(str(written(tmp_path, b"\xef\xbb\xbf"))) == ([], [])


def test_a_path_that_is_not_a_file_is_named(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing.tsv"):
        with pytest.raises(ValueError, match="there is no file"):
            load_pairs(path)


@given(st.lists(st.binary(max_size=30) | st.just("Hi.\t嗨。".encode()), max_size=6))
def test_no_line_crashes_and_none_is_lost(tmp_path_factory, lines: list[bytes]) -> None:
    path = written(tmp_path_factory.mktemp("own"), b"\n".join(lines))
    count = len(re.split(b"\r\n|\r|\n", path.read_bytes().removeprefix(b"\xef\xbb\xbf")))
    loaded = load_pairs(path)
    named = [int(re.match(r"line (\d+): ", problem)[1]) for problem in loaded.problems]
    assert named == sorted(set(named))
    assert len(loaded.pairs) + len(named) in (count, count - 1)  # no line after a final newline


def test_another_tokenizer_may_be_given(tmp_path: Path) -> None:
    path = written(tmp_path, "I like apples.\t我 喜欢 苹果".encode())
    assert load_pairs(path).pairs[0].chinese == tuple("我喜欢苹果")
    assert load_pairs(path, cut=str.split).pairs[0].chinese == ("我", "喜欢", "苹果")


def test_words_and_punctuation_are_separated() -> None:
    assert english_words("Don't cry, Tom’s here!") == "don 't cry , tom 's here !".split()
    assert characters("我在Google工作2年。") == ["我", "在", "google", "工", "作", "2", "年", "。"]
