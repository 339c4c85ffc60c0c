"""The parts of a Transformer, wired together: with their shapes, and the attentions with masks."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.patches import Circle, FancyBboxPatch
from torch import Tensor

from attnbook.checks import check_size
from attnbook.colours import INK, PAPER, SHADE, SOFT
from attnbook.figures.canvas import arrow, bare, canvas, text_colour
from attnbook.figures.grids import MASK, checked, draw_kinds, draw_legend

__all__ = ["plot_transformer", "plot_which_mask"]

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
        draw_legend(axes, MASK, loc="upper left", bbox_to_anchor=(0.04, 0.97))


def plot_transformer(
    n_source: int, n_target: int, d_model: int, n_heads: int, d_ff: int, n_layers: int, n_words: int
) -> None:
    """Draw the whole Transformer with a shape on every arrow, for one pair of sentences.

    The encoder stands on the left, the decoder on the right, both from bottom to top. Each part has
    a way around it. The encoder's last rows are keys and values in every layer of the decoder.

    Raises:  ValueError if a size is not positive
    """
    for name, size in (
        ("n_source", n_source), ("n_target", n_target), ("d_model", d_model), ("d_ff", d_ff),
        ("n_heads", n_heads), ("n_layers", n_layers), ("n_words", n_words),
    ):  # fmt: skip
        check_size(name, size)
    read, written = f"({n_source}, {d_model})", f"({n_target}, {d_model})"
    small = f"feed-forward\n{d_model} → {d_ff} → {d_model}"

    def looks(what: str, queries: int, keys: int) -> str:
        return f"{what}\nweights ({n_heads}, {queries}, {keys})"

    with canvas(5.9, 8.3) as figure:
        axes = figure.subplots()
        bare(axes)
        axes.set_xlim(0, 5.9)
        axes.set_ylim(0, 8.3)
        encoder = [looks("self-attention", n_source, n_source), small]
        decoder = [looks("masked self-attention", n_target, n_target)]
        decoder += [looks("cross-attention", n_target, n_source), small]
        top = _tower(axes, 1.55, f"source\n({n_source})", read, encoder, f"{n_layers} ×", -1)
        end = _tower(
            axes, 4.1, f"target so far\n({n_target})", written, decoder, f"{n_layers} ×", 1
        )
        key, cross = text_colour("key"), TOWER + STEP
        axes.plot([1.55, 1.55, 2.8, 2.8], [top, top + 0.3, top + 0.3, cross - 0.16], color=key)
        arrow(axes, (2.8, cross - 0.16), (4.1 - HALF, cross - 0.16), color=key)
        axes.text(1.55, top + 0.36, f"Z {read}: keys and values\nof every layer", color=key,
                  ha="center", va="bottom", fontsize=8.5)  # fmt: skip
        _up(axes, 4.1, end, end + 0.43, written)
        _part(axes, (4.1, end + 0.65), f"linear\n{d_model} → {n_words}")
        _up(axes, 4.1, end + 0.87, end + 1.3, f"({n_target}, {n_words})")
        axes.text(4.1, end + 1.32, "scores of the next words", ha="center", va="bottom", fontsize=9)


TOWER, STEP, HALF = 2.62, 1.5, 0.78  # where the layers begin, the height of a part, half its width


def _tower(
    axes: Axes, x: float, words: str, rows: str, parts: Sequence[str], times: str, side: int
) -> float:
    """An encoder or decoder from its words up to its rows; where it ends."""
    axes.text(x, 0.2, words, ha="center", va="center", fontsize=9)
    _up(axes, x, 0.42, 0.7, "")
    _part(axes, (x, 0.92), r"table, times $\sqrt{D}$")
    _up(axes, x, 1.14, 1.48, rows, side)
    _plus(axes, (x, 1.6))
    axes.text(x - side * 0.2, 1.6, "positions", ha="left" if side < 0 else "right", va="center",
              fontsize=8.5)  # fmt: skip
    low, high = TOWER - 0.72, TOWER + STEP * len(parts) - 0.47
    frame = FancyBboxPatch((x - 1.08, low), 2.16, high - low, "round,pad=0,rounding_size=0.1")
    frame.set(facecolor=SHADE, edgecolor=SOFT, linewidth=0.8)
    axes.add_patch(frame)
    axes.text(x + side * 1.16, (low + high) / 2, times, fontsize=13, va="center",
              ha="right" if side < 0 else "left")  # fmt: skip
    start = 1.72
    for i, part in enumerate(parts):
        y = TOWER + STEP * i
        _up(axes, x, start, y - 0.24, rows, side)
        _part(axes, (x, y), part)
        _up(axes, x, y + 0.23, y + 0.42, rows, side)
        _plus(axes, (x, y + 0.54))
        turn, around = y - 0.42, x + side * 0.95
        axes.plot([x, around, around], [turn, turn, y + 0.54], color=INK, linewidth=1)
        arrow(axes, (around, y + 0.54), (x + side * 0.13, y + 0.54), color=INK)
        _part(axes, (x, y + 0.82), "norm", high=0.24)
        axes.plot([x, x], [y + 0.66, y + 0.7], color=SOFT, linewidth=1)
        start = y + 0.94
    return start


def _part(axes: Axes, middle: tuple[float, float], what: str, high: float = 0.44) -> None:
    """A part that computes, as a box with its name."""
    x, y = middle
    box = FancyBboxPatch((x - HALF, y - high / 2), 2 * HALF, high, "round,pad=0,rounding_size=0.06")
    box.set(facecolor=PAPER, edgecolor=INK, linewidth=1)
    axes.add_patch(box)
    axes.text(x, y, what, ha="center", va="center", fontsize=9.5)


def _plus(axes: Axes, middle: tuple[float, float]) -> None:
    """The place where two ways are added."""
    axes.add_patch(Circle(middle, 0.12, facecolor=PAPER, edgecolor=INK, linewidth=1))
    axes.text(*middle, "+", ha="center", va="center")


def _up(axes: Axes, x: float, start: float, end: float, rows: str, side: int = -1) -> None:
    """An arrow upwards with the shape of what it carries, on the other side than the way around."""
    arrow(axes, (x, start), (x, end))
    axes.text(x - side * 0.07, (start + end) / 2, rows, va="center", fontsize=9, color=SOFT,
              ha="left" if side < 0 else "right")  # fmt: skip


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
    draw_kinds(axes, mask, MASK, corner, CELL)
    x, ha = (right + 0.07, "left") if queries_right else (left - 0.07, "right")
    for i, word in enumerate(queries):
        y = top + CELL * (i + 0.5)
        axes.text(x, y, word, ha=ha, va="center", fontsize=8.5, color=text_colour("query"))
    for j, word in enumerate(keys):
        place = (left + CELL * (j + 0.65), bottom + 0.06)
        axes.text(*place, word, fontsize=8.5, color=text_colour("key"), ha="right", va="top",
                  rotation=40, rotation_mode="anchor")  # fmt: skip
    axes.text(left, top - 0.12, heading, va="bottom", fontweight="bold", color=INK)
