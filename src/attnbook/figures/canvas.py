"""The canvas of every figure: the book's fonts and colors, and SVG that is always byte-identical.

A figure is displayed as SVG, because nbval compares SVG (and ignores PNG). To be the same on every
machine, it has no date and no random id, and its coordinates are rounded to a tenth of a point.
Its background is white, so that it is readable wherever a notebook is opened, even in dark mode;
the pages of the book invert it, background included.
"""

import base64
import hashlib
import io
import math
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
import torch
from IPython.display import display
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.font_manager import fontManager
from matplotlib.patches import FancyBboxPatch
from matplotlib.text import Text
from torch import Tensor

from attnbook.colors import INK, PAPER, PLAIN, ROLES, SOFT
from attnbook.figures.renderer import render
from attnbook.language import in_language

FAMILY = "attention book"  # our font, under a name that no system font has
for _path in sorted((Path(__file__).parent.parent / "fonts").glob("*.otf")):
    fontManager.addfont(_path)

WIDE = 5.6  # inches, the widest figure; on a 390-pixel phone, its SMALL letters are 9 pixels high
SMALL = 9.5  # points, the smallest letters of a figure
PICTURE = (
    "a picture"  # in stored chapters, manuscript/normal_form.py replaces it with a description
)
STYLE: Any = {
    "font.family": [FAMILY, "DejaVu Sans"],
    "font.size": 10,
    "text.color": INK,
    "axes.edgecolor": SOFT,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "xtick.color": SOFT,
    "ytick.color": SOFT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "figure.facecolor": PAPER,
    "axes.facecolor": "none",
    "legend.frameon": False,
    "svg.fonttype": "path",
    "svg.hashsalt": "attnbook",
    "mathtext.fontset": "stixsans",
}
Point = tuple[float, float]
Span = tuple[float, float]  # from, to
_NUMBER = re.compile(r"-?\d+\.\d{2,}")
_HASHED = re.compile(r"\b[a-z][0-9a-f]{10}\b")
_EXACT = re.compile(r"(scale\([^)]*\)|>[^<]+</text>)")  # must keep their digits
_GLYPH = re.compile(r'<path id="([^"]+)"(?: d="([^"]*)")? transform="scale')
_NAME = re.compile(r'(?<=["#])[^"#<>]+(?=")')
# A page allows no <style>, so the root has what Matplotlib writes there. The pages have FAMILY.
_STYLE = re.compile(r"<defs>\n<style.*?</style>\n</defs>\n", re.S)
_FONTS = f"'{FAMILY}', 'Noto Sans CJK SC', Arial, sans-serif"
_ROOT = f'font-family="{_FONTS}" stroke-linejoin="round"'
_IDLE = re.compile(r"<!--.*?-->|^ +|(?<=<g) id=\"\w+_\d+\"|\n(?=\n)", re.S | re.M)


@contextmanager
def canvas(width: float, height: float, *, measured: bool = False) -> Iterator[Figure]:
    """Yield a figure of width x height inches to draw on, and display it at the end as SVG.

    The width is at most WIDE, and no letters are smaller than SMALL, so that the figure fits on
    a phone. With `measured`, for times that differ from machine to machine, the figure is displayed
    as PNG, which nbval does not compare.
    """
    with mpl.rc_context():
        mpl.rcdefaults()  # ignore the matplotlibrc of this machine
        mpl.rcParams.update(STYLE)
        figure = Figure(figsize=(width, height), layout="constrained")
        yield figure
        for text in figure.findobj(Text):
            words, dollar, formula = text.get_text().partition("$")
            text.set_text(f"{in_language(words)}{dollar}{formula}")
        picture = {"image/png": png(figure)} if measured else {"image/svg+xml": svg(figure)}
        display(picture | {"text/plain": PICTURE}, raw=True)


def png(figure: Figure) -> str:
    """The figure as a base64-encoded PNG, as a notebook stores it."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=144, metadata={"Software": None})
    return base64.b64encode(buffer.getvalue()).decode("ascii")


def svg(figure: Figure) -> str:
    """The figure as SVG text without a date, with rounded coordinates and reproducible ids.

    Matplotlib derives its ids from unrounded coordinates. They are replaced with consecutive
    numbers and a hash of the picture, because some notebook viewers put all pictures on one page.
    Matplotlib names a glyph by its index in the font, which changes when the font gets a new
    character; here, a hash of its shape is used instead.
    """
    figure.draw_without_rendering()  # place the title before the layout makes room for it
    text = render(figure)
    body = _IDLE.sub("", text[text.index("<svg") :])  # comments, indentation and unused ids
    body = _STYLE.sub("", body).replace("<svg ", f"<svg {_ROOT} ", 1)
    parts = _EXACT.split(body)
    parts[::2] = (_NUMBER.sub(_tenth, part) for part in parts[::2])
    body = "".join(parts)
    for number, name in enumerate(dict.fromkeys(_HASHED.findall(body))):
        body = body.replace(name, f"part{number}")
    glyphs = {name: f"glyph-{_hash(shape)}" for name, shape in _GLYPH.findall(body)}
    body = _NAME.sub(lambda name: glyphs.get(name[0], name[0]), body)
    return re.sub(r"(?<=[\"#])(part\d+)\b", rf"\1-{_hash(body)}", body)


def numbers(name: str, x: Tensor | Sequence[float], *shape: int, digits: int = 6) -> Tensor:
    """The numbers of a figure as float64 on the CPU, rounded to be the same on every machine.

    Raises:  ValueError if a `shape` is given and the numbers have a different one
    """
    y = torch.as_tensor(x, dtype=torch.float64).detach().cpu()
    if shape and tuple(y.shape) != shape:
        raise ValueError(f"{name} has shape {tuple(y.shape)} but its labels ask for {shape}")
    return torch.round(y, decimals=digits) + 0.0


@contextmanager
def drawing(
    width: float, height: float, across: Span, down: Span, *, square: bool = True
) -> Iterator[Axes]:
    """A canvas with a single Axes that has these limits and neither a frame nor ticks."""
    with canvas(width, height) as figure:
        axes = figure.subplots()
        bare(axes, across, down, square)
        yield axes


def side_by_side(figure: Figure, count: int, across: int | None = None) -> Sequence[Axes]:
    """Equal panels that share the vertical axis, in rows of `across`, or by default in one row."""
    across = across or count
    sheet = figure.subplots(math.ceil(count / across), across, squeeze=False, sharey=True)
    for spare in sheet.flat[count:]:
        spare.remove()
    return list(sheet.flat[:count])


def text_color(role: str | None) -> str:
    """The text color of a role on a light page, or INK if there is no role."""
    return ROLES[role].light if role else INK


def fill_color(role: str | None) -> str:
    """The fill of a role, or a pale gray if there is no role."""
    return ROLES[role].fill if role else PLAIN


def readable_on(color: Any) -> str:
    """INK or PAPER, whichever is easier to read on the color when that is laid over white."""
    red, green, blue, opacity = to_rgba(color)
    luminance = 1 - opacity * (1 - (0.2126 * red + 0.7152 * green + 0.0722 * blue))
    return INK if luminance > 0.45 else PAPER


def bare(axes: Axes, across: Span, down: Span, square: bool = True) -> None:
    """Remove the frame and the ticks of axes, and set their limits."""
    axes.set_axis_off()
    axes.set_aspect("equal" if square else "auto")
    axes.set(xlim=across, ylim=down)


def write(
    axes: Axes, x: float, y: float, text: str, role: str | None = None,
    *, lift: Point | None = None, **font: Any,
) -> None:  # fmt: skip
    """Write a text centered on a point, or `lift` typographic points away from it."""
    font = {"ha": "center", "va": "center", "color": text_color(role)} | font
    if lift is None:
        axes.text(x, y, text, **font)
    else:
        axes.annotate(text, (x, y), lift, textcoords="offset points", **font)


def rounded(
    axes: Axes, corner: Point, wide: float, high: float, radius: float, **style: Any
) -> None:
    """A box with rounded corners."""
    box_style = f"round,pad=0,rounding_size={radius}"
    axes.add_patch(FancyBboxPatch(corner, wide, high, box_style, **style))


def arrow(axes: Axes, start: Point, end: Point, **style: Any) -> None:
    """An arrow from one point to another."""
    style = {"arrowstyle": "-|>", "color": SOFT, "lw": 1, "shrinkA": 0, "shrinkB": 0} | style
    axes.annotate("", end, start, arrowprops=style)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:6]


def _tenth(match: re.Match[str]) -> str:
    text = f"{float(match.group()):.1f}".removesuffix(".0")
    return "0" if text == "-0" else text
