"""Heatmaps with row 0 on top: attention weights, from white (0) to dark (1), and signed numbers."""

import itertools
import math
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from matplotlib.axes import Axes
from matplotlib.colors import Colormap, LinearSegmentedColormap
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from torch import Tensor

from attnbook import colors
from attnbook.colors import PAPER, RULE, SOFT
from attnbook.figures.canvas import (
    SMALL,
    WIDE,
    Point,
    canvas,
    numbers,
    readable_on,
    side_by_side,
    text_color,
    write,
)
from attnbook.language import HAN

__all__ = [
    "plot_heads",
    "plot_maps",
    "plot_matrix",
    "plot_positions",
    "plot_weights",
]

WEIGHTS = LinearSegmentedColormap.from_list("weights", colors.WEIGHTS)
SIGNED = LinearSegmentedColormap.from_list("signed", colors.SIGNED)
MAX_MAPS = 4  # in one figure
ROOMY, NARROW, TIGHT = 0.36, 0.23, 0.14  # inches: cells wide enough for 0.25, .25, and .3
LINE, LETTER = 0.15, 0.08  # inches, the height of a name and the width of a letter


def plot_weights(
    weights: Tensor, queries: Sequence[str], keys: Sequence[str] | None = None
) -> None:
    """Draw an attention map: one row per query, one column per key, white for 0, dark for 1.

    Shapes:  weights (Lq, Lk), between 0 and 1; queries Lq labels, keys Lk labels (default queries)
    Raises:  ValueError if the sizes or the values do not fit
    """
    plot_maps({"": weights}, queries, keys)


def plot_maps(
    maps: Mapping[str, Tensor], queries: Sequence[str], keys: Sequence[str] | None = None
) -> None:
    """Draw up to four attention maps side by side, or in rows of two, each under its name.

    A narrow cell has a short number: .25 or .3 for 0.25. A very narrow cell has none.

    Shapes:  each map (Lq, Lk), between 0 and 1; queries Lq labels, keys Lk labels (default queries)
    Raises:  ValueError if there are no maps or too many, or sizes or values do not fit
    """
    keys = queries if keys is None else keys
    if not 1 <= len(maps) <= MAX_MAPS:
        raise ValueError(f"{len(maps)} maps: 1 to {MAX_MAPS} are drawn side by side")
    grids = {}
    for title, x in maps.items():
        grids[title] = numbers(title or "weights", x, len(queries), len(keys))
        check_range(title or "weights", grids[title], 0)
    cell, across, width, height = fit(queries, keys, len(maps))
    narrow = cell < ROOMY
    form = written(cell)
    with canvas(width, height + 0.2) as figure:
        panels = side_by_side(figure, len(maps), across)
        for axes, (title, x) in zip(panels, grids.items(), strict=True):
            draw_cells(axes, x, WEIGHTS, form=form)
            label_cells(axes, queries, [_stacked(key) for key in keys] if narrow else keys, cell)
            axes.spines[:].set(visible=narrow, color=RULE)  # since many cells may be blank
            axes.set_title(title)
        for axes in panels[::across]:
            axes.set_ylabel("query: attends", color=text_color("query"))
        figure.supxlabel("key: attended to", fontsize=10, color=text_color("key"))


def plot_heads(
    weights: Tensor,
    queries: Sequence[str],
    keys: Sequence[str] | None = None,
    titles: Sequence[str] | None = None,
) -> None:
    """Draw the attention maps of up to four heads side by side.

    Shapes:  weights (H, Lq, Lk), between 0 and 1; queries Lq labels, keys Lk labels (default
             queries), titles H (default "head 0", "head 1", …)
    Raises:  ValueError if there are too many heads, or sizes or values do not fit
    """
    titles = [f"head {h}" for h in range(len(weights))] if titles is None else titles
    plot_maps(dict(zip(titles, weights, strict=True)), queries, keys)


def plot_matrix(
    matrix: Tensor, rows: Sequence[str], columns: Sequence[str], digits: int | None = 1
) -> None:
    """Draw signed numbers, brown below zero and green above; `digits=None` draws no numbers.

    Shapes:  matrix (N, M); rows N labels, columns M labels
    Raises:  ValueError if the sizes do not fit
    """
    x = numbers("matrix", matrix, len(rows), len(columns))
    limit = float(x.abs().max()) or 1.0
    cell, _, width, height = fit(rows, columns)
    with canvas(width, height) as figure:
        axes = figure.subplots()
        form = None if digits is None else lambda value: signed(value, f".{digits}f")
        draw_cells(axes, x, SIGNED, -limit, limit, form=form)
        label_cells(axes, rows, [_stacked(x) for x in columns] if cell < ROOMY else columns, cell)


def plot_positions(encoding: Tensor) -> None:
    """Draw a positional encoding: one row per position, brown for −1, white for 0, green for +1.

    Shapes:  encoding (L, d_model), between −1 and 1
    Raises:  ValueError if a number is not between −1 and 1
    """
    x = numbers("encoding", encoding, digits=1)
    check_range("encoding", x, -1)
    n_rows, n_columns = x.shape
    wide, high = min(0.5, (WIDE - 1.6) / n_columns), min(0.5, 4.6 / n_rows)  # a cell, in inches
    with canvas(max(4.4, 1.6 + wide * n_columns), 0.8 + high * n_rows) as figure:
        axes = figure.subplots()
        for value, name in ((-1.0, "−1"), (0.0, "0"), (1.0, "+1")):
            axes.plot([], [], "s", color=SIGNED((value + 1) / 2), markeredgecolor=SOFT, label=name)
        paint(axes, x, lambda value: SIGNED((value + 1) / 2))
        frame(axes, n_rows, n_columns)
        for axis, count in ((axes.xaxis, n_columns), (axes.yaxis, n_rows)):
            step = next(s for s in (1, 2, 4, 8, 16, 32, 64, count) if count <= 9 * s)
            axis.set_ticks(
                [i + 0.5 for i in range(0, count, step)], map(str, range(0, count, step))
            )
        axes.set_xlabel("column i: fast hands on the left, slow ones on the right")
        axes.set_ylabel("position t")
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), handletextpad=0.1)


def draw_cells(
    axes: Axes,
    x: Tensor,
    shades: Colormap,
    low: float = 0.0,
    high: float = 1.0,
    *,
    corner: Point = (0, 0),
    width: float = 1.0,
    edge: str = PAPER,
    form: Callable[[float], str] | None = None,
) -> None:
    """Draw one colored cell per number, row 0 on top, with the number as `form` writes it.

    Shapes:  x (rows, columns), or (rows, columns, 3) for red, green and blue
    """
    across = [corner[0] + j * width for j in range(x.size(1) + 1)]
    down = [corner[1] + i for i in range(x.size(0) + 1)]
    style: dict[str, Any] = {"cmap": shades, "vmin": low, "vmax": high, "edgecolors": edge}
    axes.pcolormesh(across, down, x.numpy(), linewidth=0.8, **style)
    if form is None:
        return
    for top, row in zip(down, x.tolist(), strict=False):
        for left, value in zip(across, row, strict=False):
            ink = readable_on(shades((value - low) / (high - low)))
            write(axes, left + width / 2, top + 0.5, form(value), color=ink, fontsize=SMALL)


def fit(
    rows: Sequence[str],
    columns: Sequence[str],
    count: int = 1,
    most: float = 0.46,
    least: float = NARROW,
) -> tuple[float, int, float, float]:
    """How `count` maps with their labels fit into WIDE: side by side, or else in two rows.

    Returns the side of a cell, how many maps are side by side, and the width and height in inches.
    """
    left = 0.6 + 0.075 * max(map(len, rows))
    slanted = (0.06 * len(columns[-1]), 0.25 + 0.05 * max(map(len, columns)))
    for across in (count, math.ceil(count / 2)):
        for room in ((0.1, 0.4), slanted):  # beside a map and above it
            cell = min(most, (WIDE - left - across * room[0]) / (across * len(columns)))
            if _upright(columns, cell):
                break
        if cell >= least or count <= 2:
            break
    width = left + across * (cell * len(columns) + room[0])
    height = room[1] + max(cell, LINE) * len(rows) + 0.3
    return cell, across, width, math.ceil(count / across) * height + 0.2


def frame(axes: Axes, n_rows: int, n_columns: int) -> None:
    """Fit the axes to cells, with row 0 on top and the columns named above them."""
    axes.set_xlim(0, n_columns)
    axes.set_ylim(n_rows, 0)
    axes.xaxis.tick_top()
    axes.xaxis.set_label_position("top")
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def label_cells(axes: Axes, rows: Sequence[str], columns: Sequence[str], side: float) -> None:
    """Label the rows and columns of cells that are `side` inches wide; slant long column labels.

    The cells are square, unless a row label is taller than a cell is wide.
    """
    frame(axes, len(rows), len(columns))
    axes.set_aspect(max(1, LINE / side))
    slant, ha = (0, "center") if _upright(columns, side) else (40, "left")
    axes.set_xticks([j + 0.5 for j in range(len(columns))], columns, rotation=slant, ha=ha)
    axes.set_yticks([i + 0.5 for i in range(len(rows))], rows)


def signed(value: float, pattern: str) -> str:
    """A number with a typographic minus sign (−), and none before a zero."""
    text = format(value, pattern)
    return text.lstrip("-") if float(text) == 0 else text.replace("-", "−")


def short(value: float, digits: int) -> str:
    """A weight without its leading zero: .25 for 0.25, 1 for 1, and nothing if it rounds to 0."""
    text = f"{value:.{digits}f}"
    return {0.0: "", 1.0: "1"}.get(float(text), text[1:])


def written(cell: float) -> Callable[[float], str] | None:
    """How a weight is written in a cell this many inches wide."""
    if cell >= ROOMY:
        return "{:.2f}".format
    return partial(short, digits=2 if cell >= NARROW else 1) if cell >= TIGHT else None


def check_range(name: str, x: Tensor, low: int) -> None:
    """Raise ValueError if a number is outside the range of the colors."""
    if not low <= x.min() <= x.max() <= 1:
        limits = f"{x.min():.4g} and {x.max():.4g}"
        raise ValueError(f"{name} lies between {limits}: it must be between {low} and 1")


def _stacked(label: str) -> str:
    """A Chinese word written from top to bottom, so that it fits above a narrow column."""
    return "\n".join(label) if re.fullmatch(f"[{HAN}]+", label) else label


def _upright(columns: Sequence[str], side: float) -> bool:
    """Whether the names fit above columns this wide; Chinese characters count as two letters."""
    lines = [line for name in columns for line in name.split("\n")]
    return max(len(line) + sum(c > "\u2e80" for c in line) for line in lines) * LETTER <= side


def paint(
    axes: Axes,
    x: Tensor,
    color: Callable[[float], Any],
    across: Sequence[float] | None = None,
    down: Sequence[float] | None = None,
) -> None:
    """Fill a large number of cells, one shape per color, merging equal neighbors in a column.

    across, down: the edges of the cells, if their sides are not 1
    """
    across = range(x.size(1) + 1) if across is None else across
    down = range(x.size(0) + 1) if down is None else down
    pieces: dict[float, list[Path]] = defaultdict(list)
    for left, right, column in zip(across, across[1:], x.T.tolist(), strict=False):
        first = 0
        for value, equal in itertools.groupby(column):
            last = first + len(list(equal))
            top, bottom = down[first], down[last]
            corners = [(left, top), (right, top), (right, bottom), (left, bottom), (left, top)]
            pieces[value].append(Path(corners, closed=True))
            first = last
    for value in sorted(pieces):
        shape = Path.make_compound_path(*pieces[value])
        face = color(value)
        axes.add_patch(PathPatch(shape, facecolor=face, edgecolor=face, linewidth=0.2))
