"""Vectors of two numbers as points in the plane, marked by group."""

from collections.abc import Mapping, Sequence

from torch import Tensor

from attnbook.colors import CURVES, INK, RULE
from attnbook.figures.canvas import SMALL, WIDE, canvas, numbers

__all__ = ["plot_points"]

MARKERS = "os^DvP"


def plot_points(
    panels: Mapping[str, Tensor], groups: Mapping[str, Sequence[int]], marked: Mapping[int, str]
) -> None:
    """Draw rows of two numbers as points, panel by panel; each group has its own marker and color.

    groups: up to six names, each with the rows of its points; marked: words beside points, by row
    Shapes:  each panel (N, 2)
    Raises:  ValueError if a panel is not (N, 2) or there are too many groups
    """
    if not 1 <= len(groups) <= len(MARKERS):
        raise ValueError(f"{len(groups)} groups: 1 to {len(MARKERS)} can be told apart")
    with canvas(WIDE, 3.6) as figure:
        panel_axes = figure.subplots(1, len(panels), squeeze=False)[0]
        for axes, (title, panel) in zip(panel_axes, panels.items(), strict=True):
            points = numbers(f"panel {title!r}", panel, len(panel), 2)
            for (name, rows), marker, color in zip(
                groups.items(), MARKERS, (*CURVES, INK), strict=False
            ):
                x, y = points[list(rows)].T.tolist()
                axes.plot(x, y, marker, color=color, markersize=7, alpha=0.75, label=name)
            for row, word in marked.items():
                axes.annotate(f" {word}", points[row].tolist(), (5, 5), textcoords="offset points")
            axes.axhline(0, color=RULE, linewidth=0.8, zorder=0)
            axes.axvline(0, color=RULE, linewidth=0.8, zorder=0)
            axes.set_title(title.replace("; ", "\n"))
            axes.margins(0.12)
        handles, labels = axes.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=SMALL)
