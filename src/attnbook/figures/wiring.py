"""The attentions of a Transformer, wired together, each with its mask."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.patches import Patch, Rectangle
from torch import Tensor

from attnbook.colours import INK, SOFT
from attnbook.figures.canvas import arrow, canvas, text_colour
from attnbook.figures.grids import MASK, checked

__all__ = ["plot_which_mask"]

CELL = 0.27  # inches
LEFT, RIGHT = 0.95, 4.0  # where the grids of the encoder and of the decoder begin
BELOW, BETWEEN = 0.75, 0.62  # room for the names of the keys, and for a heading


def plot_which_mask(
    encoder: Tensor, decoder: Tensor, cross: Tensor, source: Sequence[str], target: Sequence[str]
) -> None:
    """Draw the three attentions of a Transformer and the mask of each: full where one may look.

    The encoder stands on the left. Its output goes to the cross-attention of the decoder as keys
    and values; the queries come from the decoder's self-attention below.

    Shapes:  encoder (Ls, Ls), decoder (Lt, Lt), cross (Lt, Ls), boolean, True = may look;
             source Ls labels, target Lt labels
    Raises:  TypeError, ValueError if a mask is not boolean or of another size
    """
    n_source, n_target = len(source), len(target)
    checked({"encoder": encoder}, n_source, n_source)
    checked({"decoder": decoder}, n_target, n_target)
    checked({"cross": cross}, n_target, n_source)
    wide, tall = CELL * n_source, CELL * n_target
    upper = BETWEEN + tall + BELOW + BETWEEN  # where the decoder's self-attention begins
    lower = upper + tall - wide  # the two lower grids stand on one line
    width = RIGHT + max(tall, wide + 1.1) + 0.2
    with canvas(width, upper + tall + BELOW) as figure:
        axes = figure.subplots()
        axes.set_axis_off()
        axes.set_xlim(0, width)
        axes.set_ylim(upper + tall + BELOW, 0)
        _grid(axes, encoder, (LEFT, lower), source, source, "encoder: self-attention")
        _grid(axes, decoder, (RIGHT, upper), target, target, "decoder: self-attention")
        heading = "decoder: cross-attention"
        _grid(axes, cross, (RIGHT, BETWEEN), target, source, heading, queries_right=True)
        turn, middle = BETWEEN + tall + BELOW - 0.02, RIGHT + wide / 2
        key, query = text_colour("key"), text_colour("query")
        up, across = LEFT + wide / 2, [LEFT + wide / 2, middle]
        axes.plot([up, up], [lower - BETWEEN + 0.1, turn], color=key)
        axes.plot(across, [turn, turn], color=key)
        arrow(axes, (middle, turn), (middle, turn - 0.16), color=key)
        axes.text(up + 0.1, turn - 0.06, "keys and values: the encoder's output", color=key,
                  va="bottom", fontsize=9)  # fmt: skip
        side = RIGHT + wide + 0.32
        arrow(axes, (side, upper - BETWEEN + 0.28), (side, BETWEEN + tall + 0.04), color=query)
        axes.text(side + 0.08, turn - 0.06, "queries", color=query, va="bottom", fontsize=9)
        arrow(axes, (middle, 0.3), (middle, 0.06), color=SOFT)
        axes.text(middle + 0.1, 0.16, "on, to the next words", va="center", fontsize=9)
        axes.legend(
            handles=[Patch(edgecolor=SOFT, linewidth=0.6, **kind[1]) for kind in reversed(MASK)],
            labels=[text for text, *_ in reversed(MASK)],
            loc="upper left", bbox_to_anchor=(0.04, 0.97), fontsize=9, handlelength=1.4,
        )  # fmt: skip


def _grid(
    axes: Axes,
    mask: Tensor,
    corner: tuple[float, float],
    queries: Sequence[str],
    keys: Sequence[str],
    heading: str,
    queries_right: bool = False,
) -> None:
    """One mask with its heading above, the keys named below, the queries at one side."""
    left, top = corner
    bottom, right = top + CELL * len(queries), left + CELL * len(keys)
    for i, row in enumerate(mask.int().tolist()):
        for j, kind in enumerate(row):
            place = (left + CELL * j, top + CELL * i)
            look = {"edgecolor": SOFT, "linewidth": 0.6} | MASK[kind][1]
            axes.add_patch(Rectangle(place, CELL, CELL, **look))
    x, ha = (right + 0.07, "left") if queries_right else (left - 0.07, "right")
    for i, word in enumerate(queries):
        y = top + CELL * (i + 0.5)
        axes.text(x, y, word, ha=ha, va="center", fontsize=8.5, color=text_colour("query"))
    for j, word in enumerate(keys):
        look = {"rotation": 40, "rotation_mode": "anchor", "ha": "right", "va": "top"}
        place = (left + CELL * (j + 0.65), bottom + 0.06)
        axes.text(*place, word, fontsize=8.5, color=text_colour("key"), **look)
    axes.text(left, top - 0.12, heading, va="bottom", fontweight="bold", color=INK)
