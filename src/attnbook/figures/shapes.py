"""Matrices drawn to scale, and the five steps of attention as a flow."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch, Rectangle

from attnbook.figures.canvas import INK, SOFT, bare, canvas, fill_colour, text_colour

Block = tuple[str, int, int, str | None]


def plot_shapes(*items: Block | str, title: str | None = None) -> None:
    """Draw matrices to scale, side by side: an item is (name, rows, columns, role) or a sign.

    Example: plot_shapes(("Q", 6, 24, "query"), "@", ("Kᵀ", 24, 6, "key"), "=", ("S", 6, 6, None))
    Raises:  ValueError if no matrix is given or a side is not positive
    """
    blocks = [item for item in items if not isinstance(item, str)]
    if not blocks:
        raise ValueError("plot_shapes needs at least one (name, rows, columns, role)")
    for name, n_rows, n_columns, _ in blocks:
        if n_rows < 1 or n_columns < 1:
            raise ValueError(f"{name} is {n_rows} x {n_columns}: both sides must be at least 1")
    tallest = max(block[1] for block in blocks)
    gap = 0.16 * max(tallest, max(block[2] for block in blocks))
    length = sum(block[2] for block in blocks) + gap * (len(items) + len(blocks) - 1)
    unit = min(0.16, 5.8 / length, 2.6 / tallest)
    with canvas(unit * length + 0.3, unit * tallest + 0.95) as figure:
        axes = figure.subplots()
        bare(axes)
        x = 0.0
        for item in items:
            if isinstance(item, str):
                axes.text(x + gap / 2, 0, item, ha="center", va="center", fontsize=13)
                x += gap * 1.5
            else:
                x = _draw_block(axes, item, x) + gap / 2
        axes.set_xlim(-gap / 2, x)
        axes.set_ylim(-tallest / 2 - 0.28 / unit, tallest / 2 + 0.28 / unit)
        if title:
            axes.set_title(title)


def _draw_block(axes: Axes, block: Block, x: float) -> float:
    name, n_rows, n_columns, role = block
    axes.add_patch(
        Rectangle(
            (x, -n_rows / 2),
            n_columns,
            n_rows,
            facecolor=fill_colour(role),
            alpha=0.30,
            edgecolor=fill_colour(role),
            linewidth=1.4,
        )
    )
    middle = x + n_columns / 2
    axes.annotate(
        name,
        (middle, n_rows / 2),
        (0, 4),
        textcoords="offset points",
        ha="center",
        va="bottom",
        fontweight="bold",
        color=text_colour(role),
    )
    axes.annotate(
        f"{n_rows} × {n_columns}",
        (middle, -n_rows / 2),
        (0, -4),
        textcoords="offset points",
        ha="center",
        va="top",
        fontsize=9,
        color=SOFT,
    )
    return x + n_columns


def plot_steps(steps: Sequence[tuple[str, str, str | None]], title: str | None = None) -> None:
    """Draw a flow from top to bottom: each step is (what happens, the shape it leaves, role).

    Raises:  ValueError if there is no step
    """
    if not steps:
        raise ValueError("plot_steps needs at least one step")
    with canvas(5.2, 0.62 * len(steps) + 0.2) as figure:
        axes = figure.subplots()
        axes.set_axis_off()
        axes.set_xlim(0, 10)
        axes.set_ylim(len(steps), 0)
        for i, (what, shape, role) in enumerate(steps):
            axes.add_patch(
                FancyBboxPatch(
                    (0.3, i + 0.18),
                    6.4,
                    0.6,
                    boxstyle="round,pad=0,rounding_size=0.18",
                    facecolor=(fill_colour(role), 0.18),
                    edgecolor=fill_colour(role),
                )
            )
            axes.text(3.5, i + 0.48, what, ha="center", va="center", color=INK)
            axes.text(
                7.1, i + 0.48, shape, ha="left", va="center", color=text_colour(role), fontsize=9.5
            )
            if i + 1 < len(steps):
                axes.annotate(
                    "",
                    (3.5, i + 1.18),
                    (3.5, i + 0.78),
                    arrowprops={"arrowstyle": "-|>", "color": SOFT, "lw": 1},
                )
        if title:
            axes.set_title(title)
