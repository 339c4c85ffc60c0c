"""Look-ups: an embedding table and the rows that ids select, and a query against every key."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from torch import Tensor

from attnbook.colors import GRID
from attnbook.figures.bars import draw_bars
from attnbook.figures.canvas import SMALL, WIDE, Point, arrow, drawing, fill_color, numbers, write
from attnbook.figures.heatmaps import SIGNED, draw_cells, signed

__all__ = ["plot_embedding", "plot_lookup"]

COLUMN = 1.3  # the width of a column of values; columns of the query and keys have width 1


def plot_embedding(table: Tensor, ids: Sequence[int], vocabulary: Sequence[str]) -> None:
    """Draw an embedding table, and an arrow from the row of each id to its position in X.

    Shapes:  table (N, D); vocabulary N words, in the order of their ids; ids L whole numbers < N
    Raises:  ValueError if table is not (N, D), IndexError if an id has no row
    """
    x = numbers("table", table, len(vocabulary), table.shape[-1])
    limit = float(x.abs().max()) or 1.0
    width, gap, margin = x.size(1), 0.62 * x.size(1), 0.03 * x.size(1)
    tall = max(len(x), len(ids))
    across, down = (0, 2 * width + gap), (tall, -0.6)
    with drawing(WIDE, 0.34 * tall + 0.5, across, down, square=False) as axes:
        for name, left, block in (("table", 0.0, x), ("X", width + gap, x[list(ids)])):
            draw_cells(axes, block, SIGNED, -limit, limit, corner=(left, 0))
            title = f"{name} ({len(block)}, {width})"
            write(axes, left + width / 2, -0.25, title, va="baseline", fontweight="bold")
        for i, word in enumerate(vocabulary):
            write(axes, -margin, i + 0.5, f"{word}  {i}", ha="right")
        for position, i in enumerate(ids):
            arrow(axes, (width + margin, i + 0.5), (width + gap - margin, position + 0.5))
            write(axes, 2 * width + gap + margin, position + 0.5, vocabulary[i], ha="left")


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
    """Draw one attention look-up: the query above the keys, scores and weights, values, and output.

    Shapes:  query (Dk,), key (Lk, Dk), scores (Lk,), weights (Lk,), value (Lk, Dv), output (Dv,),
             tensors or NumPy arrays; titles Lk, topics Dk and contents Dv labels
    Raises:  ValueError if a size does not fit the labels
    """
    n_keys, n_topics, n_contents = len(titles), len(topics), len(contents)
    at_scores, at_weights, at_values = (n_topics + columns for columns in (0.5, 3.2, 6.9))
    across, down = (-0.2, at_values + COLUMN * n_contents + 0.4), (n_keys + 2.3, -5.0)
    with drawing(WIDE, 0.25 * (n_keys + 7), across, down, square=False) as axes:
        query_row = numbers("query", query, n_topics)[None]
        output_row = numbers("output", output, n_contents)[None]
        values = numbers("value", value, n_keys, n_contents)
        _table(axes, query_row, (0, -1.4), 1, "query", ".3g")
        _table(axes, numbers("key", key, n_keys, n_topics), (0, 0), 1, "key", ".3g")
        _table(axes, values, (at_values, 0), COLUMN, "value", ".0f")
        _table(axes, output_row, (at_values, n_keys + 1.1), COLUMN, None, ".0f")
        _bars(axes, numbers("scores", scores, n_keys), at_scores, None, ".3g")
        _bars(axes, numbers("weights", weights, n_keys), at_weights, "weights", ".3f")
        for j, name in enumerate(topics):
            axes.text(j + 0.3, -1.6, name, rotation=60, va="bottom", fontsize=SMALL)
        for j, name in enumerate(contents):
            x = at_values + COLUMN * j + 0.4
            axes.text(x, -0.2, name, rotation=60, va="bottom", fontsize=SMALL)
        for i, title in enumerate(titles):
            write(axes, -0.4, i + 0.5, title, ha="right", fontsize=SMALL)
        write(axes, -0.4, -0.9, "your query", "query", ha="right", fontsize=SMALL)
        for name, x, y, role in (
            ("scores", at_scores, -0.4, None),
            ("weights", at_weights, -0.4, "weights"),
            ("keys", 0, n_keys + 0.55, "key"),
            ("values", at_values, n_keys + 0.55, "value"),
        ):
            write(axes, x, y, name, role, ha="left", fontweight="bold")
        write(axes, at_values - 0.3, n_keys + 1.6, "output", ha="right", fontweight="bold")


def _table(axes: Axes, x: Tensor, corner: Point, width: float, role: str | None, form: str) -> None:
    """Numbers in cells in the color of a role, darker for larger numbers; zeros are left out."""
    fill, largest = fill_color(role), float(x.abs().max()) or 1.0
    shades = LinearSegmentedColormap.from_list("role", [(fill, 0.65), (fill, 0.0), (fill, 0.65)])
    draw_cells(
        axes, x, shades, -largest, largest, corner=corner, width=width, edge=GRID,
        form=lambda value: "" if signed(value, form) == "0" else signed(value, form),
    )  # fmt: skip


def _bars(axes: Axes, x: Tensor, left: float, role: str | None, form: str) -> None:
    """One bar per row, at most one and a half cells long, followed by its number."""
    largest = float(x.abs().max()) or 1.0
    texts = [signed(value, form) for value in x.tolist()]
    draw_bars(axes, (1.5 * x.clamp(min=0) / largest).tolist(), role, texts, left)
