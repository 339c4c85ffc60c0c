"""Vectors of two numbers in the plane: as arrows with an angle between them, and as points."""

from collections.abc import Mapping, Sequence

from torch import Tensor

from attnbook.colors import CURVES, INK, RULE, SOFT
from attnbook.figures.canvas import arrow, canvas, fill_color, numbers, write

__all__ = ["plot_arrows", "plot_points"]

MARKERS = "os^DvP"


def plot_arrows(query: Tensor, keys: Tensor, names: Sequence[str]) -> None:
    """Draw a query and keys as arrows, and the projection of each key onto the query.

    Shapes:  query (2,), keys (Lk, 2), tensors or NumPy arrays; names Lk
    Raises:  ValueError if a shape does not fit
    """
    q, k = numbers("query", query, 2), numbers("keys", keys, len(names), 2)
    along = q / q.norm()
    with canvas(5.2, 3.4) as figure:
        axes = figure.subplots()
        axes.set_aspect("equal")
        reach = float(max(q.norm(), k.norm(dim=-1).max()))
        ends = [(-reach * along).tolist(), (reach * along).tolist()]
        axes.plot(*zip(*ends, strict=True), color=RULE, linewidth=1, zorder=0)
        for name, key in zip(names, k, strict=True):
            (x, y), (foot_x, foot_y) = key.tolist(), (key @ along * along).tolist()
            axes.plot([foot_x, x], [foot_y, y], color=SOFT, linewidth=1, linestyle=(0, (2, 2)))
            axes.plot(foot_x, foot_y, marker="o", color=SOFT, markersize=4)
            arrow(axes, (0, 0), (x, y), color=fill_color("key"), lw=2)
            write(axes, x, y, name, "key", lift=(0, 12))
        x, y = q.tolist()
        arrow(axes, (0, 0), (x, y), color=fill_color("query"), lw=2.4)
        write(axes, x, y, "query", "query", lift=(22, -3))
        across, up = zip(*k.tolist(), q.tolist(), (0.0, 0.0), strict=True)
        axes.set_xlim(min(across) - 0.7, max(across) + 0.9)
        axes.set_ylim(min(up) - 0.7, max(up) + 0.9)
        axes.set_xlabel("first number")
        axes.set_ylabel("second number")


def plot_points(
    panels: Mapping[str, Tensor], groups: Mapping[str, Sequence[int]], marked: Mapping[int, str]
) -> None:
    """Draw the same points in several panels side by side; each group has its marker and color.

    groups: up to six names, each with the rows of its points; marked: words to write, by row
    Shapes:  each panel (N, 2)
    Raises:  ValueError if a panel is not (N, 2) or there are too many groups
    """
    if not 1 <= len(groups) <= len(MARKERS):
        raise ValueError(f"{len(groups)} groups: 1 to {len(MARKERS)} can be told apart")
    with canvas(6.6, 3.6) as figure:
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
            axes.set_title(title)
            axes.margins(0.12)
        handles, labels = axes.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=9)
