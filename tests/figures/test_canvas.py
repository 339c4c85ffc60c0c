"""The canvas: the same SVG on every machine, in the book's own font, with every character drawn."""

import dataclasses
import functools
import re
import string
from pathlib import Path

import matplotlib
import pytest
import torch
from fontTools.subset import Subsetter
from fontTools.ttLib import TTFont
from matplotlib import font_manager

from attnbook import figures
from attnbook.figures import canvas
from manuscript.common import ROOT
from press.fonts import chinese_of_the_book

FONTS = ROOT / "src" / "attnbook" / "fonts"
TOKENS = ["苹果", "很", "甜"]
WEIGHTS = torch.tensor([[0.2, 0.3, 0.5], [1.0, 0.0, 0.0], [0.0, 0.25, 0.75]])


@pytest.fixture
def texts(monkeypatch):
    """What the figures display, as SVG text."""
    seen: list[str] = []
    monkeypatch.setattr(canvas, "display", lambda bundle, raw: seen.append(bundle["image/svg+xml"]))
    return seen


def draw(name=r"a formula: $\mathbf{W_Q}\sqrt{d_k}$"):
    figures.plot_maps({name: WEIGHTS}, TOKENS)


def test_the_svg_has_no_date_no_long_numbers_and_unique_ids(texts):
    draw()
    figures.plot_weights(WEIGHTS.T / 2, TOKENS)
    figures.plot_masks({"a": WEIGHTS > 0}, TOKENS)
    for text in texts:
        assert text.startswith("<svg")
        assert "<metadata>" not in text  # it would have a date
        rounded = re.sub(r"scale\([^)]*\)|>[^<]*<", "", text)
        assert not re.search(r"\d\.\d\d", rounded)
    parts = [set(re.findall(r'id="(part\d+-\w+)"', text)) for text in texts]
    assert all(parts)
    assert sum(map(len, parts)) == len(set.union(*parts))  # one page may show several pictures


def test_settings_of_the_machine_do_not_change_figures(texts):
    draw()
    own = {"axes.grid": True, "lines.linewidth": 7, "font.size": 20, "savefig.bbox": "tight"}
    own |= {"axes.facecolor": "black", "xtick.direction": "in", "svg.image_inline": False}
    with matplotlib.rc_context(own):
        draw()
        assert matplotlib.rcParams["lines.linewidth"] == 7
    assert texts[0] == texts[1]


def test_neither_a_system_font_nor_a_smaller_version_of_ours_changes_a_figure(
    texts, tmp_path, monkeypatch
):
    draw()
    manager, fewer = font_manager.fontManager, []
    for path in FONTS.glob("*.otf"):
        cut, subsetter = TTFont(path), Subsetter()
        subsetter.populate(text="".join(TOKENS) + string.printable)
        subsetter.subset(cut)
        cut.save(tmp_path / path.name)
        fewer.append(font_manager.ttfFontProperty(font_manager.get_font(tmp_path / path.name)))
    assert [font.name for font in fewer] == [canvas.FAMILY] * 2
    others = [font for font in manager.ttflist if font.name != canvas.FAMILY]
    stix = Path(matplotlib.get_data_path(), "fonts", "ttf", "STIXGeneral.ttf")
    rivals = [dataclasses.replace(f, fname=str(stix), name="Noto Sans CJK SC") for f in fewer]
    monkeypatch.setattr(manager, "ttflist", rivals + fewer + others)
    find = functools.partial(manager._findfont_cached.__wrapped__, manager)  # without its cache
    monkeypatch.setattr(manager, "_findfont_cached", find)
    draw()
    assert texts[0] == texts[1]
    ids = re.findall(r'<path id="([^"]+)"[^>]* transform="scale', texts[0])
    assert len(ids) == len(set(ids)) > 4
    assert all(re.fullmatch(r"glyph-[0-9a-f]{6}", name) for name in ids)


def test_words_are_text_that_is_as_long_as_in_our_font(texts):
    draw()
    tags = {words: tag for tag, words in re.findall("<text ([^>]*)>([^<]*)<", texts[0])}
    assert {*TOKENS, "query: attends", "key: attended to", "a formula:"} <= {*tags}
    fonts = {style: TTFont(FONTS / f"NotoSansCJKsc-{style}.otf") for style in ("Regular", "Bold")}
    for words, tag in tags.items():
        font = fonts["Bold" if "bold" in tag else "Regular"]
        glyphs, widths = font.getBestCmap(), font["hmtx"].metrics
        length = sum(widths[glyphs[ord(letter)]][0] for letter in words) / 1000
        size, *stated = map(float, re.findall(r'(?:font-size|textLength)="([\d.]+)', tag))
        assert stated == ([pytest.approx(length * size, rel=0.03)] if len(words) > 1 else [])
    assert 'text-anchor="middle"' in tags["query: attends"]
    assert 'text-anchor="end"' in tags["a formula:"]  # it ends where the formula begins
    assert texts[0].count("<use ") > 4


def test_a_reader_of_another_language_draws_labels_in_it(texts, monkeypatch):
    draw("scores")
    monkeypatch.setenv("ATTNBOOK_LANGUAGE", "zh_CN")
    draw("scores")
    english, chinese = (set(re.findall("<text [^>]*>([^<]*)<", text)) for text in texts)
    assert english - chinese == {"scores", "query: attends", "key: attended to"}
    assert "分数" in chinese - english


@pytest.mark.parametrize("style", ["Regular", "Bold"])
def test_every_chinese_character_of_the_book_can_be_drawn(style):
    wanted = chinese_of_the_book()
    has = TTFont(FONTS / f"NotoSansCJKsc-{style}.otf").getBestCmap()
    assert set("苹果很甜") <= wanted
    assert not sorted(c for c in wanted if ord(c) not in has)
