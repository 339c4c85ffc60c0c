"""The pictures of chapter 3: one head drawn to scale, and maps of weights side by side."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from torch import Tensor

from attnbook.checks import check_size, check_tensor
from attnbook.figures.canvas import (
    INK,
    SOFT,
    WEIGHTS,
    bare,
    canvas,
    fill_colour,
    text_colour,
)
from attnbook.figures.maps import draw_cells

GAP = 2.0  # between two blocks, in units of one number
ROOM = 5.5  # above a block, for its name and shape
SOFTMAX = 10.0  # between scores and weights


def plot_head(
    queries: Sequence[str], keys: Sequence[str], d_k: int, d_v: int, row: int, column: int
) -> None:
    """Draw one head to scale: follow query `row` to the right, and see where key `column` enters.

    The transposed keys stand above the scores and the values above the output, so that every
    number stands where its row and its column meet.

    Raises:  ValueError if a size is not positive, or there is no such query or key
    """
    n_queries, n_keys = len(queries), len(keys)
    for name, size in (("queries", n_queries), ("keys", n_keys), ("d_k", d_k), ("d_v", d_v)):
        check_size(name, size)
    for name, index, size in (("row", row, n_queries), ("column", column, n_keys)):
        if not 0 <= index < size:
            raise ValueError(f"{name}={index}: it must be between 0 and {size - 1}")
    at_scores = d_k + GAP
    at_weights = at_scores + n_keys + SOFTMAX
    at_output = at_weights + n_keys + GAP
    width, tall = at_output + d_v, max(d_k, n_keys) + ROOM
    unit = min(0.14, 5.8 / width)
    with canvas(unit * width + 0.9, unit * (n_queries + tall) + 0.6) as figure:
        axes = figure.subplots()
        bare(axes)
        axes.set_xlim(-0.6 / unit, width + 0.1 / unit)
        axes.set_ylim(n_queries + 0.1 / unit, -tall - 0.45 / unit)
        key_top, value_top = -ROOM - d_k, -ROOM - n_keys
        cell = (row, column)
        _block(axes, "Q", 0, 0, n_queries, d_k, "query", row=row)
        _block(axes, "Kᵀ", at_scores, key_top, d_k, n_keys, "key", column=column)
        _block(axes, "scores", at_scores, 0, n_queries, n_keys, None, row=row, cell=cell)
        _block(axes, "weights", at_weights, 0, n_queries, n_keys, "weights", row=row, cell=cell)
        _block(axes, "V", at_output, value_top, n_keys, d_v, "value", row=column)
        _block(axes, "output", at_output, 0, n_queries, d_v, None, row=row)
        for word, x, y, ha, role in (
            (queries[row], -0.8, row + 0.5, "right", "query"),
            (keys[column], at_scores + n_keys + 0.8, key_top + d_k / 2, "left", "key"),
            (keys[column], at_output - 0.8, value_top + column + 0.5, "right", "value"),
        ):
            axes.text(x, y, word, ha=ha, va="center", fontsize=9, color=text_colour(role))
        left, right = at_scores + n_keys + 0.6, at_weights - 0.6
        axes.annotate(
            "", (right, row + 0.5), (left, row + 0.5),
            arrowprops={"arrowstyle": "-|>", "color": SOFT, "lw": 1, "shrinkA": 0, "shrinkB": 0},
        )  # fmt: skip
        axes.annotate(
            "$\\div\\sqrt{d_k}$\nsoftmax", ((left + right) / 2, row + 0.5), (0, 5), fontsize=8,
            textcoords="offset points", ha="center", va="bottom", linespacing=1.1,
        )  # fmt: skip


def plot_maps(
    maps: Mapping[str, Tensor], queries: Sequence[str], keys: Sequence[str] | None = None
) -> None:
    """Draw up to three maps of weights side by side, each under its name, as plot_weights does.

    Shapes:  each map (Lq, Lk), between 0 and 1; queries Lq labels, keys Lk labels (default queries)
    Raises:  TypeError, ValueError if there are none or too many, or sizes or values do not fit
    """
    keys = queries if keys is None else keys
    if not 1 <= len(maps) <= 3:
        raise ValueError(f"{len(maps)} maps: plot_maps draws 1 to 3")
    for name, x in maps.items():
        check_tensor(f"map {name!r}", x)
        if tuple(x.shape) != (len(queries), len(keys)):
            raise ValueError(
                f"map {name!r} has shape {tuple(x.shape)} but there are {len(queries)} queries "
                f"and {len(keys)} keys"
            )
        if not 0 <= x.min() <= x.max() <= 1 + 1e-6:
            raise ValueError(f"map {name!r} has weights that are not between 0 and 1")
    cell = min(0.46, 5.6 / (len(maps) * len(keys)))
    size = (1.0 + len(maps) * (cell * len(keys) + 0.25), 1.1 + cell * len(queries))
    with canvas(*size) as figure:
        panels = figure.subplots(1, len(maps), squeeze=False, sharey=True)[0]
        for axes, (name, x) in zip(panels, maps.items(), strict=True):
            # Three digits are what the eye can see, and keep the drawing the same everywhere.
            seen = torch.round(x.detach().cpu().double(), decimals=3) + 0.0
            draw_cells(axes, seen, queries, keys, WEIGHTS, 0.0, 1.0, "{:.2f}")
            axes.set_title(name)
        panels[0].set_ylabel("query: who looks", color=text_colour("query"))
        figure.supxlabel("key: what is looked at", fontsize=10, color=text_colour("key"))


def _block(
    axes: Axes,
    name: str,
    left: float,
    top: float,
    n_rows: int,
    n_columns: int,
    role: str | None,
    row: int | None = None,
    column: int | None = None,
    cell: tuple[int, int] | None = None,
) -> None:
    """A matrix as a pale box under its name and shape, with a row or column full, a cell black."""
    fill = fill_colour(role)
    parts: list[tuple[float, float, int, int, Any, str]] = [
        (left, top, n_columns, n_rows, (fill, 0.2), fill)
    ]
    if row is not None:
        parts.append((left, top + row, n_columns, 1, (fill, 0.7), "none"))
    if column is not None:
        parts.append((left + column, top, 1, n_rows, (fill, 0.7), "none"))
    if cell is not None:
        parts.append((left + cell[1], top + cell[0], 1, 1, INK, "none"))
    for x, y, width, height, face, edge in parts:
        axes.add_patch(
            Rectangle((x, y), width, height, facecolor=face, edgecolor=edge, linewidth=1.2)
        )
    for text, lift, style in (
        (name, 13, {"fontweight": "bold", "color": text_colour(role)}),
        (f"{n_rows} × {n_columns}", 3, {"fontsize": 8, "color": SOFT}),
    ):
        axes.annotate(
            text, (left + n_columns / 2, top), (0, lift),
            textcoords="offset points", ha="center", va="bottom", **style,
        )  # fmt: skip
