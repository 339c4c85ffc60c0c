"""The sheet every figure is drawn on: the book's type and colours, and SVG that never changes.

A figure is emitted as SVG, because nbval compares SVG (and ignores PNG). To be the same on every
machine it carries no date and no random id, and its coordinates are rounded to a tenth of a point.
The background is transparent, so that the page decides between light and dark.
"""

import dataclasses
import hashlib
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
from IPython.display import SVG, display
from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from attnbook.colours import ROLES

FAMILY = "attention book"  # our font, under a name that no font of a system has
for _path in sorted((Path(__file__).parent.parent / "fonts").glob("*.otf")):
    _font = font_manager.ttfFontProperty(font_manager.get_font(_path))
    font_manager.fontManager.ttflist.append(dataclasses.replace(_font, name=FAMILY))

INK, SOFT, RULE = "#222222", "#5A5A5A", "#C8C8C8"
WEIGHTS = LinearSegmentedColormap.from_list(
    "weights", ["#FFFFFF", ROLES["weights"].fill, "#5E1F45"]
)
SIGNED = LinearSegmentedColormap.from_list(
    "signed", ["#8C510A", "#D8B365", "#FFFFFF", "#7FB5B5", "#01665E"]
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
    "axes.unicode_minus": True,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    "legend.frameon": False,
    "svg.fonttype": "path",
    "svg.hashsalt": "attnbook",
    "mathtext.fontset": "stixsans",
}
_NUMBER = re.compile(r"-?\d+\.\d{2,}")
_HASHED = re.compile(r"\b[a-z][0-9a-f]{10}\b")
_SCALE = re.compile(r"(scale\([^)]*\))")
_GLYPH = re.compile(r'<path id="([^"]+)"(?: d="([^"]*)")? transform="scale')
_NAME = re.compile(r'(?<=["#])[^"#<>]+(?=")')
_IDLE = re.compile(r"<!--.*?-->|^ +|(?<=<g) id=\"\w+_\d+\"|\n(?=\n)", re.S | re.M)


@contextmanager
def canvas(width: float, height: float) -> Iterator[Figure]:
    """Give a figure of width x height inches to draw on, and display it at the end as SVG."""
    with mpl.rc_context():
        mpl.rcdefaults()  # whatever this machine has in its matplotlibrc
        mpl.rcParams.update(STYLE)
        figure = Figure(figsize=(width, height), layout="constrained")
        yield figure
        display(SVG(svg(figure)))


def svg(figure: Figure) -> str:
    """The figure as SVG text: no date, coordinates rounded to a tenth, ids that follow from both.

    Matplotlib derives its ids from unrounded coordinates. Ours number the parts in order, behind a
    mark of the picture, because some notebook viewers put all pictures into one page. It names a
    letter by its place in the font, which changes when a font gets one more; ours are named by
    their shape.
    """
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    body = _IDLE.sub("", text[text.index("<svg") :])  # comments, indents and idle ids
    parts = _SCALE.split(body)  # a glyph's scale(0.0…) must keep its digits
    body = "".join(p if p.startswith("scale(") else _NUMBER.sub(_tenth, p) for p in parts)
    for number, name in enumerate(dict.fromkeys(_HASHED.findall(body))):
        body = body.replace(name, f"part{number}")
    glyphs = {name: f"glyph-{_mark(shape)}" for name, shape in _GLYPH.findall(body)}
    body = _NAME.sub(lambda name: glyphs.get(name[0], name[0]), body)
    return re.sub(r"(?<=[\"#])(part\d+)\b", rf"\1-{_mark(body)}", body)


def text_colour(role: str | None) -> str:
    """The text colour of a role on the light page, or ink."""
    return ROLES[role].light if role else INK


def fill_colour(role: str | None) -> str:
    """The fill of a role, or a pale grey."""
    return ROLES[role].fill if role else "#B8B8B8"


def readable_on(colour: tuple[float, ...]) -> str:
    """Ink or white, whichever reads better on the colour."""
    luminance = 0.2126 * colour[0] + 0.7152 * colour[1] + 0.0722 * colour[2]
    return INK if luminance > 0.45 else "#FFFFFF"


def bare(axes: Axes) -> None:
    """Take an axes' frame and ticks away, and keep its units square."""
    axes.set_axis_off()
    axes.set_aspect("equal")


def _mark(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:6]


def _tenth(match: re.Match[str]) -> str:
    text = f"{float(match.group()):.1f}".removesuffix(".0")
    return "0" if text == "-0" else text
