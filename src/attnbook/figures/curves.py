"""Named curves, distinguished by color, dashes and markers."""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from torch import Tensor

from attnbook.colors import CURVES, GRID, RULE
from attnbook.figures.canvas import SMALL, WIDE, canvas, numbers, write

__all__ = [
    "plot_by_distance",
    "plot_lines",
    "plot_reach",
    "plot_times",
]

Curves = Mapping[str, Sequence[float] | Tensor]

SIZE = (WIDE, 3.2)
MARKERS = "os^Dv"
DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1, 1.2)), (0, (8, 1.5, 1, 1.5)), (0, (10, 2)))
FLOOR = 1e-9  # of plot_reach; smaller values are not drawn


def plot_lines(x: Sequence[float], series: Curves, xlabel: str, ylabel: str, log: str = "") -> None:
    """Draw up to five named curves over x with markers; `log` is "", "x", "y" or "xy".

    Shapes:  x (N,), each series (N,)
    Raises:  ValueError if there are too many curves or a length differs from that of x
    """
    with _curves(x, series, xlabel, ylabel, markers=MARKERS) as axes:
        _scale(axes, x, log)


def plot_times(x: Sequence[float], seconds: Curves, xlabel: str, ylabel: str) -> None:
    """Draw up to five named curves of measured times on two logarithmic axes, as PNG.

    Shapes:  x (N,), each series (N,)
    Raises:  ValueError if there are too many curves or a length differs from that of x
    """
    with _curves(x, seconds, xlabel, ylabel, markers=MARKERS, measured=True) as axes:
        _scale(axes, x, "xy")


def plot_by_distance(distances: Sequence[int], series: Curves, ylabel: str) -> None:
    """Draw up to five named curves over the distance from a query to a key, with 0 marked.

    Shapes:  distances (N,), key's position minus query's, increasing; each series (N,)
    Raises:  ValueError if there are too many curves or a length does not fit
    """
    xlabel = "distance: the key's position minus the query's"
    with _curves(distances, series, xlabel, ylabel) as axes:
        axes.axvline(0, color=RULE, linewidth=1, zorder=1.9)  # behind the curves


def plot_reach(curves: Curves, xlabel: str, ylabel: str) -> None:
    """Draw up to five decaying curves on a logarithmic scale, down to a billionth.

    Shapes:  each curve (N,): the value at distance 0, 1, ..., N - 1
    Raises:  ValueError if there are too many curves, their lengths differ, or one starts too low
    """
    visible = {name: _above(name, curve) for name, curve in curves.items()}
    steps = range(max(map(len, curves.values())))
    with _curves(steps, visible, xlabel, ylabel, named_above=False) as axes:
        _name_ends(axes)
        _logarithmic(axes, "y")
        axes.set_ylim(FLOOR / 3, 2)
        axes.minorticks_off()


@contextmanager
def _curves(
    x: Sequence[float], series: Curves, xlabel: str, ylabel: str, *,
    markers: str = "", named_above: bool = True, measured: bool = False,
) -> Iterator[Axes]:  # fmt: skip
    """A canvas with named curves over x and labels on both axes."""
    if not 1 <= len(series) <= len(CURVES):
        raise ValueError(f"{len(series)} curves: 1 to {len(CURVES)} can be told apart")
    with canvas(*SIZE, measured=measured) as figure:
        axes = figure.subplots()
        styles = zip(CURVES, DASHES, markers or [""] * len(CURVES), strict=True)
        for (name, y), (color, dashes, marker) in zip(series.items(), styles, strict=False):
            heights = numbers(f"curve {name!r}", y, len(x), digits=15).tolist()
            style = {"color": color, "linestyle": dashes, "marker": marker}
            axes.plot(x, heights, **style, label=name, linewidth=1.8, markersize=4)
        axes.xaxis.set_major_locator(MaxNLocator(11, steps=[1, 2, 5, 10], integer=True))
        axes.set(xlabel=xlabel, ylabel=ylabel)
        axes.grid(axis="y", color=GRID, linewidth=0.6)
        if named_above:
            _legend(figure, axes)
        yield axes


def _legend(figure: Figure, axes: Axes) -> None:
    """Put the legend above the curves, with as many names side by side as fit."""
    handles, names = axes.get_legend_handles_labels()
    for columns in (2, 1) if len(names) == 4 else (3, 2, 1):
        legend = figure.legend(
            handles, names, loc="outside upper left", ncols=columns, fontsize=SMALL,
            handlelength=2.5, columnspacing=1.2, borderaxespad=0.2,
        )  # fmt: skip
        figure.draw_without_rendering()
        if legend.get_window_extent().width <= figure.bbox.width or columns == 1:
            break
        legend.remove()


def _scale(axes: Axes, x: Sequence[float], log: str) -> None:
    for letter in log:
        _logarithmic(axes, letter)
    if "x" in log:
        axes.set_xticks(x, [f"{v:g}" for v in x])
        axes.minorticks_off()


def _logarithmic(axes: Axes, letter: str) -> None:
    """Make an axis logarithmic, with ticks like 0.01 or 1e-6: superscripts would be too small."""
    axes.set(**{f"{letter}scale": "log"})
    axis = axes.xaxis if letter == "x" else axes.yaxis
    axis.set_major_formatter(lambda value, _: f"{value:g}".replace("e-0", "e-"))


def _above(name: str, curve: Sequence[float] | Tensor) -> Tensor:
    """The curve up to where it first falls below FLOOR, and NaN after that."""
    y = numbers(f"curve {name!r}", curve, digits=15)
    y[(y < FLOOR).cumsum(0) > 0] = math.nan
    if y[0].isnan():
        raise ValueError(f"curve {name!r} starts below {FLOOR:g}")
    return y


def _name_ends(axes: Axes) -> None:
    """Write each curve's name at its end, the highest first, so that the names do not overlap."""
    ends = []
    for line in axes.lines:
        heights = [float(y) for y in np.asarray(line.get_ydata()) if y >= FLOOR]
        ends.append((len(heights) - 1, heights[-1], line))
    ceiling: dict[int, float] = {}
    for x, y, line in sorted(ends, key=lambda end: -end[1]):
        height = min(y, ceiling.get(x, 2.0))
        ceiling[x] = height / 5.5
        name, color = f"  {line.get_label()}", line.get_color()
        write(axes, x, height, name, ha="left", fontsize=SMALL, color=color)
