"""A page is split into messages and put together again; what a translation loses is named."""

import html
import io
import json
import os
import re
import subprocess
import sys
import tokenize
from gettext import GNUTranslations
from pathlib import Path

import nbformat
import pytest
from babel.messages import Catalog
from fontTools.ttLib import TTFont
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from attnbook import language
from manuscript import labels
from manuscript.chapters import pages
from manuscript.comments import remarks, translated_code
from manuscript.common import ROOT
from manuscript.edition import TRANSLATIONS
from manuscript.messages import (
    Line,
    code_cells,
    library_messages,
    lines_of,
    names,
    page_messages,
    read_page,
    split_line,
)
from manuscript.normal_form import read as read_notebook
from manuscript.normal_form import text_of
from setup import compile_catalogs
from tools import check_translation, translate
from tools.check_translation import kept_complaints, language_complaints, message_complaints
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

FIGURE = """\
<g>
<text x="9" textLength="30.5" lengthAdjust="spacingAndGlyphs">head 0</text>
</g>
<g>
<text x="9" text-anchor="middle" textLength="8" lengthAdjust="spacingAndGlyphs">keys &lt;</text>
<text x="9" text-anchor="middle">0.25</text>
</g>
<g>
<text x="9">apple</text>
</g>
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


CODE = '''\
# Two heads, as in 3.4
def head(x):  # (L, D) -> (L, D)
    """Return the rows."""
    note = "# no comment"  # (L,) each
    return x * len(note)
'''


def test_comments_and_docstrings_are_messages_but_shapes_are_not() -> None:
    assert [CODE[slice(*place)] for place in remarks(CODE)] == [
        "Two heads, as in 3.4",
        "Return the rows.",
        "(L,) each",
    ]
    lines = translated_code(CODE, lambda message: "中文").split("\n")
    assert lines[:3] == ["# 中文", "def head(x):  # (L, D) -> (L, D)", '    """中文"""']
    assert lines[3] == '    note = "# no comment"  # 中文'


NOTEBOOKS = [path for path in pages() if path.suffix == ".ipynb"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_only_comments_and_docstrings_of_code_are_translated(path: Path) -> None:
    comments = translate.read(FOLDER / "comments.po")
    for cell in code_cells(read_notebook(path)):
        chinese = translated_code(cell.source, lambda text: translate.translation(text, comments))
        assert code_of(chinese) == code_of(cell.source), cell.id
        assert columns(chinese) == columns(cell.source), cell.id


def code_of(source: str) -> list[tuple[str, tuple[int, int]]]:
    """Return the words of code and where they begin, without comments and docstrings."""
    tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    return [
        (token.string, token.start)
        for before, token in zip([tokens[-1], *tokens], tokens, strict=False)
        if token.type not in (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE)
        and not (before.type == tokenize.INDENT and token.type == tokenize.STRING)
    ]


def columns(source: str) -> list[tuple[int, int]]:
    """Return where comments begin."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return [token.start for token in tokens if token.type == tokenize.COMMENT]


def test_an_interactive_figure_is_whole_in_one_language(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATTNBOOK_LANGUAGE", "zh_CN")
    data = {
        "titles": ["Right and wrong"],
        "masks": [{"name": "causal", "rows": ["100"]}],
        "labels": ["is"],
        "model": "causal",
        "words": {"key": "weights"},
    }
    packed = html.escape(json.dumps(data))
    page = f'<attn-x data="{packed}"><table><tr><td>causal</td></tr></table></attn-x>'
    shown = translate.translated_figure(page)
    (packed,) = re.findall('data="([^"]*)"', shown)
    assert json.loads(html.unescape(packed)) == {
        "titles": ["对与错"],
        "masks": [{"name": "因果", "rows": ["100"]}],
        "labels": ["is"],
        "model": "causal",
        "words": {"key": "权重"},
    }
    assert "<td>因果</td>" in shown
    assert [*names(data)] == ["Right and wrong", "causal"]


def test_the_words_of_an_output_are_explained_below_it_and_its_caption(tmp_path: Path) -> None:
    (tmp_path / "outputs.txt").write_text("03_x#table: `right` 答对\n04_y#table: `wrong` 答错\n")
    assert translate.explained(tmp_path, "03_x") == {"table": "`right` 答对"}
    answer, caption = ({"tags": [tag]} for tag in ("answer", "caption"))
    notebook = new_notebook(
        cells=[
            new_code_cell("", id="table", metadata=answer),
            new_markdown_cell("*A table.*", id="caption-table", metadata=caption),
            new_markdown_cell("Next", id="next"),
        ]
    )
    translate.explain_outputs(notebook, translate.explained(tmp_path, "03_x"))
    assert [cell.id for cell in notebook.cells] == ["table", "caption-table", "words-table", "next"]
    assert notebook.cells[2].source == "Words in this output: `right` 答对."
    assert notebook.cells[2].metadata.tags == ["answer"]


def test_a_word_that_no_output_has_is_named(tmp_path: Path) -> None:
    lines = (
        "01_library#softmax: `of the report` 占报告, `of the world` 占世界\n01_library#no: `x`\n"
    )
    (tmp_path / "outputs.txt").write_text(lines, "utf-8")
    assert [*check_translation.output_complaints(tmp_path)] == [
        "outputs.txt: 01_library#softmax does not print ['of the world']",
        "outputs.txt: 01_library#no does not print ['x']",
    ]


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


def in_chinese(monkeypatch: pytest.MonkeyPatch, messages: dict[str, str]) -> None:
    monkeypatch.setattr(language, "_", lambda message: messages.get(message, message))


def test_a_translated_figure_has_other_words_in_the_same_places(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert labels.labels(FIGURE) == ["head 0", "keys <\n0.25", "apple"]
    assert labels.translated(FIGURE) == FIGURE
    in_chinese(monkeypatch, {"head {}": "头 {}", "keys <\n{}": "键 <\n{}"})
    expected = FIGURE.replace("head", "头").replace("keys", "键")
    expected = re.sub(' textLength="[^>]*spacingAndGlyphs"', "", expected)
    assert labels.translated(FIGURE) == expected


def test_a_translated_label_has_as_many_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    label = Catalog().add("two\nlines", "一行", locations=[("book/a.ipynb#cell", 0)])
    assert [*message_complaints(label, FOLDER)] == ["has a different number of lines"]
    elsewhere = Catalog().add("two\nlines", "一行", locations=[("06.heads", 0)])
    assert [*message_complaints(elsewhere, FOLDER)] == []
    in_chinese(monkeypatch, {"keys <\n{}": "键 {}"})
    with pytest.raises(ValueError, match="zip"):
        labels.translated(FIGURE)


def test_a_translated_label_fits_into_the_room_of_its_original(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ATTNBOOK_LANGUAGE", "zh_CN")
    font = TTFont(ROOT / "src" / "attnbook" / "fonts" / "NotoSansCJKsc-Bold.otf")
    widths = {letter: font["hmtx"][glyph][0] / 1000 for letter, glyph in font.getBestCmap().items()}
    stored = (
        (path, data[labels.SVG])
        for path in pages()
        if path.suffix == ".ipynb"
        for _cell, data in labels.figures(nbformat.read(path, as_version=4))
    )
    translations = 0
    for path, svg in stored:
        lines = map(labels.LINE.findall, (svg, labels.translated(svg)))
        for (tag, english, _), (_, chinese, _) in zip(*lines, strict=True):
            room = re.search('font-size="([^"]*)".* textLength="([^"]*)"', tag)
            if room and english != chinese:
                size, length = map(float, room.groups())
                takes = size * sum(widths.get(ord(letter), 0.5) for letter in chinese)
                assert takes <= length + 6, f"{path.name}: {chinese!r} is longer than {english!r}"
                translations += 1
    assert translations > 200


def test_a_label_of_a_stored_figure_is_a_message_with_its_cells() -> None:
    messages = {message.id: message for message in library_messages()}
    places = messages["query: attends"].locations
    assert ("book/03_single_head.ipynb#learning-map", 0) in places
    assert "query {}" in messages  # one message for "query 0", "query 1" and "query 2"


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
