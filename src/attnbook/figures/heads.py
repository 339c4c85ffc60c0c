"""The pictures of chapter 4: maps of several heads, and one projection cut into heads."""

from collections.abc import Sequence

import torch
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from torch import Tensor

from attnbook.checks import check_size, check_tensor
from attnbook.figures.canvas import (
    INK,
    RULE,
    SOFT,
    WEIGHTS,
    bare,
    canvas,
    fill_colour,
    readable_on,
    text_colour,
)
from attnbook.figures.maps import draw_cells

MOST_HEADS = 4
GAP = 3.0  # between two blocks, in units of one number


def plot_heads(
    weights: Tensor,
    queries: Sequence[str],
    keys: Sequence[str] | None = None,
    titles: Sequence[str] | None = None,
) -> None:
    """Draw the maps of up to four heads side by side; numbers of 0.005 and more stand in them.

    Shapes:  weights (H, Lq, Lk), between 0 and 1; queries Lq labels, keys Lk labels (default
             queries), titles H (default "head 0", "head 1", …)
    Raises:  TypeError, ValueError if there are too many heads, or sizes or values do not fit
    """
    keys = queries if keys is None else keys
    check_tensor("weights", weights)
    if weights.dim() != 3 or not 1 <= len(weights) <= MOST_HEADS:
        raise ValueError(
            f"weights has shape {tuple(weights.shape)}: plot_heads draws (H, Lq, Lk) with "
            f"1 to {MOST_HEADS} heads"
        )
    titles = [f"head {h}" for h in range(len(weights))] if titles is None else titles
    for name, labels, size in zip(
        ("titles", "queries", "keys"), (titles, queries, keys), weights.shape, strict=True
    ):
        if len(labels) != size:
            raise ValueError(
                f"{len(labels)} {name} for weights of shape {tuple(weights.shape)}: "
                f"there must be {size}"
            )
    if weights.numel() and not 0 <= weights.min() <= weights.max() <= 1 + 1e-6:
        raise ValueError("weights must lie between 0 and 1")
    # Two digits are what is printed, and keep the drawing the same on every machine.
    seen = torch.round(weights.detach().cpu().double(), decimals=2) + 0.0
    cell = min(0.46, 5.5 / (len(weights) * max(len(keys), 1)))
    labels_height = 1.35 if max(map(len, keys), default=0) > 5 else 1.1  # slanted, or level
    width = 1.0 + len(weights) * (cell * len(keys) + 0.3)
    with canvas(width, labels_height + cell * len(queries)) as figure:
        figure.set_layout_engine("constrained", wspace=0.06)
        panels = figure.subplots(1, len(weights), squeeze=False, sharey=True)[0]
        for axes, title, x in zip(panels, titles, seen, strict=True):
            names = [_stacked(k) for k in keys] if cell < 0.4 else keys
            draw_cells(axes, x, queries, names, WEIGHTS, 0.0, 1.0, "")
            axes.spines[:].set(visible=True, color=RULE)
            _write_cells(axes, x, fontsize=min(8.0, 26 * cell))
            axes.set_title(title)
        panels[0].set_ylabel("query: who looks", color=text_colour("query"))
        figure.supxlabel("key: what is looked at", fontsize=10, color=text_colour("key"))


def plot_split(words: Sequence[str], n_heads: int, d_k: int, row: int, role: str = "query") -> None:
    """Draw one wide projection and the heads it is cut into, to scale; `row` is followed.

    Shapes:  left (L, n_heads * d_k), right (n_heads, L, d_k), L = len(words)
    Raises:  ValueError if a size is not positive, or there is no such row
    """
    length = len(words)
    for name, size in (("words", length), ("n_heads", n_heads), ("d_k", d_k)):
        check_size(name, size)
    if not 0 <= row < length:
        raise ValueError(f"row={row}: it must be between 0 and {length - 1}")
    wide = n_heads * d_k
    at_heads = wide + 4 * GAP
    unit = min(0.14, 5.3 / (at_heads + d_k))
    step = length + 1.6 * GAP  # from one head's block to the next
    tall = (n_heads - 1) * step + length
    top = (tall - length) / 2
    with canvas(unit * (at_heads + d_k) + 1.0, unit * tall + 0.75) as figure:
        axes = figure.subplots()
        bare(axes)
        axes.set_xlim(-0.7 / unit, at_heads + d_k + 0.2 / unit)
        axes.set_ylim(tall + 0.08 / unit, -0.4 / unit)
        _block(axes, (0, top), (length, wide), role, row)
        axes.text(wide / 2, top - 0.8, f"{length} × {wide}", ha="center", va="bottom", fontsize=9)
        axes.text(-1, top + row + 0.5, words[row], ha="right", va="center", fontsize=9)
        for h in range(n_heads):
            left, upper = h * d_k, h * step
            axes.plot([left, left], [top, top + length], color=INK, linewidth=0.8)
            axes.text(
                left + d_k / 2, top + length + 0.8, f"head {h}", ha="center", va="top", fontsize=9
            )
            _block(axes, (at_heads, upper), (length, d_k), role, row)
            axes.text(
                at_heads + d_k / 2, upper - 0.8, f"head {h}: {length} × {d_k}",
                ha="center", va="bottom", fontsize=9,
            )  # fmt: skip
            axes.annotate(
                "", (at_heads - 0.6, upper + row + 0.5), (wide + 0.6, top + row + 0.5),
                arrowprops={"arrowstyle": "-|>", "color": SOFT, "lw": 0.9},
            )  # fmt: skip


def _block(
    axes: Axes, corner: tuple[float, float], shape: tuple[int, int], role: str, row: int
) -> None:
    """A matrix as a pale box, with one row full."""
    (left, top), (n_rows, n_columns), fill = corner, shape, fill_colour(role)
    for upper, height, opacity, edge in ((top, n_rows, 0.2, fill), (top + row, 1, 0.7, "none")):
        axes.add_patch(
            Rectangle((left, upper), n_columns, height, facecolor=(fill, opacity), edgecolor=edge)
        )


def _stacked(label: str) -> str:
    """A Chinese word from top to bottom, as it may be written: then narrow columns hold it."""
    return "\n".join(label) if all("\u4e00" <= c <= "\u9fff" for c in label) else label


def _write_cells(axes: Axes, x: Tensor, fontsize: float) -> None:
    """Write .25 for 0.25, nothing for less than 0.005, and 1 for 1."""
    for i, line in enumerate(x.tolist()):
        for j, value in enumerate(line):
            if value:
                text = "1" if value >= 1 else f"{value:.2f}"[1:]
                shade = readable_on(WEIGHTS(value))
                axes.text(
                    j + 0.5, i + 0.5, text, ha="center", va="center", fontsize=fontsize, color=shade
                )  # fmt: skip
