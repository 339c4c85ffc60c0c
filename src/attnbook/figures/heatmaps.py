"""Heatmaps with row 0 on top: attention weights, from white (0) to dark (1), and signed numbers."""

import itertools
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.colors import Colormap, LinearSegmentedColormap
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from torch import Tensor

from attnbook import colors
from attnbook.colors import PAPER, RULE, SOFT
from attnbook.figures.canvas import (
    Point,
    canvas,
    numbers,
    readable_on,
    side_by_side,
    text_color,
    write,
)

__all__ = ["plot_heads", "plot_maps", "plot_matrix", "plot_positions", "plot_weights"]

WEIGHTS = LinearSegmentedColormap.from_list("weights", colors.WEIGHTS)
SIGNED = LinearSegmentedColormap.from_list("signed", colors.SIGNED)
MAX_MAPS = 4  # side by side
NARROW = 0.4  # inches; a narrower cell has room for .25, but not for 0.25
LONG = 5  # letters; a longer label is slanted


def plot_weights(
    weights: Tensor, queries: Sequence[str], keys: Sequence[str] | None = None
) -> None:
    """Draw an attention map: one row per query, one column per key, 0 white and 1 dark.

    Shapes:  weights (Lq, Lk), between 0 and 1; queries Lq labels, keys Lk labels (default queries)
    Raises:  ValueError if the sizes or the values do not fit
    """
    plot_maps({"": weights}, queries, keys)


def plot_maps(
    maps: Mapping[str, Tensor], queries: Sequence[str], keys: Sequence[str] | None = None
) -> None:
    """Draw up to four attention maps side by side, each under its name.

    Shapes:  each map (Lq, Lk), between 0 and 1; queries Lq labels, keys Lk labels (default queries)
    Raises:  ValueError if there are none or too many, or sizes or values do not fit
    """
    keys = queries if keys is None else keys
    if not 1 <= len(maps) <= MAX_MAPS:
        raise ValueError(f"{len(maps)} maps: 1 to {MAX_MAPS} are drawn side by side")
    grids = {}
    for title, x in maps.items():
        grids[title] = numbers(title or "weights", x, len(queries), len(keys))
        check_range(title or "weights", grids[title], 0, 1)
    cell, width, height = fit(queries, keys, len(maps))
    narrow = cell < NARROW
    form = short if narrow else "{:.2f}".format
    with canvas(width, height + 0.2) as figure:
        panels = side_by_side(figure, len(maps))
        for axes, (title, x) in zip(panels, grids.items(), strict=True):
            draw_cells(axes, x, WEIGHTS, fontsize=min(8.0, 26 * cell), form=form)
            label_cells(axes, queries, [_stacked(key) for key in keys] if narrow else keys)
            axes.spines[:].set(visible=narrow, color=RULE)  # many of its cells may be empty
            axes.set_title(title)
        panels[0].set_ylabel("query: who looks", color=text_color("query"))
        figure.supxlabel("key: what is looked at", fontsize=10, color=text_color("key"))


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
    _, *size = fit(rows, columns)
    with canvas(*size) as figure:
        axes = figure.subplots()
        form = None if digits is None else lambda value: signed(value, f".{digits}f")
        draw_cells(axes, x, SIGNED, -limit, limit, form=form)
        label_cells(axes, rows, columns)


def plot_positions(encoding: Tensor) -> None:
    """Draw a positional encoding: one row per position, brown −1, white 0, green +1.

    Shapes:  encoding (L, d_model), between −1 and 1
    Raises:  ValueError if it leaves −1 … 1
    """
    x = numbers("encoding", encoding, digits=1)
    check_range("encoding", x, -1, 1)
    n_rows, n_columns = x.shape
    wide, high = min(0.5, 4.6 / n_columns), min(0.5, 4.6 / n_rows)  # inches of a cell
    with canvas(max(4.4, 1.6 + wide * n_columns), 0.8 + high * n_rows) as figure:
        axes = figure.subplots()
        for value, name in ((-1.0, "−1"), (0.0, "0"), (1.0, "+1")):
            axes.plot([], [], "s", color=SIGNED((value + 1) / 2), markeredgecolor=SOFT, label=name)
        _paint(axes, x)
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
    fontsize: float = 8.0,
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
            write(axes, left + width / 2, top + 0.5, form(value), color=ink, fontsize=fontsize)


def fit(
    rows: Sequence[str], columns: Sequence[str], count: int = 1, most: float = 0.46
) -> tuple[float, float, float]:
    """The side of a cell, and the width and height of `count` maps with their labels, in inches."""
    left, longest = 0.6 + 0.075 * max(map(len, rows)), max(map(len, columns))
    slanted = (0.06 * len(columns[-1]), 0.25 + 0.05 * longest)
    beside, above = slanted if longest > LONG else (0.1, 0.4)
    cell = min(most, (6.8 - left - count * beside) / (count * len(columns)))
    return cell, left + count * (cell * len(columns) + beside), above + cell * len(rows) + 0.5


def frame(axes: Axes, n_rows: int, n_columns: int) -> None:
    """Fit the axes to cells, with row 0 on top and the columns named above them."""
    axes.set_xlim(0, n_columns)
    axes.set_ylim(n_rows, 0)
    axes.xaxis.tick_top()
    axes.xaxis.set_label_position("top")
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def label_cells(axes: Axes, rows: Sequence[str], columns: Sequence[str]) -> None:
    """Name the rows and the columns of square cells; long names above columns are slanted."""
    frame(axes, len(rows), len(columns))
    axes.set_aspect("equal")
    slant = 40 if max(map(len, columns), default=0) > LONG else 0
    centers = [j + 0.5 for j in range(len(columns))]
    axes.set_xticks(centers, columns, rotation=slant, ha="left" if slant else "center")
    axes.set_yticks([i + 0.5 for i in range(len(rows))], rows)


def signed(value: float, pattern: str) -> str:
    """A number with a typographic minus sign (−), and none before a zero."""
    text = format(value, pattern)
    return text.lstrip("-") if float(text) == 0 else text.replace("-", "−")


def short(value: float, digits: int = 2) -> str:
    """A weight without its leading zero: .25 for 0.25, 1 for 1, and nothing if it rounds to 0."""
    text = f"{value:.{digits}f}"
    return {0.0: "", 1.0: "1"}.get(float(text), text[1:])


def check_range(name: str, x: Tensor, low: int, high: int) -> None:
    """Raise ValueError if the numbers leave the range of the colors."""
    if not low <= x.min() <= x.max() <= high:
        limits = f"{x.min():.4g} and {x.max():.4g}"
        raise ValueError(f"{name} lies between {limits}: it must be between {low} and {high}")


def _stacked(label: str) -> str:
    """A Chinese word written from top to bottom, so that it fits above a narrow column."""
    return "\n".join(label) if all("\u4e00" <= c <= "\u9fff" for c in label) else label


def _paint(axes: Axes, x: Tensor) -> None:
    """Fill very many cells: one shape per color, with equal neighbors in a column merged."""
    pieces: dict[float, list[Path]] = defaultdict(list)
    for i, column in enumerate(x.T.tolist()):
        top = 0
        for value, equal in itertools.groupby(column):
            bottom = top + len(list(equal))
            corners = [(i, top), (i + 1, top), (i + 1, bottom), (i, bottom), (i, top)]
            pieces[value].append(Path(corners, closed=True))
            top = bottom
    for value in sorted(pieces):
        shape = Path.make_compound_path(*pieces[value])
        color = SIGNED((value + 1) / 2)
        axes.add_patch(PathPatch(shape, facecolor=color, edgecolor=color, linewidth=0.2))
