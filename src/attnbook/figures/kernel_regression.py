"""Kernel regression: curves through measured values, and the maps of their weights."""

from collections.abc import Mapping

from matplotlib.ticker import MaxNLocator
from torch import Tensor

from attnbook.colors import INK, SOFT
from attnbook.figures.canvas import SMALL, WIDE, canvas, fill_color, numbers, text_color
from attnbook.figures.heatmaps import MAX_MAPS, WEIGHTS, check_range, paint

__all__ = ["plot_kernel_regression"]


def plot_kernel_regression(
    keys: Tensor,
    values: Tensor,
    queries: Tensor,
    truth: Tensor,
    maps: Mapping[str, Tensor],
    unit: str,
) -> None:
    """Draw the curves `weights @ values`, and below each the map of its weights over the same axis.

    keys: where something was measured; queries: where the curve is computed; truth: the values
    at the queries without noise; unit: the unit of keys and queries, such as "hour"
    Shapes:  keys (Lk,) and queries (Lq,), increasing; values (Lk,); truth (Lq,); each map (Lq, Lk),
             between 0 and 1
    Raises:  ValueError if there are no maps or too many, or sizes or values do not fit
    """
    if not 1 <= len(maps) <= MAX_MAPS:
        raise ValueError(f"{len(maps)} maps: 1 to {MAX_MAPS} are drawn side by side")
    k, q = numbers("keys", keys, len(keys)), numbers("queries", queries, len(queries))
    v, clean = numbers("values", values, len(k)), numbers("truth", truth, len(q))
    grids = {title: numbers(title, x, len(q), len(k)) for title, x in maps.items()}
    for title, x in grids.items():
        check_range(title, x, 0)
    limits = min(k[0], q[0]).item(), max(k[-1], q[-1]).item()
    across, down = _edges(k, *limits), _edges(q, *limits)
    with canvas(WIDE, 4.8) as figure:
        panels = figure.subplots(
            2, len(maps), squeeze=False, sharex=True, sharey="row", height_ratios=[2, 3]
        )
        for curve, map_, (title, x) in zip(*panels, grids.items(), strict=True):
            dashed = {"linewidth": 1, "linestyle": (0, (3, 2)), "label": "without noise"}
            curve.plot(q, clean, color=SOFT, **dashed)
            dots = {"markersize": 2.5, "label": "values"}
            curve.plot(k, v, "o", color=fill_color("value"), **dots)
            curve.plot(q, x @ v, color=INK, linewidth=1.5, label="weights @ values")
            curve.set_title(title)
            largest = x.max().item() or 1.0
            paint(map_, (x / largest).round(decimals=1), WEIGHTS, across, down)
            map_.set(xlim=limits, ylim=limits[::-1])
            for axis in (map_.xaxis, map_.yaxis):
                axis.set_major_locator(MaxNLocator(5, steps=[1, 2, 3, 6, 10]))
            small = {"fontsize": SMALL, "fontweight": "normal", "color": text_color("weights")}
            map_.set_title(f"weights, largest: {largest:.2f}", **small)
        figure.legend(*panels[0][0].get_legend_handles_labels(), loc="outside upper left", ncols=3)
        panels[1][0].set_ylabel(f"query: {unit} asked", color=text_color("query"))
        figure.supxlabel(f"key: {unit} measured", fontsize=10, color=text_color("key"))


def _edges(centers: Tensor, low: float, high: float) -> list[float]:
    """Where one cell ends and the next begins: halfway between their centers."""
    return [low, *((centers[1:] + centers[:-1]) / 2).tolist(), high]
