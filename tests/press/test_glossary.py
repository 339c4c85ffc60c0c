"""The glossary on other pages, links to numbered sections, and marks on Chinese."""

import re
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_markdown_cell, new_notebook

from attnbook.language import HAN
from manuscript import readers_copy
from press.extension import glossary
from press.extension.glossary import ROW, Row, sound
from tests.support.pages import build, parsed

GLOSSARY = """# Notation

## Glossary, English and Chinese

| English | 中文 | also called | where | in one line |
|:--|:--|:--|:--|:--|
| mask | 掩码 *yǎnmǎ* | `attn_mask`, 遮罩 | [6.1](masks.ipynb) | who may attend to whom |
| token | 词元 *cíyuán* | | [6.1](masks.ipynb) | a piece of text |
| BLEU | BLEU | | [6.2](masks.ipynb) | a measure |

:::{by-pinyin}
:::
"""
MASKS = """# 6. Masks

## 6.1 What 苹果 may see

See [6.2](masks.ipynb), and `掩码 = 1`, not <b>掩码</b>.

```
掩码
```

## 6.2 Another
"""
MASKS_NOTEBOOK = nbformat.writes(new_notebook(cells=[new_markdown_cell(MASKS)]))


@pytest.fixture(scope="module")
def bilingual(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages of a small book with a glossary."""
    folder = tmp_path_factory.mktemp("bilingual")
    index = "# Title\n\n```{toctree}\nnotation\nmasks\n```\n"
    pages = {"index.md": index, "notation.md": GLOSSARY, "masks.ipynb": MASKS_NOTEBOOK}
    parts = "section_links glossary chinese"
    assert build(folder, pages, parts, glossary_page="notation") == ""
    return folder / "out"


def test_a_section_shows_its_chinese_words_once_and_a_link_leads_to_it(bilingual: Path) -> None:
    page = parsed(bilingual / "masks.html")
    (line,) = page.select("p.in-chinese")
    assert line.get_text() == "掩码 mask · 词元 token"
    assert line.find_previous("h2").get_text().startswith("6.1 ")
    assert line.find_next_sibling() is None  # at the end of the section
    assert line.find_previous_sibling().name != "h2"
    (anchor,) = [section["id"] for section in page.select("section") if "6.2" in section.h2.text]
    assert page.find("a", string="6.2")["href"] == f"#{anchor}"
    assert (
        parsed(bilingual / "notation.html").find("a", string="6.2")["href"]
        == f"masks.html#{anchor}"
    )


def test_the_search_knows_all_names_of_a_word() -> None:
    row = ROW.fullmatch(
        "| top-p, nucleus (p) | 核采样 *hé* | `top_p`, NS | [6.1](masks.ipynb) | x |"
    )
    assert row
    assert Row(**row.groupdict(default="")).words() == [
        "top-p", "nucleus", "p", "核采样", "top_p", "ns",
    ]  # fmt: skip


def test_the_second_table_is_sorted_by_pinyin(bilingual: Path) -> None:
    table = parsed(bilingual / "notation.html").select("table")[1]
    assert [td.get_text() for td in table.select("tbody td:first-child")] == [
        "cíyuán 词元",
        "yǎnmǎ 掩码",
    ]


def test_a_chinese_reader_sees_no_pinyin_but_its_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in glossary, readers_copy:
        monkeypatch.setattr(module, "LANGUAGE", "zh_CN")
    pages = {"index.md": GLOSSARY, "masks.ipynb": MASKS_NOTEBOOK}
    pages["index.md"] += "\n```{toctree}\nmasks\n```\n"
    build(tmp_path, pages, "section_links glossary chinese", glossary_page="index")
    shown = parsed(tmp_path / "out" / "index.html")
    first, second = (table.select("tbody tr") for table in shown.select("table"))
    assert [row.select("td")[1].get_text() for row in first] == ["掩码", "词元", "BLEU"]
    assert [row.td.get_text() for row in second] == ["词元", "掩码"]
    copy = readers_copy.without_directives(GLOSSARY, "")
    assert "掩码 | `attn_mask`" in copy
    assert "*" not in copy


def test_pinyin_is_sorted_by_letters_with_ü_after_u_and_then_by_tones() -> None:
    words = ["lū", "lú", "lǔ", "lù", "lúzi", "lǜ", "xiánǚ", "xiànxìng"]
    rows = [Row("", "", pinyin, "", "", "", "", "") for pinyin in reversed(words)]
    assert [row.pinyin for row in sorted(rows, key=sound)] == words


def test_chinese_is_marked_in_text_and_not_in_blocks_of_code(bilingual: Path) -> None:
    page = parsed(bilingual / "masks.html")
    marked = [
        span.get_text()
        for span in page.select("article [lang=zh-Hans], [role=main] [lang=zh-Hans]")
    ]
    assert {"苹果", "掩码", "词元"} <= set(marked)
    assert all(re.fullmatch(f"[{HAN}]+", text) for text in marked)
    assert not page.select("pre [lang]")
    for code in page.select("code"):
        assert [span.get_text() for span in code.select("[lang]")] == ["掩码"]


def test_a_line_of_the_glossary_that_is_not_a_row_is_a_warning(tmp_path: Path) -> None:
    broken = GLOSSARY.replace("| [6.2](masks.ipynb) |", "| 6.2 |")
    said = build(
        tmp_path, {"index.md": broken}, "section_links glossary chinese", glossary_page="index"
    )
    assert "not a row of the glossary: | BLEU |" in said
