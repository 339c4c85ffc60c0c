"""The pictures of chapter 6: who may look at whom, and which outputs a word really moves."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from matplotlib.axes import Axes
from matplotlib.patches import Patch, Rectangle
from torch import Tensor

from attnbook.checks import check_tensor
from attnbook.figures.canvas import INK, SOFT, canvas, fill_colour, text_colour

Kind = tuple[str, dict[str, Any], str]  # what a cell says, its look, a sign in its middle

MAY_LOOK: Kind = ("may look", {"facecolor": fill_colour("weights")}, "")
MAY_NOT: Kind = ("may not look", {"facecolor": "#F2F2F2", "hatch": "///"}, "")
MOVED: Kind = ("moved", {"facecolor": fill_colour("weights")}, "")
UNMOVED: Kind = ("did not move", {"facecolor": "#FFFFFF"}, "")
LEAK: Kind = ("moved, and must not", {"facecolor": INK}, "×")


def plot_masks(
    masks: Mapping[str, Tensor], queries: Sequence[str], keys: Sequence[str] | None = None
) -> None:
    """Draw one to three masks side by side: full where a query may look, hatched where not.

    Shapes:  each mask (Lq, Lk), boolean, True = may look; queries Lq labels, keys Lk labels
             (default queries)
    Raises:  TypeError, ValueError if there are none or too many, or one is not boolean or does
             not fit
    """
    keys = queries if keys is None else keys
    grids = {
        name: [[MAY_LOOK if allowed else MAY_NOT for allowed in row] for row in x.tolist()]
        for name, x in _checked("mask", masks, len(queries), len(keys)).items()
    }
    _draw(
        grids, queries, keys, (MAY_LOOK, MAY_NOT),
        "query: who looks", "key: what is looked at", ("query", "key"),
    )  # fmt: skip


def plot_leaks(moved: Mapping[str, Tensor], allowed: Tensor, words: Sequence[str]) -> None:
    """Draw which outputs moved when a word was changed, and mark where they must not have.

    Shapes:  each map (L, L), boolean, True where output i moved with word j; allowed (L, L),
             boolean, True where it may; words L labels
    Raises:  TypeError, ValueError if there are none or too many maps, or one is not boolean or
             does not fit
    """
    size = len(words)
    allow = _checked("mask", {"allowed": allowed}, size, size)["allowed"]
    grids = {
        name: [
            [(MOVED if ok else LEAK) if hit else UNMOVED for hit, ok in zip(*pair, strict=True)]
            for pair in zip(x.tolist(), allow.tolist(), strict=True)
        ]
        for name, x in _checked("map", moved, size, size).items()
    }
    _draw(
        grids, words, words, (MOVED, UNMOVED, LEAK),
        "output of this word", "word that was changed", (None, None),
    )  # fmt: skip


def _checked(
    what: str, given: Mapping[str, Tensor], n_rows: int, n_columns: int
) -> dict[str, Tensor]:
    """The maps on the CPU, each boolean and of the size of its labels."""
    if not 1 <= len(given) <= 3:
        raise ValueError(f"{len(given)} {what}s: one to three are drawn side by side")
    for name, x in given.items():
        check_tensor(f"{what} {name!r}", x)
        if x.dtype != torch.bool:
            raise ValueError(f"{what} {name!r} has dtype {x.dtype}: it must be boolean")
        if tuple(x.shape) != (n_rows, n_columns):
            raise ValueError(
                f"{what} {name!r} has shape {tuple(x.shape)} but there are {n_rows} row labels "
                f"and {n_columns} column labels"
            )
    return {name: x.detach().cpu() for name, x in given.items()}


def _draw(
    grids: Mapping[str, list[list[Kind]]],
    rows: Sequence[str],
    columns: Sequence[str],
    kinds: Sequence[Kind],
    ylabel: str,
    xlabel: str,
    roles: tuple[str | None, str | None],
) -> None:
    """One panel of cells for each grid, row 0 on top, and below them what the cells say."""
    cell = min(0.36, 5.2 / (len(grids) * len(columns)))
    width = max(1.2 + len(grids) * (cell * len(columns) + 0.25), 3.2)
    lines = len(kinds) if len(grids) == 1 else 1
    with canvas(width, cell * len(rows) + 1.6 + 0.2 * lines) as figure:
        panels = figure.subplots(1, len(grids), squeeze=False, sharey=True)[0]
        for axes, (name, grid) in zip(panels, grids.items(), strict=True):
            _panel(axes, grid, rows, columns)
            axes.set_title(name)
            axes.set_xlabel(xlabel, color=text_colour(roles[1]), fontsize=9)
        panels[0].set_ylabel(ylabel, color=text_colour(roles[0]), fontsize=9)
        figure.legend(
            handles=[Patch(edgecolor=SOFT, linewidth=0.6, **look) for _, look, _ in kinds],
            labels=[f"{text} ({sign})" if sign else text for text, _, sign in kinds],
            loc="outside lower center", ncols=len(kinds) // lines, fontsize=9, handlelength=1.4,
        )  # fmt: skip


def _panel(axes: Axes, grid: list[list[Kind]], rows: Sequence[str], columns: Sequence[str]) -> None:
    for i, row in enumerate(grid):
        for j, (_, look, sign) in enumerate(row):
            axes.add_patch(Rectangle((j, i), 1, 1, edgecolor=SOFT, linewidth=0.6, **look))
            if sign:
                axes.text(j + 0.5, i + 0.5, sign, ha="center", va="center", color="#FFFFFF")
    axes.set_xlim(0, len(columns))
    axes.set_ylim(len(rows), 0)
    axes.set_aspect("equal")
    axes.xaxis.tick_top()
    axes.xaxis.set_label_position("bottom")
    axes.set_xticks([j + 0.5 for j in range(len(columns))], columns, rotation=40, ha="left")
    axes.set_yticks([i + 0.5 for i in range(len(rows))], rows)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
