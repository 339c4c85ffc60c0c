"""The pictures of chapter 7: an encoding as heat map, clock hands and turn; curves over places."""

import itertools
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from matplotlib.axes import Axes
from matplotlib.patches import Circle, PathPatch
from matplotlib.path import Path
from matplotlib.ticker import MaxNLocator
from torch import Tensor

from attnbook.checks import check_float_tensor
from attnbook.figures.canvas import INK, RULE, SIGNED, SOFT, bare, canvas

HAND, TURN = INK, "#8C510A"
CURVES: tuple[tuple[str, Any], ...] = (
    (INK, "-"),
    ("#8C510A", (0, (5, 1.5))),
    ("#01665E", (0, (1, 1.2))),
)
RADIUS = 0.4  # of a dial, in units of the distance between two


def plot_positions(encoding: Tensor) -> None:
    """Draw a positional encoding: one row per position, brown −1, white 0, green +1.

    Shapes:  encoding (L, d_model), between −1 and 1
    Raises:  TypeError, ValueError if it is no matrix, is empty, or leaves −1 … 1
    """
    x = _rounded("encoding", encoding, 1)
    n_rows, n_columns = x.shape
    if x.abs().max() > 1:
        raise ValueError(
            f"encoding lies between {x.min():.4g} and {x.max():.4g}: it must be between -1 and 1"
        )
    wide, high = min(0.5, 4.6 / n_columns), min(0.5, 4.6 / n_rows)  # inches of a cell
    with canvas(max(4.4, 1.6 + wide * n_columns), 0.8 + high * n_rows) as figure:
        axes = figure.subplots()
        for value, name in ((-1.0, "−1"), (0.0, "0"), (1.0, "+1")):
            axes.plot([], [], "s", color=SIGNED((value + 1) / 2), markeredgecolor=SOFT, label=name)
        _paint(axes, x)
        axes.set_xlim(0, n_columns)
        axes.set_ylim(n_rows, 0)
        axes.xaxis.set_ticks_position("top")
        axes.xaxis.set_label_position("top")
        axes.set_xticks([i + 0.5 for i in _some(n_columns)], map(str, _some(n_columns)))
        axes.set_yticks([t + 0.5 for t in _some(n_rows)], map(str, _some(n_rows)))
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        axes.set_xlabel("column i: fast hands on the left, slow ones on the right")
        axes.set_ylabel("position t")
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), handletextpad=0.1)


def plot_clocks(encoding: Tensor, labels: Sequence[str]) -> None:
    """Draw each pair of columns as a clock, its hand at (sin, cos): 12 o'clock is position 0.

    Shapes:  encoding (L, d_model), one column of dials per position; labels L
    Raises:  TypeError, ValueError if d_model is odd or the sizes do not fit
    """
    x = _rounded("encoding", encoding, 3)
    n_positions, width = x.shape
    if width % 2:
        raise ValueError(f"encoding has {width} columns: each clock hand takes two of them")
    if len(labels) != n_positions:
        raise ValueError(f"encoding has {n_positions} rows but there are {len(labels)} labels")
    with canvas(0.95 * n_positions + 0.9, 0.95 * width / 2 + 0.5) as figure:
        axes = figure.subplots()
        bare(axes)
        for t, label in enumerate(labels):
            axes.text(t, -0.62, label, ha="center", va="bottom")
            for k, (sin, cos) in enumerate(x[t].view(-1, 2).tolist()):
                _dial(axes, t, k)
                _hand(axes, t, k, sin, cos, color=HAND, linewidth=1.8)
        for k in range(width // 2):
            axes.text(-0.6, k, f"pair {k}", ha="right", va="center", color=SOFT)
        axes.set_xlim(-1.3, n_positions - 0.5)
        axes.set_ylim(width / 2 - 0.5, -0.9)


def plot_turns(before: Tensor, after: Tensor, labels: Sequence[str]) -> None:
    """Draw hands before (dashed) and after a move, with the turn from one to the other.

    Shapes:  before and after (N, 2), each row (sin, cos) of one hand; labels N
    Raises:  TypeError, ValueError if the sizes do not fit
    """
    old, new = _rounded("before", before, 3), _rounded("after", after, 3)
    if old.shape != new.shape or old.size(1) != 2 or len(labels) != len(old):
        raise ValueError(
            f"before has shape {tuple(old.shape)}, after {tuple(new.shape)}, and there are "
            f"{len(labels)} labels: (N, 2), (N, 2) and N are expected"
        )
    with canvas(1.5 * len(labels) + 0.2, 1.9) as figure:
        axes = figure.subplots()
        bare(axes)
        for n, (a, b) in enumerate(zip(old.tolist(), new.tolist(), strict=True)):
            _dial(axes, n, 0)
            _hand(axes, n, 0, *a, color=SOFT, linewidth=1.5, linestyle=(0, (3, 2)))
            _hand(axes, n, 0, *b, color=HAND, linewidth=2.0)
            _arc(axes, n, math.atan2(*a), math.atan2(*b))
            axes.text(n, 0.62, labels[n], ha="center", va="center")
        axes.set_xlim(-0.5, len(labels) - 0.5)
        axes.set_ylim(0.75, -0.5)


def plot_by_distance(distances: Sequence[int], series: Mapping[str, Tensor], ylabel: str) -> None:
    """Draw up to three named curves over the distance from a query to a key, 0 marked.

    Shapes:  distances (N,), key's position minus query's, rising; each series (N,)
    Raises:  TypeError, ValueError if there are too many curves or a length does not fit
    """
    with canvas(6.2, 3.1) as figure:
        axes = figure.subplots()
        axes.axvline(0, color=RULE, linewidth=1)
        _curves(axes, distances, series)
        axes.set_xlabel("distance: the key's position minus the query's")
        axes.set_ylabel(ylabel)


def plot_by_position(
    positions: Sequence[int], series: Mapping[str, Tensor], ylabel: str, seen: int
) -> None:
    """Draw up to three named curves from 0 to 1 over the position, the first `seen` ones shaded.

    Shapes:  positions (N,), rising; each series (N,)
    Raises:  TypeError, ValueError if there are too many curves or a length does not fit
    """
    with canvas(6.2, 3.1) as figure:
        axes = figure.subplots()
        axes.axvspan(positions[0], seen - 0.5, facecolor="#EFEFEF")
        middle = (positions[0] + seen) / 2
        axes.text(middle, 0.5, "seen in training", rotation=90, ha="center", va="center")
        _curves(axes, positions, series)
        axes.set_xlabel("position t")
        axes.set_ylabel(ylabel)
        axes.set_ylim(-0.03, 1.05)


def _curves(axes: Axes, x: Sequence[int], series: Mapping[str, Tensor]) -> None:
    """Curves told apart by colour and dashes, named above the picture."""
    if not 1 <= len(series) <= len(CURVES):
        raise ValueError(f"{len(series)} curves: 1 to {len(CURVES)} can be told apart")
    for (name, y), (colour, line) in zip(series.items(), CURVES, strict=False):
        check_float_tensor(name, y)
        if y.shape != (len(x),):
            raise ValueError(f"curve {name!r} has shape {tuple(y.shape)}: ({len(x)},) fits x")
        heights = y.detach().cpu().tolist()
        axes.plot(x, heights, linestyle=line, color=colour, linewidth=1.8, label=name)
    axes.xaxis.set_major_locator(MaxNLocator(11, steps=[1, 2, 5, 10], integer=True))
    axes.grid(axis="y", color="#DDDDDD", linewidth=0.6)
    axes.legend(
        loc="lower left", bbox_to_anchor=(0, 1), ncols=3, fontsize=9, handlelength=3,
        borderaxespad=0.2,
    )  # fmt: skip


def _rounded(name: str, x: Tensor, decimals: int) -> Tensor:
    """A matrix on the CPU, with as many digits as the eye sees: the same on every machine."""
    check_float_tensor(name, x)
    if x.dim() != 2 or not x.numel():
        raise ValueError(f"{name} has shape {tuple(x.shape)}: it must be a matrix, and not empty")
    return torch.round(x.detach().cpu().double(), decimals=decimals) + 0.0


def _paint(axes: Axes, x: Tensor) -> None:
    """Fill the cells: one shape for each colour, equal neighbours in a column as one piece."""
    pieces: dict[float, list[Path]] = defaultdict(list)
    for i, column in enumerate(x.T.tolist()):
        top = 0
        for value, run in itertools.groupby(column):
            bottom = top + len(list(run))
            corners = [(i, top), (i + 1, top), (i + 1, bottom), (i, bottom), (i, top)]
            pieces[value].append(Path(corners, closed=True))
            top = bottom
    for value in sorted(pieces):
        shape = Path.make_compound_path(*pieces[value])
        colour = SIGNED((value + 1) / 2)
        axes.add_patch(PathPatch(shape, facecolor=colour, edgecolor=colour, linewidth=0.2))


def _some(count: int) -> list[int]:
    """Up to nine of the numbers 0 … count − 1, evenly spaced."""
    step = next(s for s in (1, 2, 4, 8, 16, 32, 64, count) if count <= 9 * s)
    return list(range(0, count, step))


def _dial(axes: Axes, x: float, y: float) -> None:
    axes.add_patch(Circle((x, y), RADIUS, facecolor="white", edgecolor=SOFT, linewidth=0.8))
    axes.plot([x, x], [y - RADIUS, y - 0.85 * RADIUS], color=SOFT, linewidth=0.8)  # 12 o'clock


def _hand(axes: Axes, x: float, y: float, sin: float, cos: float, **style: Any) -> None:
    reach = 0.8 * RADIUS
    axes.plot([x, x + reach * sin], [y, y - reach * cos], solid_capstyle="round", **style)


def _arc(axes: Axes, x: float, start: float, end: float) -> None:
    """An arrow along the shorter way from one angle to the other; angles run clockwise from 12."""
    turn = (end - start + math.pi) % (2 * math.pi) - math.pi
    steps = [start + turn * i / 24 for i in range(25)]
    xs = [x + 0.45 * RADIUS * math.sin(a) for a in steps]
    ys = [-0.45 * RADIUS * math.cos(a) for a in steps]
    axes.plot(xs, ys, color=TURN, linewidth=1.6)
    axes.annotate(
        "",
        (xs[-1], ys[-1]),
        (xs[-3], ys[-3]),
        arrowprops={"arrowstyle": "-|>", "color": TURN, "lw": 1.2, "shrinkA": 0, "shrinkB": 0},
    )
