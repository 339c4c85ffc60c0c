"""Heat maps: weights (0 to 1) and signed matrices. Row 0 stands on top."""

from collections.abc import Sequence

import torch
from matplotlib.axes import Axes
from matplotlib.colors import Colormap
from torch import Tensor

from attnbook.checks import check_tensor
from attnbook.figures.canvas import SIGNED, WEIGHTS, canvas, readable_on, text_colour


def plot_weights(
    weights: Tensor,
    queries: Sequence[str],
    keys: Sequence[str] | None = None,
    title: str | None = None,
) -> None:
    """Draw who looks where: one row per query, one column per key, 0 white and 1 dark.

    Shapes:  weights (Lq, Lk), between 0 and 1; queries Lq labels, keys Lk labels (default queries)
    Raises:  TypeError, ValueError if the sizes or the values do not fit
    """
    keys = queries if keys is None else keys
    x = _matrix("weights", weights, queries, keys)
    if x.numel() and not 0 <= x.min() <= x.max() <= 1 + 1e-6:
        raise ValueError(
            f"weights lie between {x.min():.4g} and {x.max():.4g}: they must be between 0 and 1"
        )
    with canvas(*_size(x)) as figure:
        axes = figure.subplots()
        draw_cells(axes, x, queries, keys, WEIGHTS, 0.0, 1.0, "{:.2f}")
        axes.set_ylabel("query: who looks", color=text_colour("query"))
        axes.set_xlabel("key: what is looked at", color=text_colour("key"))
        if title:
            axes.set_title(title)


def plot_matrix(
    matrix: Tensor,
    rows: Sequence[str],
    columns: Sequence[str],
    title: str | None = None,
    digits: int | None = 1,
) -> None:
    """Draw signed numbers, brown below zero and green above; `digits=None` draws no numbers.

    Shapes:  matrix (N, M); rows N labels, columns M labels
    Raises:  TypeError, ValueError if the sizes do not fit
    """
    x = _matrix("matrix", matrix, rows, columns)
    limit = float(x.abs().max()) if x.numel() else 1.0
    pattern = "" if digits is None else f"{{:.{digits}f}}"
    with canvas(*_size(x)) as figure:
        axes = figure.subplots()
        draw_cells(axes, x, rows, columns, SIGNED, -limit, limit, pattern)
        if title:
            axes.set_title(title)


def draw_cells(
    axes: Axes,
    x: Tensor,
    rows: Sequence[str],
    columns: Sequence[str],
    colours: Colormap,
    low: float,
    high: float,
    pattern: str,
) -> None:
    """Draw one coloured square per number, with the number in it where `pattern` is given."""
    n_rows, n_columns = x.shape
    axes.pcolormesh(x.numpy(), cmap=colours, vmin=low, vmax=high, edgecolors="white", linewidth=0.8)
    axes.set_xlim(0, n_columns)
    axes.set_ylim(n_rows, 0)
    axes.set_aspect("equal")
    axes.xaxis.set_ticks_position("top")
    axes.xaxis.set_label_position("top")
    long = max(map(len, columns), default=0) > 5
    axes.set_xticks(
        [i + 0.5 for i in range(n_columns)],
        columns,
        rotation=40 if long else 0,
        ha="left" if long else "center",
    )
    axes.set_yticks([i + 0.5 for i in range(n_rows)], rows)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    if not pattern:
        return
    for i, line in enumerate(x.tolist()):
        for j, value in enumerate(line):
            shade = colours((value - low) / ((high - low) or 1.0))
            text = pattern.format(value)
            text = text.lstrip("-") if float(text) == 0 else text.replace("-", "−")
            axes.text(
                j + 0.5,
                i + 0.5,
                text,
                ha="center",
                va="center",
                fontsize=8,
                color=readable_on(shade),
            )


def _matrix(name: str, x: Tensor, rows: Sequence[str], columns: Sequence[str]) -> Tensor:
    check_tensor(name, x)
    if tuple(x.shape) != (len(rows), len(columns)):
        raise ValueError(
            f"{name} has shape {tuple(x.shape)} but there are {len(rows)} row labels "
            f"and {len(columns)} column labels"
        )
    # Three digits are what the eye can see, and keep the drawn colours the same on every machine.
    return torch.round(x.detach().cpu().double(), decimals=3) + 0.0


def _size(x: Tensor) -> tuple[float, float]:
    """Inches for a matrix: square cells, at most 6.4 inches wide."""
    n_rows, n_columns = x.shape
    cell = min(0.5, 5.2 / max(n_columns, 1))
    return 1.2 + cell * n_columns, 0.9 + cell * n_rows
