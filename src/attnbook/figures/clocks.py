"""Clock hands: each pair of columns of a positional encoding, a sine and a cosine, as a clock."""

import math
from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import Circle
from torch import Tensor

from attnbook.colors import CURVES, INK, PAPER, SOFT
from attnbook.figures.canvas import WIDE, Point, arrow, drawing, fill_color, numbers, write
from attnbook.figures.heatmaps import signed

__all__ = ["plot_clocks", "plot_rotary", "plot_turns"]

RADIUS = 0.4  # of a dial; neighboring dials are 1 apart
TURN = CURVES[1]


def plot_clocks(encoding: Tensor, labels: Sequence[str]) -> None:
    """Draw each pair of columns as a clock, its hand at (sin, cos): 12 o'clock is position 0.

    Shapes:  encoding (L, d_model), one column of dials per position; labels L
    Raises:  ValueError if the sizes do not fit
    """
    x = numbers("encoding", encoding, len(labels), encoding.shape[-1])
    n_positions, n_pairs = len(labels), x.size(1) // 2
    side = min(0.95, (WIDE - 0.1) / (n_positions + 0.8))
    width, height = side * (n_positions + 0.8) + 0.1, side * (n_pairs + 0.4) + 0.1
    with drawing(width, height, (-1.3, n_positions - 0.5), (n_pairs - 0.5, -0.9)) as axes:
        for t, label in enumerate(labels):
            write(axes, t, -0.62, label, va="bottom")
            for k, (sin, cos) in enumerate(x[t].view(-1, 2).tolist()):
                _dial(axes, t, k)
                _hand(axes, t, k, sin, cos, color=INK)
        for k in range(n_pairs):
            write(axes, -0.6, k, f"hand {k}", ha="right", color=SOFT)


def plot_turns(before: Tensor, after: Tensor, labels: Sequence[str]) -> None:
    """Draw hands before (dashed) and after a move, with the turn from one to the other.

    Shapes:  before and after (N, 2), each row (sin, cos) of one hand; labels N
    Raises:  ValueError if the sizes do not fit
    """
    old = numbers("before", before, len(labels), 2).tolist()
    new = numbers("after", after, len(labels), 2).tolist()
    across, down = (-0.5, len(labels) - 0.5), (0.75, -0.5)
    with drawing(min(WIDE, 1.5 * len(labels) + 0.2), 1.9, across, down) as axes:
        for n, (a, b, label) in enumerate(zip(old, new, labels, strict=True)):
            _dial(axes, n, 0)
            _hand(axes, n, 0, *a, color=SOFT, linestyle=(0, (3, 2)))
            _hand(axes, n, 0, *b, color=INK)
            _arc(axes, n, math.atan2(*a), math.atan2(*b))
            write(axes, n, 0.62, label)


def plot_rotary(query: Tensor, key: Tensor, positions: Sequence[tuple[int, int]]) -> None:
    """Draw a query and a key rotated by one radian per position, and write their score.

    Shapes:  query (2,) and key (2,) of norm at most 1; positions: (query's, key's) for each dial
    Raises:  ValueError if a shape does not fit
    """
    rows = {"query": numbers("query", query, 2), "key": numbers("key", key, 2)}
    with drawing(
        min(WIDE, 2.1 * len(positions)), 2.5, (-0.5, len(positions) - 0.5), (-0.55, 0.8)
    ) as axes:
        for n, at in enumerate(positions):
            axes.add_patch(Circle((n, 0), RADIUS, facecolor=PAPER, edgecolor=SOFT, linewidth=0.8))
            ends = []
            for (role, (a, b)), t, line in zip(rows.items(), at, (0.5, 0.66), strict=True):
                a, b = float(a), float(b)
                _arrow_from(axes, n, (a, b), color=fill_color(role), ls=(0, (2, 2)), lw=1)
                sin, cos = math.sin(t), math.cos(t)
                ends.append((a * cos - b * sin, a * sin + b * cos))
                _arrow_from(axes, n, ends[-1], color=fill_color(role), lw=2)
                write(axes, n, line, f"{role} at {t}", role, va="baseline")
            score = ends[0][0] * ends[1][0] + ends[0][1] * ends[1][1]
            write(axes, n, -0.5, f"score {signed(score, '.2f')}", va="baseline")


def _arrow_from(axes: Axes, x: float, end: Point, **style: Any) -> None:
    """An arrow from the middle of a dial, in units of its radius."""
    arrow(axes, (x, 0), (x + RADIUS * end[0], RADIUS * end[1]), **style)


def _dial(axes: Axes, x: float, y: float) -> None:
    axes.add_patch(Circle((x, y), RADIUS, facecolor=PAPER, edgecolor=SOFT, linewidth=0.8))
    axes.plot([x, x], [y - RADIUS, y - 0.85 * RADIUS], color=SOFT, linewidth=0.8)  # 12 o'clock


def _hand(axes: Axes, x: float, y: float, sin: float, cos: float, **style: Any) -> None:
    tip = (x + 0.8 * RADIUS * sin, y - 0.8 * RADIUS * cos)
    axes.plot([x, tip[0]], [y, tip[1]], solid_capstyle="round", linewidth=1.8, **style)


def _arc(axes: Axes, x: float, start: float, end: float) -> None:
    """An arrow along the shorter arc between two angles; angles run clockwise from 12 o'clock."""
    turn = (end - start + math.pi) % (2 * math.pi) - math.pi
    steps = [start + turn * i / 24 for i in range(25)]
    xs = [x + 0.45 * RADIUS * math.sin(a) for a in steps]
    ys = [-0.45 * RADIUS * math.cos(a) for a in steps]
    axes.plot(xs, ys, color=TURN, linewidth=1.6)
    arrow(axes, (xs[-3], ys[-3]), (xs[-1], ys[-1]), color=TURN, lw=1.2)
