"""The look-up of an embedding table: which row goes where."""

from collections.abc import Sequence

import torch
from torch import Tensor

from attnbook.checks import check_float_tensor
from attnbook.figures.canvas import INK, SIGNED, SOFT, canvas

_ROW = 0.34  # inches


def plot_embedding(table: Tensor, ids: Sequence[int], vocabulary: Sequence[str]) -> None:
    """Draw a table, and an arrow from the row of each id to its place in the sentence.

    Shapes:  table (N, D); vocabulary N words, in the order of their ids; ids L whole numbers < N
    Raises:  TypeError if table is no tensor or an id no whole number; ValueError if table is not
             (N, D), there is no id, or an id has no row
    """
    check_float_tensor("table", table)
    if table.dim() != 2 or len(table) != len(vocabulary) or table.numel() == 0:
        raise ValueError(
            f"table has shape {tuple(table.shape)} but the vocabulary has {len(vocabulary)} words: "
            "each word needs one row"
        )
    if not ids:
        raise ValueError("ids is empty: there is nothing to look up")
    for i in ids:
        if isinstance(i, bool) or not isinstance(i, int):
            raise TypeError(f"an id must be an int, got {type(i).__name__}")
        if not 0 <= i < len(table):
            raise ValueError(f"id {i} has no row: the table's rows are 0 to {len(table) - 1}")
    # Three digits are what the eye can see, and keep the drawn colours the same on every machine.
    x = torch.round(table.detach().cpu().double(), decimals=3)
    limit = float(x.abs().max()) or 1.0
    n_rows, width = x.shape
    gap = 0.62 * width
    with canvas(6.4, _ROW * max(n_rows, len(ids)) + 0.5) as figure:
        axes = figure.subplots()
        axes.set_axis_off()
        for left, block in ((0.0, x), (width + gap, x[list(ids)])):
            axes.pcolormesh(
                [left + j for j in range(width + 1)],
                list(range(len(block) + 1)),
                block.numpy(),
                cmap=SIGNED,
                vmin=-limit,
                vmax=limit,
                edgecolors="white",
                linewidth=0.8,
            )
            axes.text(
                left + width / 2,
                -0.25,
                f"{'X' if left else 'table'} ({len(block)}, {width})",
                ha="center",
                fontweight="bold",
            )
        margin = 0.03 * width
        for i, word in enumerate(vocabulary):
            axes.text(-margin, i + 0.5, f"{word}  {i}", ha="right", va="center", color=INK)
        for place, i in enumerate(ids):
            axes.annotate(
                "",
                (width + gap - margin, place + 0.5),
                (width + margin, i + 0.5),
                arrowprops={
                    "arrowstyle": "-|>",
                    "color": SOFT,
                    "lw": 1,
                    "shrinkA": 0,
                    "shrinkB": 0,
                },
            )
            axes.text(2 * width + gap + margin, place + 0.5, vocabulary[i], va="center", color=INK)
        axes.set_xlim(0, 2 * width + gap)
        axes.set_ylim(max(n_rows, len(ids)), -0.6)
