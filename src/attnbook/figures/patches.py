"""The pictures of chapter 5: small images cut into patches, and which patch looks at which word."""

from collections.abc import Mapping

import torch
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from torch import Tensor

from attnbook.checks import check_float_tensor
from attnbook.figures.canvas import RULE, WEIGHTS, bare, canvas, readable_on


def plot_patches(panels: Mapping[str, Tensor]) -> None:
    """Draw up to five grids of patches side by side, each under its name.

    A colour picture is drawn as it is. A map of weights is drawn from white, 0, to dark, 1, with
    the tenths written in: .4 for 0.4, and nothing for 0.

    Shapes:  each (rows, columns, 3) for red, green, blue, or (rows, columns) for weights; 0 to 1
    Raises:  TypeError, ValueError if there are none or too many, or shapes or values do not fit
    """
    if not 1 <= len(panels) <= 5:
        raise ValueError(f"{len(panels)} panels: plot_patches draws 1 to 5")
    for name, x in panels.items():
        check_float_tensor(f"panel {name!r}", x)
        if x.dim() not in (2, 3) or (x.dim() == 3 and x.size(-1) != 3):
            raise ValueError(
                f"panel {name!r} has shape {tuple(x.shape)}: it must be (rows, columns) or "
                "(rows, columns, 3)"
            )
        if not -1e-6 <= x.min() <= x.max() <= 1 + 1e-6:
            raise ValueError(
                f"panel {name!r} lies between {x.min():.4g} and {x.max():.4g}: "
                "it must be between 0 and 1"
            )
    width = min(1.7, 6.4 / len(panels))
    with canvas(width * len(panels), width + 0.35) as figure:
        grids = figure.subplots(1, len(panels), squeeze=False)[0]
        for axes, (name, x) in zip(grids, panels.items(), strict=True):
            _draw(axes, torch.round(x.detach().cpu().double(), decimals=2).clamp(0, 1) + 0.0)
            axes.set_title(name, fontsize=9)


def _draw(axes: Axes, x: Tensor) -> None:
    n_rows, n_columns = x.shape[:2]
    bare(axes)
    axes.set_xlim(-0.1, n_columns + 0.1)
    axes.set_ylim(n_rows + 0.1, -0.1)
    for i in range(n_rows):
        for j in range(n_columns):
            colour = tuple(x[i, j].tolist()) if x.dim() == 3 else WEIGHTS(x[i, j].item())
            axes.add_patch(Rectangle((j, i), 1, 1, facecolor=colour, edgecolor=RULE, linewidth=0.5))
            tenth = round(x[i, j].item(), 1) if x.dim() == 2 else 0.0
            if tenth:
                axes.text(
                    j + 0.5, i + 0.5, "1" if tenth == 1 else f".{tenth * 10:.0f}", fontsize=6.5,
                    ha="center", va="center", color=readable_on(colour),
                )  # fmt: skip
