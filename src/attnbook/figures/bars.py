"""Bars of scores and weights: one per key with row 0 on top, or stacked in columns."""

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from torch import Tensor

from attnbook.colors import RULE
from attnbook.figures.canvas import (
    SMALL,
    WIDE,
    canvas,
    fill_color,
    numbers,
    readable_on,
    side_by_side,
    text_color,
    write,
)
from attnbook.figures.heatmaps import WEIGHTS, short, signed

__all__ = [
    "plot_shares",
    "plot_softmax_steps",
]


def plot_softmax_steps(scores: Tensor, labels: Sequence[str]) -> None:
    """Draw the softmax of one row in three panels: scores, exponentials, and weights.

    Shapes:  scores (Lk,), tensor or NumPy array; labels Lk
    Raises:  ValueError if the lengths differ
    """
    s = numbers("scores", scores, len(labels))
    powers = s.exp()
    shares = powers / powers.sum()
    with canvas(WIDE, 0.25 * len(labels) + 0.6) as figure:
        bars = (
            ("score", s, None, "g"),
            ("e to the score", powers, None, ".1f"),
            ("weight", shares, "weights", ".3f"),
        )
        for axes, (name, x, role, form) in zip(side_by_side(figure, 3), bars, strict=True):
            _draw_panel(axes, x, labels, role, form)
            axes.set_title(name, color=text_color(role))
            axes.margins(x=0.32)


def plot_shares(shares: Mapping[str, Tensor], ticks: Sequence[str], xlabel: str) -> None:
    """Draw rows of weights as stacked columns, dark for a large weight; one panel per name.

    Shapes:  each of the shares (N, Lk), whose rows are decreasing and sum to 1; ticks N labels
    Raises:  ValueError if the sizes do not fit
    """
    panels = {name: numbers(name, x, len(ticks), x.size(-1)) for name, x in shares.items()}
    with canvas(WIDE, 3.1) as figure:
        sheet = side_by_side(figure, len(panels))
        for axes, (name, rows) in zip(sheet, panels.items(), strict=True):
            for column, row in enumerate(rows.tolist()):
                bottom = 0.0
                for share in row:
                    style = {"color": WEIGHTS(share), "edgecolor": RULE, "linewidth": 0.6}
                    axes.bar(column, share, width=0.86, bottom=bottom, **style)
                    bottom += share
                ink = readable_on(WEIGHTS(row[0]))
                write(axes, column, row[0] / 2, short(row[0], 2), color=ink, fontsize=SMALL)
            axes.set_title(name)
            axes.set_xticks(range(len(ticks)), ticks)
            axes.set_ylim(0, 1)
            axes.tick_params(length=0)
            axes.spines[:].set_visible(False)
            axes.set_xlabel(xlabel)
        sheet[0].set_yticks([0, 0.5, 1], ["0", "½", "1"])
        sheet[0].set_ylabel("weights (winner's at the bottom)", color=text_color("weights"))


def draw_bars(
    axes: Axes, lengths: Sequence[float], role: str | None, texts: Sequence[str], left: float = 0
) -> None:
    """Draw one bar per row in the color of a role, each followed by its text."""
    middles = [i + 0.5 for i in range(len(lengths))]
    bars = axes.barh(middles, lengths, left=left, height=0.66, color=fill_color(role))
    if texts:
        axes.bar_label(bars, texts, padding=3, fontsize=SMALL, color=text_color(role))


def _draw_panel(axes: Axes, x: Tensor, labels: Sequence[str], role: str | None, form: str) -> None:
    """Draw one labeled bar per number, followed by the number in this format."""
    draw_bars(axes, x.tolist(), role, [signed(value, form) for value in x.tolist()])
    axes.set_xticks([])
    _label_rows(axes, labels)


def _label_rows(axes: Axes, labels: Sequence[str]) -> None:
    axes.set_yticks([i + 0.5 for i in range(len(labels))], labels)
    axes.set_ylim(len(labels), 0)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
