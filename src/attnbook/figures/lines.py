"""Curves and bars. Every series carries its name beside it, so colour is never alone."""

from collections.abc import Mapping, Sequence

import torch
from matplotlib.ticker import NullFormatter, ScalarFormatter
from torch import Tensor

from attnbook.figures.canvas import INK, SOFT, canvas, fill_colour, text_colour

_LINES = ((INK, "-", "o"), ("#0072B2", "--", "s"), ("#B34F00", "-.", "^"), ("#007A59", ":", "D"))


def plot_lines(
    x: Sequence[float],
    series: Mapping[str, Sequence[float] | Tensor],
    xlabel: str,
    ylabel: str,
    title: str | None = None,
    log: str = "",
) -> None:
    """Draw up to four named curves over x; `log` is "", "x", "y" or "xy".

    Shapes:  x (N,), each series (N,)
    Raises:  ValueError if there are more than four series or a length differs from x
    """
    if not 1 <= len(series) <= len(_LINES):
        raise ValueError(f"{len(series)} series: plot_lines draws 1 to {len(_LINES)}")
    for name, y in series.items():
        if len(y) != len(x):
            raise ValueError(f"series {name!r} has {len(y)} values but x has {len(x)}")
    with canvas(5.4, 3.1) as figure:
        axes = figure.subplots()
        for (name, y), (colour, line, marker) in zip(series.items(), _LINES, strict=False):
            heights = torch.as_tensor(y, dtype=torch.float64).detach().cpu().tolist()
            axes.plot(
                x,
                heights,
                line,
                color=colour,
                marker=marker,
                markersize=4,
                linewidth=1.5,
                label=name,
            )
        for letter in log:
            axes.set(**{f"{letter}scale": "log"})
        if "x" in log:
            axes.set_xticks(x, [f"{v:g}" for v in x])
            axes.xaxis.set_minor_formatter(NullFormatter())
            axes.minorticks_off()
        elif len(x) <= 12 and all(float(v).is_integer() for v in x):
            axes.set_xticks(x)
            axes.xaxis.set_major_formatter(ScalarFormatter())
        axes.set_xlabel(xlabel)
        axes.set_ylabel(ylabel)
        axes.grid(axis="y", color="#DDDDDD", linewidth=0.6)
        if len(series) > 1:
            axes.legend(loc="best", fontsize=9, handlelength=3)
        if title:
            axes.set_title(title, loc="left")


def plot_softmax_row(scores: Tensor, weights: Tensor, labels: Sequence[str]) -> None:
    """Draw one row before and after the softmax: scores as bars, then the weights they become.

    Shapes:  scores (Lk,), weights (Lk,), labels Lk
    Raises:  ValueError if the lengths differ
    """
    if not len(scores) == len(weights) == len(labels):
        raise ValueError(
            f"{len(scores)} scores, {len(weights)} weights, {len(labels)} labels: "
            "there must be one of each per key"
        )
    panels = (("scores", scores, None), ("weights = softmax(scores)", weights, "weights"))
    with canvas(6.2, 0.34 * len(labels) + 0.75) as figure:
        for axes, (name, x, role) in zip(figure.subplots(1, 2, sharey=True), panels, strict=True):
            lengths = torch.round(x.detach().cpu().double(), decimals=4).tolist()
            bars = axes.barh(range(len(labels)), lengths, color=fill_colour(role), height=0.62)
            axes.bar_label(
                bars,
                [f"{v:.2f}".replace("-", "−") for v in lengths],
                padding=3,
                fontsize=8.5,
                color=text_colour(role),
            )
            axes.set_title(name, color=text_colour(role))
            axes.axvline(0, color=SOFT, linewidth=0.8)
            axes.set_yticks(range(len(labels)), labels)
            axes.tick_params(length=0)
            axes.set_xticks([])
            axes.spines[:].set_visible(False)
            axes.margins(x=0.22)
        axes.set_ylim(len(labels) - 0.5, -0.5)
