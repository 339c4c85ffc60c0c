"""Comments in code, words in outputs and labels of figures are translated, and nothing else."""

import html
import io
import json
import re
import tokenize
from pathlib import Path

import nbformat
import pytest
from babel.messages import Catalog
from fontTools.ttLib import TTFont
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from attnbook import language
from manuscript import labels, messages
from manuscript.chapters import pages
from manuscript.comments import block_remarks, remarks, translated_block, translated_code
from manuscript.common import ROOT
from manuscript.edition import TRANSLATIONS
from manuscript.messages import (
    code_cells,
    library_messages,
    names,
    shown_source,
)
from manuscript.normal_form import read as read_notebook
from tools import check_translation, translate
from tools.check_translation import message_complaints

FOLDER = TRANSLATIONS / "zh_CN"
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


def test_comments_in_a_block_of_code_are_messages_too() -> None:
    python = "```python\nx = f(x)    # (L, D): each row\n# and its `sum`\n```"
    shell = "```sh\npip install 3G https://x/#here    # made by `make`\n# done\n```"
    text = "```text\nword    # no code\n```"
    assert translated_block(python, lambda message: message.upper()) == (
        "```python\nx = f(x)    # (L, D): EACH ROW\n# AND ITS `SUM`\n```"
    )
    assert translated_block(shell, lambda message: message.upper()) == (
        "```sh\npip install 3G https://x/#here    # MADE BY `MAKE`\n# DONE\n```"
    )
    assert translated_block(text, lambda message: message.upper()) == text


def test_no_comment_in_a_block_of_code_stays_in_english() -> None:
    comments = translate.read(FOLDER / "comments.po")
    found = [
        (path.stem, comments.get(block[start:end]))
        for path in pages()
        for _place, holder, key in messages.read_page(path)[1]
        for block in messages.RAW.findall(holder[key])
        for start, end in block_remarks(block)
    ]
    assert len(found) > 40
    assert [where for where, message in found if not (message and message.string)] == []


NOTEBOOKS = [path for path in pages() if path.suffix == ".ipynb"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_only_comments_and_docstrings_of_code_are_translated(path: Path) -> None:
    comments = translate.read(FOLDER / "comments.po")
    for cell in code_cells(read_notebook(path)):
        for code in (cell.source, *(data["text/plain"] for data in shown_source(cell))):
            chinese = translated_code(code, lambda text: translate.translation(text, comments))
            assert code_of(chinese) == code_of(code), cell.id
            assert columns(chinese) == columns(code), cell.id


def test_the_docstring_of_a_shown_source_is_translated_in_both_formats() -> None:
    (path,) = [page for page in NOTEBOOKS if page.stem == "12_language_model"]
    before = "Let the rows attend to earlier ones, then transform each row separately."
    comments = Catalog()
    comments.add(before, "各行先关注前面的行。")
    after, _headings = translate.translated(path, Catalog(), comments)
    assert before in path.read_text("utf-8")
    assert before not in after
    cells = nbformat.reads(after, as_version=4).cells
    (shown,) = shown_source(next(cell for cell in cells if cell.id == "model-block"))
    assert '"""各行先关注前面的行。"""' in shown["text/plain"]
    assert shown["text/markdown"] == f"```python\n{shown['text/plain']}\n```"


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
        "masks": [{"name": "causal", "rows": ["100"]}, {"name": "head 12"}],
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
        "masks": [{"name": "因果", "rows": ["100"]}, {"name": "头 12"}],
        "labels": ["is"],
        "model": "causal",
        "words": {"key": "权重"},
    }
    assert "<td>因果</td>" in shown
    assert [*names(data)] == ["Right and wrong", "causal", "head 12"]
    given = {"words": {"try": "Pick a query.", "maps": "desk", "outcome": ""}}  # by a cell
    assert [*names(given)] == ["desk"]


def test_no_sentence_of_an_interactive_figure_stays_in_english(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ATTNBOOK_LANGUAGE", "zh_CN")
    stored = [
        figure[0]
        for path in NOTEBOOKS
        for cell in code_cells(nbformat.read(path, as_version=4))
        for output in cell.outputs
        if (figure := messages.FIGURE.search(output.get("data", {}).get("text/html", "")))
    ]
    assert len(stored) > 20
    for figure in stored:
        data = html.unescape(translate.translated_figure(figure))
        assert not re.findall(r'"[A-Z][a-z]+ [^"]*\."', data)


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
        "=======\n"
    )
    (tmp_path / "outputs.txt").write_text(lines, "utf-8")
    assert [*check_translation.output_complaints(tmp_path)] == [
        "outputs.txt: '=======' does not begin with a page and a cell",
        "outputs.txt: 01_library#softmax does not print ['of the world']",
        "outputs.txt: 01_library#no does not print ['x']",
    ]


def test_words_explained_below_an_output_take_no_reading_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (path,) = [page for page in NOTEBOOKS if page.stem == "primer"]
    before, _headings = translate.translated(path, Catalog(), Catalog())
    monkeypatch.setattr(translate, "explained", lambda *_: {"normal-run": "`near` " * 2000})
    after, _headings = translate.translated(path, Catalog(), Catalog())
    assert "`near` `near`" in after
    assert re.findall(r"Time:.*", after) == re.findall(r"Time:.*", before) != []


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
