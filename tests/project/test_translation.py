"""A page is split into messages and put together again; what a translation loses is named."""

import os
import re
import subprocess
import sys
from gettext import GNUTranslations
from pathlib import Path

import pytest
from babel.messages import Catalog

from attnbook import language
from manuscript.chapters import pages
from manuscript.common import ROOT
from manuscript.edition import TRANSLATIONS
from manuscript.messages import (
    Line,
    library_messages,
    lines_of,
    page_messages,
    read_page,
    script_messages,
    split_line,
)
from manuscript.normal_form import read as read_notebook
from manuscript.normal_form import text_of
from setup import compile_catalogs
from tools import check_translation, translate
from tools.check_translation import kept_complaints, language_complaints
from tools.translate import translated, update

FOLDER = TRANSLATIONS / "zh_CN"
PAGE = """\
# 3. A title

> **Question:** What is it?

## 3.1 A part (second reading)

- one `line`, and $x$
$$
x_{one}
$$
| a cell | 0.5 |
|---|---|
"""


@pytest.fixture
def page(tmp_path: Path) -> Path:
    path = tmp_path / "page.md"
    path.write_text(PAGE, "utf-8")
    return path


def catalog_with(messages: dict[str, str]) -> Catalog:
    catalog = Catalog(locale="zh_CN")
    for english, chinese in messages.items():
        catalog.add(english, chinese)
    return catalog


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ("## 3.1 A part (second reading)", ("## 3.1 ", "A part", " (second reading)")),
        ("# 8. A title", ("# 8. ", "A title", "")),
        ("> **Question:** What is it?", ("> **Question:** ", "What is it?", "")),
        ("**Predict before you run.** How?", ("**Predict before you run.** ", "How?", "")),
        ("<summary>A. None</summary>", ("<summary>A. ", "None", "</summary>")),
        ("*A caption with **bold**.*", ("*", "A caption with **bold**.", "*")),
        ("*Not* a caption", ("", "*Not* a caption", "")),
        ("| CPU | 2 of 2 | 0a1b2c3 |", ("| CPU | 2 of 2 | 0a1b2c3 |", "", "")),
        ("12. twelfth", ("12. ", "twelfth", "")),
        ("| `x` | $y$ | 0.5 |", ("| `x` | $y$ | 0.5 |", "", "")),
        (":::{only} repository", (":::{only} repository", "", "")),
    ],
)
def test_a_message_is_a_line_without_its_marks(line: str, parts: tuple[str, str, str]) -> None:
    assert split_line(line) == Line(*parts)


@pytest.mark.parametrize("path", pages(), ids=lambda path: path.stem)
def test_a_page_put_together_again_equals_the_page(path: Path) -> None:
    for place, holder, key in read_page(path)[1]:
        lines = list(lines_of(holder[key]))
        assert "".join(map("".join, lines)) == holder[key], place
    text, headings = translated(path, Catalog(), Catalog())
    assert headings == {heading: heading for heading in headings}
    original = path.read_text("utf-8") if path.suffix == ".md" else text_of(read_notebook(path))
    assert text == original


def test_a_translation_keeps_the_marks_formulas_and_numbers(page: Path) -> None:
    assert [m.id for m in page_messages(page) if m.id] == [
        "A title", "What is it?", "A part", "one `line`, and $x$", "| a cell | 0.5 |"
    ]  # fmt: skip
    chinese = {"A title": "标题", "A part": "一节", "one `line`, and $x$": "一行 `line` 和 $x$"}
    text, headings = translated(page, catalog_with(chinese), Catalog())
    for english, translation in chinese.items():
        text = text.replace(translation, english)
    assert text == PAGE
    mark = " (second reading)"
    assert headings == {"3. 标题": "3. A title", f"3.1 一节{mark}": f"3.1 A part{mark}"}


def test_every_message_of_the_pages_scripts_is_in_the_catalog() -> None:
    """Babel does not see a call inside a template literal: `${_("...")}`."""
    scripts = [path.read_text("utf-8") for path in (ROOT / "press" / "static").glob("*.js")]
    called = {text for script in scripts for text in re.findall(r'(?<!\w)_\("([^"]+)"', script)}
    assert len(called) > 10
    assert called - set(script_messages()) == set()


def test_scripts_join_words_by_a_translated_comma() -> None:
    """Chinese lists words with “、”."""
    files = [*(ROOT / "press/static").glob("*.js"), *(ROOT / "src/attnbook/widgets").rglob("*.js")]
    joined = {
        path.name: re.findall(r"\.join\(([^)]*,[^)]*\)?)\)", path.read_text("utf-8"))
        for path in files
    }
    assert [name for name, by in joined.items() if '", "' in by] == []
    assert joined["searchpage.js"] == ['_(", ")'] * 2


def test_words_in_a_displayed_formula_are_messages(page: Path) -> None:
    formula = r"$$\text{softmax}(x) \text{ where } M \text{ is True}$$"
    page.write_text(f"A line\n{formula}\n", "utf-8")
    assert [m.id for m in page_messages(page) if m.id] == ["A line", " where ", " is True"]
    chinese = {" where ": "，若 ", " is True": " 为 True"}
    text, _ = translated(page, catalog_with(chinese), Catalog())
    assert text == "A line\n$$\\text{softmax}(x) \\text{，若 } M \\text{ 为 True}$$\n"


def test_a_translation_links_to_its_own_downloads(
    page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(translate, "ENDING", "-zh_CN")
    page.write_text("[zip](x/attention-book-html.zip), `x/attention-book.pdf`\n", "utf-8")
    text, _ = translated(page, catalog_with({}), Catalog())
    assert text == "[zip](x/attention-book-html-zh_CN.zip), `x/attention-book-zh_CN.pdf`\n"


def test_a_changed_sentence_stays_english_until_somebody_has_reviewed_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "translations" / "zh_CN"
    folder.mkdir(parents=True)
    sentence = "A row of weights sums to one."
    monkeypatch.setattr(translate, "current", lambda: {"attnbook": catalog_with({sentence: ""})})
    update(folder)
    path = folder / "attnbook.po"
    path.write_text(path.read_text("utf-8").replace('msgstr ""\n\n', 'msgstr "和是一。"\n\n'))
    update(folder)
    assert translate.read(path).get(sentence).string == "和是一。"
    assert compiled(sentence, tmp_path) == "和是一。"
    path.write_text(path.read_text("utf-8").replace("和是一。", "总和为一。"), "utf-8")
    assert compiled(sentence, tmp_path) == "总和为一。"
    changed = "A row of weights sums to 1."
    monkeypatch.setattr(translate, "current", lambda: {"attnbook": catalog_with({changed: ""})})
    update(folder)
    message = translate.read(path).get(changed)
    assert (message.string, message.fuzzy) == ("总和为一。", True)
    assert f'#| msgid "{sentence}"' in path.read_text("utf-8")
    assert translate.translated_line(Line("- ", changed), translate.read(path)) == f"- {changed}"
    assert compiled(changed, tmp_path) == changed


def test_the_english_that_was_translated_stays_beside_a_fuzzy_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until somebody has reviewed it, however often the catalogs are updated."""
    folder = tmp_path / "zh_CN"
    folder.mkdir()
    path = folder / "attnbook.po"
    first = (
        r'The book says "softmax" and `\n`, in a sentence so long that the catalog has to break'
        "\nthe line, even twice: it goes on here, and it ends only after this, which is its end."
    )
    words = first.split()

    def write(english: str) -> str:
        template = catalog_with({english: ""})
        monkeypatch.setattr(translate, "current", lambda: {"attnbook": template})
        update(folder)
        return path.read_text("utf-8")

    write(first)
    path.write_text(path.read_text("utf-8").replace('msgstr ""\n\n', 'msgstr "书"\n\n'), "utf-8")
    assert "#|" not in write(first)
    second, third = (" ".join(words[:-1] + [end]) for end in ("close.", "very end."))
    text = write(second)
    assert "#|" in text
    assert write(second) == write(second) == text
    assert translate.read(path).get(second).previous_id == [first]
    write(third)
    assert translate.read(path).get(third).previous_id == [first]  # not the second
    path.write_text(path.read_text("utf-8").replace("#, fuzzy\n#|", "#|"), "utf-8")
    assert "#|" not in write(third)
    assert translate.read(path).get(third).string == "书"


def compiled(message: str, root: Path) -> str:
    """Return a message's translation in the compiled catalog, which is brought up to date first."""
    compile_catalogs(root)
    path = root / "src" / "attnbook" / "locale" / "zh_CN" / "LC_MESSAGES" / "attnbook.mo"
    with path.open("rb") as file:
        return GNUTranslations(file).gettext(message)


@pytest.mark.parametrize(
    ("english", "chinese", "complaint"),
    [
        ("Call `softmax`.", "调用它。", "code: lacks .'`softmax`'"),
        ("Call it.", "调用 `softmax`。", r"code: lacks \[\], adds .'`softmax`'"),
        ("Then $x$ is 1.", "那么 1。", "formulas"),
        ("See [3.4](03.ipynb).", "见 [3.4](04.ipynb) 节。", "addresses"),
        ("{n} more", "还有更多", "placeholders"),
        ("It has 64 rows.", "它有 46 行。", "numbers"),
        ("| a | b |", "| 甲 |", "cells"),
        ("**Bold.** Text", "**粗体。**文字", r"\*\*"),
        ("One, two", "一,二", "half-width"),
        ("A long sentence in the language of the book", "A long sentence in the language", "words"),
        ("The residual connection adds.", "这条捷径做加法。", "residual connection"),
    ],
)
def test_what_a_translation_loses_is_named(english: str, chinese: str, complaint: str) -> None:
    found = [*kept_complaints(english, chinese), *language_complaints(english, chinese, FOLDER)]
    assert len(found) == 1
    assert re.search(complaint, found[0])


def test_a_straight_quotation_mark_after_chinese_is_named() -> None:
    english = 'Shout "technology" and call `check("x")`.'
    message = catalog_with({english: '喊："technology"，再调用 `check("x")`。'}).get(english)
    (found,) = check_translation.message_complaints(message, FOLDER)
    assert "'：\"technology\"'" in found
    message.locations = [("commands", 0)]  # only a terminal shows it
    assert [*check_translation.message_complaints(message, FOLDER)] == []
    for chinese in ("喊：“technology”，", '喊 "technology"，', '"technology"，'):
        assert [*check_translation.quote_complaints(chinese)] == []


def test_words_in_a_formula_may_be_translated() -> None:
    assert [*kept_complaints(r"$e^{\text{loss}}$", r"$e^{\text{损失}}$")] == []
    assert [*kept_complaints(r"$e^{\text{loss}}$", r"$2^{\text{损失}}$")] != []


def test_a_good_translation_gives_no_complaints() -> None:
    english = "The **key** `k` of 1,024 rows, see [3.4](03.ipynb), is $x$: {n} of 2.6 billion."
    chinese = "**键** `k` 有 1,024 行，见 [3.4](03.ipynb) 节，就是 $x$：26 亿中的 {n}。"
    assert [*kept_complaints(english, chinese)] == []
    assert [*language_complaints(english, chinese, FOLDER)] == []
    english = "| Chinese | pinyin | English |\n|:--|:--|:--|\n| 茶 | chá | tea |"
    assert [*kept_complaints(english, "| 中文 | 英文 |\n|:--|:--|\n| 茶 | tea |")] == []
    assert [*kept_complaints(english, "| 中文 | 英文 |\n|:--|:--|:--|\n| 茶 | tea |")] != []
    assert [*kept_complaints("| 茶 | 书 |\n| chá | shū |", "| 茶 | 书 |")] == []


def test_the_catalogs_of_the_book_load_and_the_compiled_one_is_up_to_date() -> None:
    names = {path.stem for path in pages()} | {"attnbook", "comments"}
    for folder in TRANSLATIONS.iterdir():
        assert {path.stem for path in folder.glob("*.po")} == names
        for path in folder.glob("*.po"):
            assert translate.read(path).locale_identifier == folder.name
        for message in translate.read(folder / "attnbook.po"):
            if message.id and isinstance(message.id, str) and message.string and not message.fuzzy:
                assert language.catalog_of(folder.name).gettext(message.id) == message.string


def test_the_language_is_that_of_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    assert os.environ["ATTNBOOK_LANGUAGE"] == "en"  # set in conftest.py, whatever the locale
    assert language._("Solution") == "Solution"
    monkeypatch.setenv("ATTNBOOK_LANGUAGE", "zh_CN")
    assert language._("Solution") != "Solution"
    assert language._("no such message") == "no such message"
    assert language._("") == ""
    assert {"Solution", "Question", "Attention, from the library up"} <= {
        message.id for message in library_messages()
    }


def test_an_edition_is_in_english_whatever_the_locale() -> None:
    words = "from attnbook.language import _; from manuscript import edition; "
    show = "print(_('Solution'), edition.LANGUAGE)"
    unset = {name: value for name, value in os.environ.items() if name != "ATTNBOOK_LANGUAGE"}
    chinese = {**unset, "LANGUAGE": "zh_CN", "LC_ALL": "C.UTF-8", "PYTHONUTF8": "1"}

    def printed(code: str) -> str:
        command = [sys.executable, "-c", code]
        return subprocess.check_output(command, cwd=ROOT, env=chinese, encoding="utf-8").strip()

    assert printed(words + show) == "Solution en"
    assert printed("from attnbook.language import _; print(_('Solution'))") != "Solution"


def test_a_stale_or_missing_translation_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_translation, "current", lambda: {"index": catalog_with({"new": ""})})
    (line,) = (line for line in check_translation.complaints(FOLDER) if "not translated" in line)
    assert "index.po: 'new'" in line
