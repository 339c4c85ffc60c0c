"""Figures: the same SVG every time, another when a number moves, every character drawn."""

import dataclasses
import re
import string
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import matplotlib
import pytest
import torch
from fontTools.subset import Subsetter
from fontTools.ttLib import TTFont
from matplotlib import font_manager

from attnbook import figures
from attnbook.colours import ROLES
from attnbook.figures import canvas
from press.fonts import chinese_of_the_book
from tools.common import ROOT

FONTS = ROOT / "src" / "attnbook" / "fonts"
TOKENS = ["苹果", "很", "甜"]
WEIGHTS = torch.tensor([[0.2, 0.3, 0.5], [1.0, 0.0, 0.0], [0.0, 0.25, 0.75]])
DRAWINGS = {
    "weights": lambda x: figures.plot_weights(x, TOKENS, title="t"),
    "matrix": lambda x: figures.plot_matrix(x - 0.5, TOKENS, TOKENS),
    "lines": lambda x: figures.plot_lines([1, 2, 3], {"a": x[0], "b": x[2]}, "x", "y"),
    "log lines": lambda x: figures.plot_lines([1, 10, 100], {"a": x[0]}, "x", "y", log="xy"),
    "softmax row": lambda x: figures.plot_softmax_row(x[0] * 4, x[0], TOKENS),
}


@pytest.mark.parametrize("name", DRAWINGS)
def test_a_figure_is_one_svg_and_returns_nothing(name, drawn):
    assert DRAWINGS[name](WEIGHTS) is None
    assert len(drawn) == 1
    assert drawn[0].startswith("<svg")


@pytest.mark.parametrize("name", DRAWINGS)
def test_the_same_numbers_draw_the_same_picture(name, drawn):
    DRAWINGS[name](WEIGHTS)
    DRAWINGS[name](WEIGHTS.clone())
    assert drawn[0] == drawn[1]


@pytest.mark.parametrize("name", DRAWINGS)
def test_a_moved_number_moves_the_picture(name, drawn):
    moved = WEIGHTS.clone()
    moved[0, 0] += 0.04
    DRAWINGS[name](WEIGHTS)
    DRAWINGS[name](moved)
    assert drawn[0] != drawn[1]


@pytest.mark.parametrize("name", DRAWINGS)
def test_noise_in_the_last_digits_does_not(name, drawn):
    DRAWINGS[name](WEIGHTS)
    DRAWINGS[name]((WEIGHTS.double() + 1e-9).clamp(max=1))
    assert drawn[0] == drawn[1]


@pytest.mark.parametrize("name", DRAWINGS)
def test_the_svg_carries_no_date_and_no_long_number(name, drawn):
    DRAWINGS[name](WEIGHTS)
    without_scales = re.sub(r"scale\([^)]*\)", "", drawn[0])
    assert not re.search(r"\d\.\d\d", without_scales.split("<metadata>")[0])
    assert not re.search(r"<path[^>]* d=\"[^\"]*\d\.\d\d", without_scales)
    assert "<dc:date>" not in drawn[0]


@contextmanager
def font_list(fonts: list[font_manager.FontEntry]) -> Iterator[None]:
    """The fonts that Matplotlib knows, for a while."""
    manager = font_manager.fontManager
    known = manager.ttflist
    manager.ttflist = fonts
    manager._findfont_cached.cache_clear()
    try:
        yield
    finally:
        manager.ttflist = known
        manager._findfont_cached.cache_clear()


@pytest.mark.parametrize("name", DRAWINGS)
def test_a_machines_own_settings_draw_nothing(name, drawn):
    DRAWINGS[name](WEIGHTS)
    own = {"axes.grid": True, "lines.linewidth": 7, "font.size": 20, "savefig.bbox": "tight"}
    own |= {"axes.facecolor": "black", "xtick.direction": "in", "svg.image_inline": False}
    with matplotlib.rc_context(own):
        DRAWINGS[name](WEIGHTS)
        assert matplotlib.rcParams["lines.linewidth"] == 7
    assert drawn[0] == drawn[1]


def test_a_font_of_the_system_draws_nothing(drawn):
    known = font_manager.fontManager.ttflist
    other = Path(matplotlib.get_data_path(), "fonts", "ttf", "STIXGeneral.ttf")
    rivals = [
        font_manager.FontEntry(
            fname=str(other), name="Noto Sans CJK SC", weight=weight, size="scalable"
        )
        for weight in (400, 700)
    ]
    DRAWINGS["weights"](WEIGHTS)
    with font_list(rivals + known):
        DRAWINGS["weights"](WEIGHTS)
    assert drawn[0] == drawn[1]


def test_a_font_with_more_letters_draws_the_same(drawn, tmp_path):
    DRAWINGS["weights"](WEIGHTS)
    known = font_manager.fontManager.ttflist
    fewer = []
    for font in (font for font in known if font.name == canvas.FAMILY):
        cut, subsetter = TTFont(font.fname), Subsetter()
        subsetter.populate(text="".join(TOKENS) + string.printable)
        subsetter.subset(cut)
        path = tmp_path / Path(font.fname).name
        cut.save(path)
        fewer.append(dataclasses.replace(font, fname=str(path)))
    assert len(fewer) == 2
    with font_list([*fewer, *(font for font in known if font.name != canvas.FAMILY)]):
        DRAWINGS["weights"](WEIGHTS)
    assert drawn[0] == drawn[1]
    ids = re.findall(r'<path id="([^"]+)"[^>]* transform="scale', drawn[0])
    assert len(ids) == len(set(ids)) > 10
    assert all(re.fullmatch(r"glyph-[0-9a-f]{6}", name) for name in ids)


def test_row_zero_stands_on_top_and_the_darkest_cell_is_the_largest_weight(drawn):
    figures.plot_weights(torch.tensor([[0.0, 0.0], [1.0, 0.0]]), ["a", "b"])
    fills = re.findall(
        r'd="M ([\d.]+) ([\d.]+) [^"]*"[^>]*style="fill: (#\w{6}); stroke: #ffffff', drawn[0]
    )
    assert len(fills) == 4
    left, bottom = min(float(f[0]) for f in fills), max(float(f[1]) for f in fills)
    darkest = min(fills, key=lambda f: sum(bytes.fromhex(f[2][1:])))
    assert (float(darkest[0]), float(darkest[1])) == (left, bottom)


def test_roles_have_their_colours(drawn):
    figures.plot_shapes(
        ("Q", 6, 24, "query"), "@", ("Kᵀ", 24, 6, "key"), "=", ("A", 6, 6, "weights"),
        ("V", 6, 28, "value"),
    )  # fmt: skip
    for role in ROLES.values():
        assert f"fill: {role.fill.lower()}" in drawn[0]
        assert role.light.lower() in drawn[0]


def test_shapes_are_to_scale(drawn):
    figures.plot_shapes(("A", 6, 24, "query"), "@", ("B", 24, 6, "key"))
    boxes = re.findall(
        r'd="M ([\d.]+) ([\d.]+)  L ([\d.]+) [\d.]+  L [\d.]+ ([\d.]+) [^"]*" clip', drawn[0]
    )
    sizes = [(abs(float(c) - float(a)), abs(float(d) - float(b))) for a, b, c, d in boxes]
    (width, height), (other_width, other_height) = sizes
    assert width / height == pytest.approx(4, rel=0.02)
    assert (other_width, other_height) == pytest.approx((height, width), rel=0.02)


def test_steps_are_drawn(drawn):
    figures.plot_steps([("compare", "(Lq, Lk)", None), ("mix", "(Lq, Dv)", "value")])
    assert ROLES["value"].fill.lower() in drawn[0]


@pytest.mark.parametrize("style", ["Regular", "Bold"])
def test_every_chinese_character_of_the_book_can_be_drawn(style):
    wanted = chinese_of_the_book()
    has = TTFont(FONTS / f"NotoSansCJKsc-{style}.otf").getBestCmap()
    assert set("苹果很甜") <= wanted
    assert not sorted(c for c in wanted if ord(c) not in has)


@pytest.mark.filterwarnings("default")
def test_a_character_without_a_glyph_would_be_noticed(drawn):
    with pytest.warns(UserWarning, match="missing from font"):
        figures.plot_weights(torch.eye(1), ["\U00012000"])


BAD = [
    (TypeError, "plot_weights", ([[1.0]], ["a"]), "weights must be a torch.Tensor"),
    (ValueError, "plot_weights", (WEIGHTS, ["a"]), r"shape \(3, 3\) but there are 1 row"),
    (ValueError, "plot_weights", (WEIGHTS * 2, TOKENS), "between 0 and 2: they must be"),
    (ValueError, "plot_weights", (WEIGHTS * torch.nan, TOKENS), "they must be between"),
    (ValueError, "plot_matrix", (WEIGHTS, TOKENS, ["a"]), "1 column labels"),
    (ValueError, "plot_lines", ([1, 2], {"a": [1]}, "x", "y"), "'a' has 1 values but x has 2"),
    (ValueError, "plot_lines", ([1], {}, "x", "y"), "0 series: plot_lines draws 1 to 4"),
    (ValueError, "plot_softmax_row", (WEIGHTS[0], WEIGHTS[0], ["a"]), "3 weights, 1 labels"),
    (ValueError, "plot_shapes", ("@",), "needs at least one"),
    (ValueError, "plot_shapes", (("Q", 0, 3, None),), "Q is 0 x 3: both sides"),
    (ValueError, "plot_steps", ([],), "needs at least one step"),
]


@pytest.mark.parametrize(("error", "name", "arguments", "message"), BAD)
def test_bad_input_is_named(error, name, arguments, message, drawn):
    with pytest.raises(error, match=message):
        getattr(figures, name)(*arguments)
    assert not drawn
