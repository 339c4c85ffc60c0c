"""Grids of boolean cells, such as masks, and small images cut into patches."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle
from torch import Tensor

from attnbook.colors import INK, MARKED, PAPER, RULE, SHADE, SOFT
from attnbook.figures.canvas import (
    SMALL,
    WIDE,
    bare,
    canvas,
    numbers,
    readable_on,
    side_by_side,
    text_color,
    write,
)
from attnbook.figures.heatmaps import (
    LINE,
    WEIGHTS,
    check_range,
    draw_cells,
    fit,
    label_cells,
    short,
)

__all__ = ["plot_leaks", "plot_masks", "plot_patches"]

Kind = tuple[str, dict[str, Any], str]  # label in the legend, style, sign in the cell

MASK: Sequence[Kind] = (
    ("may not look", {"facecolor": SHADE, "hatch": "///"}, ""),
    ("may look", {"facecolor": MARKED}, ""),
)
LEAK: Sequence[Kind] = (
    ("unchanged", {"facecolor": PAPER}, ""),
    ("changed", {"facecolor": MARKED}, ""),
    ("changed, but must not", {"facecolor": INK}, "×"),
    ("unchanged, but should change", {"facecolor": SHADE}, "○"),
)


def plot_masks(masks: Mapping[str, Tensor], words: Sequence[str]) -> None:
    """Draw masks side by side: filled where a query may attend, hatched elsewhere.

    Shapes:  each mask (L, L), boolean, True = may attend; words L labels
    Raises:  ValueError if a mask is not boolean or has another size
    """
    names = (("query: attends", "query"), ("key: attended to", "key"))
    size = len(words), len(words)
    _draw({name: yes_no(name, mask, *size) for name, mask in masks.items()}, words, MASK, names)


def plot_leaks(moved: Mapping[str, Tensor], allowed: Tensor, words: Sequence[str]) -> None:
    """Draw which outputs changed when a word was replaced.

    Those that must not change are marked, and so are those that should and did not.

    Shapes:  each map (L, L), boolean, True where output i changed with word j; allowed (L, L),
             boolean, True where it should change; words L labels
    Raises:  ValueError if a map is not boolean or has another size
    """
    size = len(words), len(words)
    should = yes_no("allowed", allowed, *size).bool()
    kinds = {}
    for name, x in moved.items():
        changed = yes_no(name, x, *size)
        kinds[name] = torch.where(should, 3 - 2 * changed, 2 * changed)
    names = (("output", None), ("replaced word", None))
    _draw(kinds, words, LEAK, names)


def plot_patches(panels: Mapping[str, Tensor]) -> None:
    """Draw grids of patches side by side, each under its name.

    A color picture is drawn as it is. Attention weights are drawn from white (0) to dark (1), with
    one decimal written in the cells: .4 for 0.4, and nothing if it rounds to 0.

    Shapes:  each (rows, columns, 3) for red, green, blue, or (rows, columns) for weights; 0 to 1
    Raises:  ValueError if a value is not between 0 and 1
    """
    grids = {name: numbers(name, x) for name, x in panels.items()}
    for name, x in grids.items():
        check_range(name, x, 0)
    width = min(1.7, WIDE / len(panels))
    with canvas(width * len(panels), width + 0.35) as figure:
        for axes, (name, x) in zip(side_by_side(figure, len(grids)), grids.items(), strict=True):
            bare(axes, (-0.1, x.size(1) + 0.1), (x.size(0) + 0.1, -0.1))
            tenths = partial(short, digits=1) if x.dim() == 2 else None
            draw_cells(axes, x, WEIGHTS, edge=RULE, form=tenths)
            axes.set_title(name)


def yes_no(name: str, x: Tensor, n_rows: int, n_columns: int) -> Tensor:
    """A boolean grid as 0s and 1s on the CPU.

    Raises:  ValueError if it is not boolean or has another size
    """
    if x.dtype != torch.bool:
        raise ValueError(f"{name} has dtype {x.dtype}: it must be boolean")
    return numbers(name, x, n_rows, n_columns)


def draw_kinds(axes: Axes, grid: Tensor, kinds: Sequence[Kind]) -> None:
    """Draw one cell for each number (the index of a kind) with the style and sign of the kind."""
    for i, row in enumerate(grid.int().tolist()):
        for j, kind in enumerate(row):
            _, style, sign = kinds[kind]
            axes.add_patch(Rectangle((j, i), 1, 1, edgecolor=SOFT, linewidth=0.6, **style))
            write(axes, j + 0.5, i + 0.5, sign, color=readable_on(style["facecolor"]))


def draw_legend(where: Axes | Figure, kinds: Sequence[Kind], **style: Any) -> None:
    """Draw the legend of the kinds of cells."""
    where.legend(
        handles=[Patch(edgecolor=SOFT, linewidth=0.6, **kind[1]) for kind in reversed(kinds)],
        labels=[f"{text} {sign}".strip() for text, _, sign in reversed(kinds)],
        fontsize=SMALL, handlelength=1.4, **style,
    )  # fmt: skip


def _draw(
    grids: Mapping[str, Tensor],
    words: Sequence[str],
    kinds: Sequence[Kind],
    names: Sequence[tuple[str, str | None]],
) -> None:
    """Draw one panel for each grid, and the legend of the kinds below the panels."""
    cell, across, width, height = fit(words, words, len(grids), most=0.36, least=LINE)
    (ylabel, rows_are), (xlabel, columns_are) = names
    with canvas(max(width, 4.4), height + 0.4 + 0.1 * len(kinds)) as figure:
        panels = side_by_side(figure, len(grids), across)
        for axes, (title, grid) in zip(panels, grids.items(), strict=True):
            draw_kinds(axes, grid, kinds)
            label_cells(axes, words, words, cell)
            axes.set_title(title)
            axes.xaxis.set_label_position("bottom")
            axes.set_xlabel(xlabel, color=text_color(columns_are))
        for axes in panels[::across]:
            axes.set_ylabel(ylabel, color=text_color(rows_are))
        draw_legend(figure, kinds, loc="outside lower center", ncols=2)
