"""Paths through a network: which position receives information from which."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from attnbook.colors import INK, PAPER, PLAIN, RULE, SHADE, SOFT
from attnbook.figures.canvas import (
    SMALL,
    WIDE,
    Point,
    arrow,
    bare,
    canvas,
    drawing,
    rounded,
    side_by_side,
    write,
)

__all__ = ["plot_chain_and_fan", "plot_layers"]

BOX = 0.36  # the height of a vector; its width is twice that
CELLS = 4  # squares in a vector


def plot_layers(words: Sequence[str], guess: str) -> None:
    """Draw a language model: attention mixes the vectors, and the feed-forward network does not.

    Every position attends to all positions so far. The arrows of the last word are dark, and its
    vector at the top leads to the guess.
    """
    count = len(words)
    with drawing(WIDE, 4.3, (-0.6, count + 1.7), (-0.4, 6.0), square=False) as axes:
        for level, label in ((1.45, "attention:\nmixes vectors"), (3.05, "feed-forward network:")):
            axes.axhspan(level - 0.4, level + 0.4, color=SHADE)
            write(axes, count - 0.3, level, label, ha="left", fontsize=SMALL)
        write(axes, count - 0.3, 2.83, "each vector by itself", ha="left", fontsize=SMALL)
        write(axes, count - 0.3, 0.7, "a vector\nfor each word", ha="left", fontsize=SMALL)
        write(axes, (count - 1) / 2, 4.45, "and again, layer upon layer")
        for i, word in enumerate(words):
            write(axes, i, 0, word)
            for turn, height in enumerate((0.7, 2.2, 3.85, 5.05)):
                _row(axes, (i, height), i + turn)
            for j in range(i + 1):
                style = {"color": INK, "lw": 1.3} if i == count - 1 else {"color": PLAIN, "lw": 0.8}
                arrow(axes, (j, 0.7 + BOX / 2), (i, 2.2 - BOX / 2), **style)
            arrow(axes, (i, 2.2 + BOX / 2), (i, 3.85 - BOX / 2))
            axes.add_patch(Rectangle((i - 0.22, 2.88), 0.44, 0.34, facecolor=PAPER, edgecolor=SOFT))
            axes.plot([i, i], [4.05, 4.2], color=SOFT, linewidth=1)
            axes.plot([i, i], [4.7, 4.85], color=SOFT, linewidth=1)
        arrow(axes, (count - 1 + BOX, 5.05), (count - 0.25, 5.05), color=INK)
        write(axes, count - 0.15, 5.05, guess, ha="left", fontweight="bold")
        write(axes, count - 0.15, 5.5, "next word", ha="left", fontsize=SMALL, color=SOFT)


def plot_chain_and_fan(length: int) -> None:
    """Draw the path from the first input to the last output, in an RNN and with attention."""
    last = length - 1
    with canvas(WIDE, 4.4) as figure:
        chain, fan = side_by_side(figure, 2, across=1)
        for axes, name, top in ((chain, "RNN: a chain", "h"), (fan, "attention: a fan", "o")):
            bare(axes, (-0.7, last + 0.7), (-0.4, 2.0), square=False)
            axes.set_title(name)
            for t in range(length):
                fresh = name.startswith("RNN") or t == last
                _box(axes, f"$x_{{{t}}}$", (t, 0), t == 0)
                _box(axes, f"${top}_{{{t}}}$", (t, 1.5), t == last, pale=not fresh)
        for t in range(length):
            path = {"color": INK, "lw": 2.2}
            arrow(chain, (t, 0.26), (t, 1.24), **(path if t == 0 else {}))
            if t < last:
                arrow(chain, (t + 0.3, 1.5), (t + 0.7, 1.5), **path)
            arrow(fan, (t, 0.26), (last, 1.24), **(path if t == 0 else {}))


def _row(axes: Axes, middle: Point, turn: int) -> None:
    """Draw a vector as small squares; `turn` varies their shades."""
    side = 2 * BOX / CELLS
    for i in range(CELLS):
        corner = (middle[0] - BOX + i * side, middle[1] - BOX / 2)
        shade = (SOFT, (0.25, 0.6, 0.1, 0.4)[(i * (1 + 2 * (turn % 2)) + turn) % CELLS])
        axes.add_patch(Rectangle(corner, side, BOX, facecolor=shade, edgecolor=SOFT, lw=0.6))


def _box(axes: Axes, name: str, middle: Point, dark: bool, pale: bool = False) -> None:
    corner, look = (middle[0] - 0.3, middle[1] - 0.26), (INK, 1.6) if dark else (RULE, 1)
    rounded(axes, corner, 0.6, 0.52, 0.12, fc=SHADE, ec=look[0], lw=look[1])
    write(axes, *middle, name, fontsize=14, color=PLAIN if pale else INK)
