"""Grids of cells that say yes or no, and small images cut into patches."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle
from torch import Tensor

from attnbook.checks import check_tensor
from attnbook.colours import INK, MARKED, PAPER, RULE, SHADE, SOFT
from attnbook.figures.canvas import bare, canvas, numbers, side_by_side, text_colour
from attnbook.figures.maps import WEIGHTS, check_range, draw_cells, fit, label_cells, short

__all__ = ["plot_leaks", "plot_masks", "plot_patches"]

Kind = tuple[str, dict[str, Any], str]  # what a cell says, its look, a sign in its middle

MASK: Sequence[Kind] = (
    ("may not look", {"facecolor": SHADE, "hatch": "///"}, ""),
    ("may look", {"facecolor": MARKED}, ""),
)
LEAK: Sequence[Kind] = (
    ("did not move", {"facecolor": PAPER}, ""),
    ("moved", {"facecolor": MARKED}, ""),
    ("moved, and must not", {"facecolor": INK}, "×"),
)


def plot_masks(masks: Mapping[str, Tensor], words: Sequence[str]) -> None:
    """Draw one to three masks side by side: full where a query may look, hatched where not.

    Shapes:  each mask (L, L), boolean, True = may look; words L labels
    Raises:  TypeError, ValueError if a mask is not boolean, too many, or of another size
    """
    names = (("query: who looks", "query"), ("key: what is looked at", "key"))
    _draw(checked(masks, len(words), len(words)), words, MASK, names)


def plot_leaks(moved: Mapping[str, Tensor], allowed: Tensor, words: Sequence[str]) -> None:
    """Draw which outputs moved when a word was changed, and mark where they must not have.

    Shapes:  each map (L, L), boolean, True where output i moved with word j; allowed (L, L),
             boolean, True where it may; words L labels
    Raises:  TypeError, ValueError if a map is not boolean, too many, or of another size
    """
    size = len(words)
    may = checked({"allowed": allowed}, size, size)["allowed"]
    kinds = {name: hit * (2 - may) for name, hit in checked(moved, size, size).items()}
    names = (("output of this word", None), ("word that was changed", None))
    _draw(kinds, words, LEAK, names)


def plot_patches(panels: Mapping[str, Tensor]) -> None:
    """Draw up to five grids of patches side by side, each under its name.

    A colour picture is drawn as it is. A map of weights is drawn from white, 0, to dark, 1, with
    the tenths written in: .4 for 0.4, and nothing for 0.

    Shapes:  each (rows, columns, 3) for red, green, blue, or (rows, columns) for weights; 0 to 1
    Raises:  ValueError if there are none or too many, or shapes or values do not fit
    """
    if not 1 <= len(panels) <= 5:
        raise ValueError(f"{len(panels)} panels: plot_patches draws 1 to 5")
    grids = {name: numbers(name, x) for name, x in panels.items()}
    for name, x in grids.items():
        if x.dim() < 2 or x.shape[2:] not in ((), (3,)):
            raise ValueError(f"{name} has shape {tuple(x.shape)}: draw (rows, columns[, 3])")
        check_range(name, x, 0, 1)
    width = min(1.7, 6.4 / len(panels))
    with canvas(width * len(panels), width + 0.35) as figure:
        for axes, (name, x) in zip(side_by_side(figure, len(grids)), grids.items(), strict=True):
            bare(axes)
            write = partial(short, digits=1) if x.dim() == 2 else None
            draw_cells(axes, x, WEIGHTS, edge=RULE, fontsize=6.5, write=write)
            axes.set_xlim(-0.1, x.size(1) + 0.1)
            axes.set_ylim(x.size(0) + 0.1, -0.1)
            axes.set_title(name, fontsize=9)


def checked(given: Mapping[str, Tensor], n_rows: int, n_columns: int) -> dict[str, Tensor]:
    """The grids on the CPU as 0 and 1, each boolean and of the size of its labels."""
    if not 1 <= len(given) <= 3:
        raise ValueError(f"{len(given)} grids: 1 to 3 are drawn side by side")
    for name, x in given.items():
        check_tensor(name, x)
        if x.dtype != torch.bool:
            raise ValueError(f"{name} has dtype {x.dtype}: it must be boolean")
    return {name: numbers(name, x, n_rows, n_columns) for name, x in given.items()}


def draw_kinds(
    axes: Axes,
    grid: Tensor,
    kinds: Sequence[Kind],
    corner: tuple[float, float] = (0, 0),
    side: float = 1.0,
) -> None:
    """One cell for each number of a kind, with its look and its sign."""
    for i, row in enumerate(grid.int().tolist()):
        for j, kind in enumerate(row):
            _, look, sign = kinds[kind]
            x, y = corner[0] + side * j, corner[1] + side * i
            axes.add_patch(Rectangle((x, y), side, side, edgecolor=SOFT, linewidth=0.6, **look))
            axes.text(x + side / 2, y + side / 2, sign, ha="center", va="center", color=PAPER)


def draw_legend(where: Axes | Figure, kinds: Sequence[Kind], **look: Any) -> None:
    """What the kinds of cells say."""
    where.legend(
        handles=[Patch(edgecolor=SOFT, linewidth=0.6, **kind[1]) for kind in reversed(kinds)],
        labels=[f"{text} {sign}".strip() for text, _, sign in reversed(kinds)],
        fontsize=9, handlelength=1.4, **look,
    )  # fmt: skip


def _draw(
    grids: Mapping[str, Tensor],
    words: Sequence[str],
    kinds: Sequence[Kind],
    names: Sequence[tuple[str, str | None]],
) -> None:
    """One panel for each grid of numbers of kinds, and below them what the kinds say."""
    _, width, height = fit(words, words, len(grids), most=0.36)
    (ylabel, rows_are), (xlabel, columns_are) = names
    with canvas(max(width, 4.4), height + 0.6) as figure:
        panels = side_by_side(figure, len(grids))
        for axes, (title, grid) in zip(panels, grids.items(), strict=True):
            draw_kinds(axes, grid, kinds)
            label_cells(axes, words, words)
            axes.set_title(title)
            axes.xaxis.set_label_position("bottom")
            axes.set_xlabel(xlabel, color=text_colour(columns_are))
        panels[0].set_ylabel(ylabel, color=text_colour(rows_are))
        draw_legend(figure, kinds, loc="outside lower center", ncols=len(kinds))
