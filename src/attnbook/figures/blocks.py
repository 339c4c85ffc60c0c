"""Matrices as boxes drawn to scale, and the steps of a computation as a flow chart."""

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from attnbook.colors import INK, SOFT
from attnbook.figures.canvas import SMALL, WIDE, Point, arrow, drawing, fill_color, rounded, write

__all__ = ["plot_head", "plot_many_heads", "plot_shapes", "plot_split", "plot_steps"]

Block = tuple[str, int, int, str | None]

HEADER = 0.45  # inches above a box, for its name and its shape


def plot_shapes(*items: Block | str) -> None:
    """Draw matrices to scale, side by side: an item is (name, rows, columns, role) or a sign.

    Example: plot_shapes(("Q", 6, 24, "query"), "@", ("Kᵀ", 24, 6, "key"), "=", ("S", 6, 6, None))
    """
    blocks = [item for item in items if not isinstance(item, str)]
    tallest = max(block[1] for block in blocks)
    gap = 0.16 * max(tallest, *(block[2] for block in blocks))
    columns = sum(block[2] for block in blocks)
    length = columns + gap * (len(items) + len(blocks) - 1)
    unit = min(0.16, (WIDE - 0.3) / length, 2.6 / tallest)
    down = (tallest / 2 + 0.05 / unit, -tallest / 2 - HEADER / unit)
    across = (-gap / 2, columns + gap * (1.5 * len(items) - len(blocks)))
    with drawing(unit * length + 0.3, unit * tallest + HEADER + 0.3, across, down) as axes:
        x = 0.0
        for item in items:
            if isinstance(item, str):
                write(axes, x + gap / 2, 0, item, fontsize=13)
                x += gap * 1.5
            else:
                name, n_rows, n_columns, role = item
                draw_block(axes, name, (x, -n_rows / 2), (n_rows, n_columns), role)
                x += n_columns + gap / 2


def plot_head(
    queries: Sequence[str], keys: Sequence[str], d_model: int, d_k: int, d_v: int, row: int,
    column: int,
) -> None:  # fmt: skip
    """Draw one head to scale, with query `row` and key `column` highlighted.

    The second factor of each product is above the product, so that every number is where its row
    and its column meet.
    """
    n_queries, n_keys = len(queries), len(keys)
    gap, softmax = 2.0, 16.0  # the widths of a gap between boxes and of the softmax
    at_query = d_model + gap
    at_scores = at_query + d_k + gap
    at_weights = at_scores + n_keys + softmax
    at_output = at_weights + n_keys + gap
    width = at_output + d_v
    unit = min(0.14, (WIDE - 0.9) / width)
    room = (HEADER + 0.1) / unit  # above a box
    tall = max(d_model, d_k, n_keys) + room
    across = (-0.6 / unit, width + 0.1 / unit)
    down = (n_queries + 0.1 / unit, -tall - HEADER / unit)
    with drawing(unit * width + 0.9, unit * (n_queries + tall) + 0.6, across, down) as axes:
        k_top, v_top, size = -room - d_k, -room - n_keys, (n_queries, n_keys)
        draw_block(axes, "X", (0, 0), (n_queries, d_model), None, row)
        draw_block(axes, r"$\mathbf{W_Q}$", (at_query, -room - d_model), (d_model, d_k), "query")
        draw_block(axes, "Q", (at_query, 0), (n_queries, d_k), "query", row)
        draw_block(axes, "Kᵀ", (at_scores, k_top), (d_k, n_keys), "key", column=column)
        draw_block(axes, "scores", (at_scores, 0), size, None, row, column)
        draw_block(axes, "weights", (at_weights, 0), size, "weights", row, column)
        draw_block(axes, "V", (at_output, v_top), (n_keys, d_v), "value", column)
        draw_block(axes, "output", (at_output, 0), (n_queries, d_v), None, row)
        for word, x, y, ha, role in (
            (queries[row], -0.8, row + 0.5, "right", "query"),
            (keys[column], at_scores + n_keys + 0.8, k_top + d_k / 2, "left", "key"),
            (keys[column], at_output - 0.8, v_top + column + 0.5, "right", "value"),
        ):
            write(axes, x, y, word, role, ha=ha, fontsize=SMALL)
        left, right = at_scores + n_keys + 0.6, at_weights - 0.6
        arrow(axes, (left, row + 0.5), (right, row + 0.5))
        middle, y = (left + right) / 2, row + 0.5
        write(axes, middle, y, r"$\div\sqrt{d_k}$", lift=(0, 4), va="bottom", fontsize=13)
        write(axes, middle, y, "softmax", lift=(0, -5), va="top", fontsize=SMALL)


def plot_many_heads(length: int, d_model: int, n_heads: int, d_k: int, d_v: int) -> None:
    """Draw multi-head attention to scale: one lane per head, and the sum of the lanes.

    The lanes are stacked vertically, as the heads' blocks are in W_O.
    """
    gap, pitch = 13.0, length + 4.0  # distances: between two columns, and from Q to K
    lane = max(2 * pitch + length, d_v)
    step, half = lane + 6.0, length / 2
    at_heads = d_model + gap
    at_weights = at_heads + max(d_k, d_v) + gap
    at_contexts = at_weights + length + gap
    at_w_o = at_contexts + d_v + gap
    at_output = at_w_o + d_model + gap
    width, tall = at_output + d_model, n_heads * step - 6.0
    unit, middle = min(0.1, (WIDE - 0.3) / width), tall / 2
    across, down = (-0.1 / unit, width + 0.1 / unit), (tall + 0.3 / unit, -0.7 / unit)
    with drawing(unit * width + 0.3, unit * tall + 1.1, across, down) as axes:
        _named_box(axes, "X", (0, middle - half), (length, d_model), None)
        _named_box(axes, "output", (at_output, middle - half), (length, d_model), None)
        for h in range(n_heads):
            top, center = h * step, h * step + lane / 2
            query_y, between = center - pitch, center - pitch / 2  # Q's center; halfway to K's
            arrow(axes, (d_model + 1, middle), (at_heads - 1, center))
            for name, y, wide, role in (
                (f"query {h}", query_y, d_k, "query"),
                (f"key {h}", center, d_k, "key"),
                (f"value {h}", center + pitch, d_v, "value"),
            ):
                _named_box(axes, name, (at_heads, y - half), (length, wide), role)
            _named_box(axes, "A", (at_weights, between - half), (length, length), "weights")
            _named_box(axes, f"context {h}", (at_contexts, center - half), (length, d_v), None)
            _named_box(axes, f"block {h}", (at_w_o, top), (lane, d_model), None)
            for y in (query_y, center):
                arrow(axes, (at_heads + d_k + 1, y), (at_weights - 1, between))
            arrow(axes, (at_weights + length + 1, between), (at_contexts - 1, center - 1))
            arrow(axes, (at_heads + d_v + 1, center + pitch), (at_contexts - 1, center + 1))
            arrow(axes, (at_contexts + d_v + 1, center), (at_w_o - 1, center))
            arrow(axes, (at_w_o + d_model + 1, center), (at_output - 1, middle))
        projected = f"({n_heads}, {length}, {d_k})\nvalue ({n_heads}, {length}, {d_v})"
        for name, shape, x, wide in (
            ("input", f"({length}, {d_model})", 0, d_model),
            ("project, split", projected, at_heads, max(d_k, d_v)),
            ("compare", f"({n_heads}, {length}, {length})", at_weights, length),
            ("mix", f"({n_heads}, {length}, {d_v})", at_contexts, d_v),
            ("times $W_O$", f"({n_heads * d_v}, {d_model})", at_w_o, d_model),
            ("add up", f"({length}, {d_model})", at_output, d_model),
        ):
            at = x + wide / 2
            write(axes, at, 0, name, lift=(0, 32), va="bottom", fontweight="bold")
            write(axes, at, 0, shape, lift=(0, 30), va="top", fontsize=SMALL, color=SOFT)


def plot_split(words: Sequence[str], n_heads: int, d_k: int, row: int) -> None:
    """Draw, to scale, how the queries are split into heads; `row` is highlighted.

    Shapes:  left (L, n_heads * d_k), right (n_heads, L, d_k), L = len(words)
    """
    length, wide = len(words), n_heads * d_k
    unit = min(0.14, (WIDE - 1.4) / (wide + d_k))
    at_heads, step = wide + 0.7 / unit, length + (HEADER + 0.1) / unit
    tall = (n_heads - 1) * step + length
    top = (tall - length) / 2
    across = (-0.5 / unit, at_heads + d_k + 0.1 / unit)
    down = (tall + 0.05 / unit, -HEADER / unit)
    with drawing(unit * (at_heads + d_k) + 0.7, unit * tall + HEADER + 0.15, across, down) as axes:
        draw_block(axes, "all heads", (0, top), (length, wide), "query", row)
        write(axes, -1, top + row + 0.5, words[row], ha="right", fontsize=SMALL)
        for h in range(n_heads):
            left, upper = h * d_k, h * step
            axes.plot([left, left], [top, top + length], color=INK, linewidth=0.8)
            write(axes, left + d_k / 2, top + length + 0.06 / unit, f"head {h}", va="top")
            draw_block(axes, f"head {h}", (at_heads, upper), (length, d_k), "query", row)
            arrow(axes, (wide + 0.6, top + row + 0.5), (at_heads - 0.6, upper + row + 0.5))


def plot_steps(steps: Sequence[tuple[str, str, str | None]]) -> None:
    """Draw a flow chart from top to bottom; each step is (text, resulting shape, role)."""
    height = 0.62 * len(steps) + 0.2
    with drawing(5.2, height, (0, 10), (len(steps), 0), square=False) as axes:
        for i, (text, shape, role) in enumerate(steps):
            rounded(axes, (0.3, i + 0.18), 6.4, 0.6, 0.18, **_pale(role))
            write(axes, 3.5, i + 0.48, text)
            write(axes, 7.1, i + 0.48, shape, role, ha="left", fontsize=SMALL)
            if i + 1 < len(steps):
                arrow(axes, (3.5, i + 0.8), (3.5, i + 1.16))


def draw_block(
    axes: Axes, name: str, corner: Point, shape: tuple[int, int], role: str | None,
    row: int | None = None, column: int | None = None,
) -> None:  # fmt: skip
    """Draw a matrix as a pale box under its name and shape, with a row or a column filled.

    If both are given, the row is filled, and the cell where they meet is black.
    """
    (left, top), (n_rows, n_columns), full = corner, shape, (fill_color(role), 0.7)
    axes.add_patch(Rectangle(corner, n_columns, n_rows, **_pale(role)))
    if row is not None:
        axes.add_patch(Rectangle((left, top + row), n_columns, 1, facecolor=full))
    if row is not None and column is not None:
        axes.add_patch(Rectangle((left + column, top + row), 1, 1, facecolor=INK))
    elif column is not None:
        axes.add_patch(Rectangle((left + column, top), 1, n_rows, facecolor=full))
    at, size = left + n_columns / 2, f"{n_rows} × {n_columns}"
    write(axes, at, top, name, role, lift=(0, 16), va="bottom", fontweight="bold")
    write(axes, at, top, size, lift=(0, 4), va="bottom", fontsize=SMALL, color=SOFT)


def _named_box(
    axes: Axes, name: str, corner: Point, shape: tuple[float, float], role: str | None
) -> None:
    """A pale box with its name inside."""
    (left, top), (high, wide) = corner, shape
    axes.add_patch(Rectangle(corner, wide, high, **_pale(role)))
    write(axes, left + wide / 2, top + high / 2, name, role, fontsize=SMALL)


def _pale(role: str | None) -> dict[str, Any]:
    return {"facecolor": (fill_color(role), 0.25), "edgecolor": fill_color(role)}
