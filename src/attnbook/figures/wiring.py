"""Diagrams of the Transformer: its residual stream, and its parts with their shapes."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.patches import Circle

from attnbook.colors import INK, PAPER, SHADE, SOFT
from attnbook.figures.canvas import SMALL, WIDE, Point, arrow, drawing, rounded, text_color, write

__all__ = ["plot_residual_stream", "plot_transformer"]


def plot_residual_stream(tokens: Sequence[str], n_layers: int) -> None:
    """Draw one residual stream per token, and a framed layer that reads from it and adds to it.

    The layer normalizes the input of each sublayer. Attention is one box that crosses all streams;
    the feed-forward network is a box for each token.
    """
    streams = [0.75 + APART * i for i in range(len(tokens))]
    first, last = streams[0] + ASIDE, streams[-1] + ASIDE
    width = last + NARROW + 0.62
    with drawing(width, 5.5, (0, width), (0, 5.5)) as axes:
        rounded(axes, (0.14, 0.85), last + NARROW, 3.75, 0.1, fc=SHADE, ec=SOFT, lw=0.8)
        write(axes, width - 0.02, 2.72, f"{n_layers} ×", ha="right", fontsize=13)
        _long_part(axes, first, last, ATTENTION)
        for x, token in zip(streams, tokens, strict=True):
            write(axes, x, 0.1, f"embedding of\n{token}", fontsize=SMALL, va="bottom")
            write(axes, x, 5.17, "output", fontsize=SMALL, va="bottom")
            if x > first:  # the stream crosses in front of the attention box
                axes.plot([x - 0.22, x + 0.16], [ATTENTION] * 2, color=INK, linewidth=1)
                arrow(axes, (x - 0.15, ATTENTION), (x - 0.3, ATTENTION), color=INK)
                arrow(axes, (x + 0.1, ATTENTION), (x + 0.24, ATTENTION), color=INK)
                axes.plot([x, x], [ATTENTION - 0.19, ATTENTION + 0.19], color=PAPER, linewidth=8)
            _read_and_add(axes, x, ATTENTION, "attention")
            _long_part(axes, x + ASIDE, x + ASIDE, FEED_FORWARD)
            _read_and_add(axes, x, FEED_FORWARD, "feed-forward")
            for low, high in ((0.52, 2.34), (2.58, 4.19), (4.43, 5.0)):
                axes.plot([x, x], [low, high], color=INK, linewidth=2.5)
            arrow(axes, (x, 4.8), (x, 5.14), color=INK, lw=2)
        for part in (ATTENTION, FEED_FORWARD):
            write(axes, streams[0] - 0.1, part - 0.88, "reads", ha="right", fontsize=SMALL)
            write(axes, streams[0] - 0.16, part + 0.46, "adds", ha="right", fontsize=SMALL)


# the distance between streams, the distance from a stream to its parts, half the width of a part
APART, ASIDE, NARROW = 1.42, 0.68, 0.44
ATTENTION, FEED_FORWARD = 2.0, 3.85  # y-coordinates of the centers of these parts


def _long_part(axes: Axes, first: float, last: float, y: float) -> None:
    """Draw the box of a part from the first to the last token that the part works on."""
    size = (last - first + 2 * NARROW, 0.34)
    rounded(axes, (first - NARROW, y - 0.17), *size, 0.06, fc=PAPER, ec=INK, lw=1)


def _read_and_add(axes: Axes, x: float, y: float, name: str) -> None:
    """Draw the path from a stream through a norm to a sublayer, and back to the next sum."""
    aside, low, high = x + ASIDE, y - 0.88, y + 0.46
    axes.plot([x, aside, aside], [low, low, y - 0.66], color=SOFT, linewidth=1)
    rounded(axes, (aside - NARROW, y - 0.66), 2 * NARROW, 0.24, 0.06, fc=PAPER, ec=INK, lw=1)
    write(axes, aside, y - 0.54, "norm", fontsize=SMALL)
    arrow(axes, (aside, y - 0.42), (aside, y - 0.17))
    write(axes, aside, y, name, fontsize=SMALL)
    axes.plot([aside, aside], [y + 0.17, high], color=SOFT, linewidth=1)
    arrow(axes, (aside, high), (x + 0.12, high))
    _plus(axes, (x, high))


def plot_transformer(
    n_source: int, n_target: int, d_model: int, n_heads: int, d_ff: int, n_layers: int, n_words: int
) -> None:
    """Draw the whole Transformer with a shape on every arrow, for one pair of sentences.

    The encoder is on the left, the decoder on the right, and both run from bottom to top. Each
    sublayer has a residual connection. Every decoder layer takes its keys and values from the
    encoder output Z.
    """
    source_shape, target_shape = f"({n_source}, {d_model})", f"({n_target}, {d_model})"
    feed_forward = f"feed-forward\n{d_model} → {d_ff} → {d_model}"

    def attention(name: str, queries: int, keys: int) -> str:
        return f"{name}\nweights ({n_heads}, {queries}, {keys})"

    with drawing(WIDE, 8.3, (0.06, 5.66), (0, 8.3)) as axes:
        encoder = [attention("self-attention", n_source, n_source), feed_forward]
        decoder = [attention("masked self-attention", n_target, n_target)]
        decoder += [attention("cross-attention", n_target, n_source), feed_forward]
        times = f"{n_layers} ×"
        top = _stack(axes, 1.55, f"source\n({n_source})", source_shape, encoder, times, -1)
        end = _stack(axes, 4.1, f"target so far\n({n_target})", target_shape, decoder, times, 1)
        key, cross = text_color("key"), STACK + STEP
        axes.plot([1.55, 1.55, 2.8, 2.8], [top, top + 0.3, top + 0.3, cross - 0.16], color=key)
        arrow(axes, (2.8, cross - 0.16), (4.1 - HALF, cross - 0.16), color=key)
        label = f"Z {source_shape}: keys and values\nof every layer"
        write(axes, 1.55, top + 0.36, label, "key", va="bottom", fontsize=SMALL)
        _up(axes, 4.1, end, end + 0.43, target_shape)
        _part(axes, (4.1, end + 0.65), f"linear\n{d_model} → {n_words}")
        _up(axes, 4.1, end + 0.87, end + 1.3, f"({n_target}, {n_words})")
        write(axes, 4.1, end + 1.32, "logits of the next words", va="bottom", fontsize=SMALL)


# the y-coordinate of the first part, the distance between parts, half the width of a part
STACK, STEP, HALF = 2.62, 1.5, 0.78


def _stack(
    axes: Axes, x: float, words: str, rows: str, parts: Sequence[str], times: str, side: int
) -> float:
    """Draw an encoder or decoder stack from its words up to its output; return the y of its top."""
    write(axes, x, 0.2, words, fontsize=SMALL)
    _up(axes, x, 0.42, 0.7, "")
    _part(axes, (x, 0.92), r"embedding, times $\sqrt{D}$")
    _up(axes, x, 1.14, 1.48, rows, side)
    _plus(axes, (x, 1.6))
    inside, outside = ("left", "right") if side < 0 else ("right", "left")
    write(axes, x - side * 0.2, 1.6, "positions", ha=inside, fontsize=SMALL)
    low, high = STACK - 0.72, STACK + STEP * len(parts) - 0.47
    rounded(axes, (x - 1.08, low), 2.16, high - low, 0.1, fc=SHADE, ec=SOFT, lw=0.8)
    write(axes, x + side * 1.16, (low + high) / 2, times, ha=outside, fontsize=13)
    start = 1.72
    for i, part in enumerate(parts):
        y = STACK + STEP * i
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


def _part(axes: Axes, middle: Point, name: str, high: float = 0.44) -> None:
    """Draw a part of a layer as a box with its name."""
    x, y = middle
    corner = (x - HALF, y - high / 2)
    rounded(axes, corner, 2 * HALF, high, 0.06, fc=PAPER, ec=INK, lw=1)
    write(axes, x, y, name, fontsize=SMALL)


def _plus(axes: Axes, middle: Point) -> None:
    """Draw the addition of a residual connection."""
    axes.add_patch(Circle(middle, 0.12, facecolor=PAPER, edgecolor=INK, linewidth=1))
    write(axes, *middle, "+")


def _up(axes: Axes, x: float, start: float, end: float, rows: str, side: int = -1) -> None:
    """Draw an upward arrow, labeled with a shape on the side without the residual connection."""
    arrow(axes, (x, start), (x, end))
    inside = "left" if side < 0 else "right"
    write(axes, x - side * 0.07, (start + end) / 2, rows, ha=inside, fontsize=SMALL, color=SOFT)
