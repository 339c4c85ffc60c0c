"""The pictures of chapter 1: a look-up in the library, how sharp it is, how far a model reaches."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from torch import Tensor

from attnbook.figures.canvas import INK, SOFT, canvas, fill_colour, text_colour

CURVES: tuple[tuple[str, Any], ...] = (
    (INK, (0, (1, 1.3))),
    ("#8C510A", (0, (4, 1.5))),
    ("#0072B2", (0, (6, 1.5, 1, 1.5))),
    ("#007A59", (0, (9, 2))),
    ("#A3467B", "-"),
)


def plot_lookup(
    query: Tensor,
    key: Tensor,
    scores: Tensor,
    weights: Tensor,
    value: Tensor,
    output: Tensor,
    titles: Sequence[str],
    topics: Sequence[str],
    contents: Sequence[str],
) -> None:
    """Draw one look-up: the query above the keys, scores and weights beside them, the mix below.

    Shapes:  query (Dk,), key (Lk, Dk), scores (Lk,), weights (Lk,), value (Lk, Dv), output (Dv,),
             tensors or NumPy arrays; titles Lk, topics Dk and contents Dv labels
    Raises:  ValueError if a size does not fit the labels
    """
    n_keys, n_topics, n_contents = len(titles), len(topics), len(contents)
    q = _numbers("query", query, n_topics)
    k = _numbers("key", key, n_keys, n_topics)
    s = _numbers("scores", scores, n_keys)
    w = _numbers("weights", weights, n_keys)
    v = _numbers("value", value, n_keys, n_contents)
    mix = _numbers("output", output, n_contents)
    at_scores = n_topics + 0.6
    at_weights = at_scores + 3.4
    at_values = at_weights + 3.7
    with canvas(6.9, 0.25 * (n_keys + 7)) as figure:
        axes = figure.subplots()
        axes.set_axis_off()
        axes.set_xlim(-0.2, at_values + 1.4 * n_contents + 0.4)
        axes.set_ylim(n_keys + 2.3, -5.0)
        _cells(axes, q[None], 0, -1.4, 1, "query", "{:g}")
        _cells(axes, k, 0, 0, 1, "key", "{:g}")
        _cells(axes, v, at_values, 0, 1.4, "value", "{:.0f}")
        _cells(axes, mix[None], at_values, n_keys + 1.1, 1.4, None, "{:.0f}")
        _bars(axes, s, at_scores, 2.0, "{:.3g}", None)
        _bars(axes, w, at_weights, 2.0, "{:.3f}", "weights")
        for j, topic in enumerate(topics):
            axes.text(j + 0.3, -1.6, topic, rotation=45, ha="left", va="bottom", fontsize=8.5)
        for j, content in enumerate(contents):
            x = at_values + 1.4 * j + 0.5
            axes.text(x, -0.2, content, rotation=45, ha="left", va="bottom", fontsize=8.5)
        left = [*((-0.4, i, title) for i, title in enumerate(titles)), (-0.4, -1.4, "your query")]
        for x, y, label in left:
            role = "query" if y < 0 else None
            axes.text(
                x, y + 0.5, label, ha="right", va="center", fontsize=8.5, color=text_colour(role)
            )
        for x, y, name, role in (
            (at_scores, -0.9, "scores", None),
            (at_weights, -0.9, "weights", "weights"),
            (0, n_keys + 0.05, "keys", "key"),
            (at_values, n_keys + 0.05, "values", "value"),
            (at_values - 2.6, n_keys + 1.1, "output", None),
        ):
            axes.text(x, y + 0.5, name, va="center", fontweight="bold", color=text_colour(role))


def plot_temperatures(weights: Tensor, titles: Sequence[str], multipliers: Sequence[float]) -> None:
    """Draw the same row of scores after the softmax, once per multiplier, side by side.

    Shapes:  weights (N, Lk), tensor or NumPy array; titles Lk labels, multipliers N numbers
    Raises:  ValueError if a size does not fit
    """
    panels = _numbers("weights", weights, len(multipliers), len(titles)).tolist()
    with canvas(6.9, 0.22 * len(titles) + 0.7) as figure:
        row_of_axes = figure.subplots(1, len(multipliers), sharey=True, squeeze=False)[0]
        for axes, row, times in zip(row_of_axes, panels, multipliers, strict=True):
            axes.barh(range(len(titles)), row, color=fill_colour("weights"), height=0.7)
            axes.set_title(f"scores × {times:.2g}", fontsize=9)
            axes.set_xlim(0, 1)
            axes.set_xticks([0, 0.5, 1], ["0", "½", "1"], fontsize=8)
            axes.set_yticks(range(len(titles)), titles, fontsize=8.5)
            axes.tick_params(axis="y", length=0)
            axes.set_ylim(len(titles) - 0.4, -0.6)
            axes.grid(axis="x", color="#DDDDDD", linewidth=0.6)
            axes.set_axisbelow(True)
            axes.spines["left"].set_color(SOFT)
            axes.set_xlabel("weight", fontsize=8.5, color=text_colour("weights"))


def plot_reach(
    curves: Mapping[str, Sequence[float] | Tensor], xlabel: str, ylabel: str, floor: float = 1e-9
) -> None:
    """Draw up to five decaying curves on a logarithmic scale; what falls below `floor` is cut off.

    Shapes:  each curve (N,): what is left at distance 0, 1, ..., N - 1
    Raises:  ValueError if there are no curves or more than five, their lengths differ, or one
             starts below the floor
    """
    if not 1 <= len(curves) <= len(CURVES):
        raise ValueError(f"{len(curves)} curves: plot_reach draws 1 to {len(CURVES)}")
    lengths = {name: len(curve) for name, curve in curves.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"curves of different lengths: {lengths}")
    drawn = {name: _above(curve, floor) for name, curve in curves.items()}
    for name, seen in drawn.items():
        if not seen:
            raise ValueError(f"curve {name!r} starts below the floor {floor:g}")
    with canvas(6.2, 3.6) as figure:
        axes = figure.subplots()
        for seen, (colour, line) in zip(drawn.values(), CURVES, strict=False):
            axes.plot(range(len(seen)), seen, linestyle=line, color=colour, linewidth=1.8)
        _name_ends(axes, drawn)
        axes.set_yscale("log")
        axes.set_ylim(floor / 3, 2)
        axes.set_xlabel(xlabel)
        axes.set_ylabel(ylabel)
        axes.minorticks_off()
        axes.grid(axis="y", color="#DDDDDD", linewidth=0.6)


def _name_ends(axes: Axes, drawn: Mapping[str, list[float]]) -> None:
    """Each curve's name at its end, the highest first, so that none stands on another."""
    ends = {name: len(seen) - 1 for name, seen in drawn.items()}
    colours = {name: colour for name, (colour, _) in zip(drawn, CURVES, strict=False)}
    ceiling: dict[int, float] = {}
    for name in sorted(drawn, key=lambda name: -drawn[name][-1]):
        last = ends[name]
        height = min(drawn[name][-1], ceiling.get(last, 2.0))
        ceiling[last] = height / 4
        left = last == min(ends.values()) < max(ends.values())
        axes.annotate(
            name,
            (last, height),
            (-6 if left else 6, 0),
            textcoords="offset points",
            ha="right" if left else "left",
            va="center",
            fontsize=9,
            color=colours[name],
        )


def _above(curve: Sequence[float] | Tensor, floor: float) -> list[float]:
    """The curve up to where it first falls below the floor."""
    y = torch.as_tensor(curve, dtype=torch.float64).detach().cpu().tolist()
    return y[: next((i for i, height in enumerate(y) if not height >= floor), len(y))]


def _numbers(name: str, x: Tensor, *shape: int) -> Tensor:
    y = torch.as_tensor(x, dtype=torch.float64).detach().cpu()
    if tuple(y.shape) != shape:
        raise ValueError(f"{name} has shape {tuple(y.shape)} but the labels ask for {shape}")
    # Three digits are what the eye can see, and keep the drawing the same on every machine.
    return torch.round(y, decimals=3) + 0.0


def _cells(
    axes: Axes, x: Tensor, left: float, top: float, width: float, role: str | None, pattern: str
) -> None:
    """One square per number, the deeper the larger; a zero is left empty."""
    largest = float(x.abs().max()) or 1.0
    for i, row in enumerate(x.tolist()):
        for j, number in enumerate(row):
            corner = (left + j * width, top + i)
            shade = (fill_colour(role), round(0.65 * abs(number) / largest, 2))
            axes.add_patch(
                Rectangle(corner, width, 1, facecolor=shade, edgecolor="#DDDDDD", linewidth=0.6)
            )
            text = pattern.format(number).replace("-", "−")
            if text not in ("0", "−0"):
                axes.text(
                    corner[0] + width / 2, corner[1] + 0.5, text,
                    ha="center", va="center", fontsize=8,
                )  # fmt: skip


def _bars(axes: Axes, x: Tensor, left: float, width: float, pattern: str, role: str | None) -> None:
    """One bar per row, its number behind it."""
    largest = float(x.abs().max()) or 1.0
    for i, number in enumerate(x.tolist()):
        length = width * max(number, 0.0) / largest
        axes.add_patch(Rectangle((left, i + 0.18), length, 0.64, facecolor=fill_colour(role)))
        axes.text(
            left + length + 0.15, i + 0.5, pattern.format(number).replace("-", "−"),
            va="center", fontsize=8, color=text_colour(role),
        )  # fmt: skip
