"""A stack of layers whose residual connections and norms can be switched on and off."""

from collections.abc import Sequence

from torch import Tensor

from attnbook.language import _
from attnbook.widgets.element import check_shape, show_element

__all__ = ["explore_depth"]

SHOWN = 8  # columns of each row
LEVELS = 12  # levels above the middle of a cell, and the same number below


def explore_depth(rows: Tensor, reaches: Tensor, words: Sequence[str]) -> None:
    """Let the reader choose the depth, residual connections and norms of an untrained stack.

    Both tensors begin with the axes of the choices: residual connection (with, without), norm
    (none, after each sum, before each sublayer), layers 0, 1, 2, …

    rows: the rows at the top of the stack; reaches: the norm of the gradient at the bottom
    Shapes:  rows (2, 3, N + 1, L, D), reaches (2, 3, N + 1), words L
    Raises:  ValueError if a shape does not fit
    """
    with_or_without = (_("with"), _("without"))  # residual connections
    norms = (_("none"), _("after"), _("before"))
    choices = (len(with_or_without), len(norms), rows.size(2))
    check_shape("rows", rows, (*choices, len(words), rows.size(-1)))
    check_shape("reaches", reaches, choices)
    spread = (rows - rows.mean(-2, keepdim=True)).norm(dim=(-2, -1)) / rows.norm(dim=(-2, -1))
    deepest = choices[-1] - 1
    data = {
        "labels": list(words),
        "rows": [[_heights(stack) for stack in with_norms] for with_norms in rows],
        "reaches": [
            [[f"{x:.1e}" for x in stack] for stack in by_norm] for by_norm in reaches.tolist()
        ],
        "differences": [[[round(x, 2) for x in s] for s in by_norm] for by_norm in spread.tolist()],
        "start": [1, 0, deepest // 4],
        "words": {
            "name": _("A stack of untrained layers"),
            "try": _("Add layers, first without residual connections, then with them."),
            "residual": _("residual connections"),
            "yes_no": with_or_without,
            "norm": _("norm"),
            "norms": norms,
            "depth": _("layers"),
            "reach": _("gradient that reaches the bottom"),
            "top": _("rows at the top: first numbers"),
            "said": _(
                "{reach} of the gradient reaches the bottom of {depth} layers. The rows at the "
                "top differ by {difference} of their norm: {alike}."
            ),
            "alike": _("they are nearly the same"),
            "apart": _("they can be told apart"),
        },
    }
    head = [
        _("residual, norm"),
        _("gradient below {n} layers").format(n=deepest),
        _("rows differ by"),
    ]
    table = [
        [f"{residual}, {norm}", f"{reaches[i, j, -1]:.0e}", f"{spread[i, j, -1]:.2f}"]
        for i, residual in enumerate(with_or_without)
        for j, norm in enumerate(norms)
    ]
    show_element("attn-depth", data, head, table)


def _heights(stack: Tensor) -> list[str]:
    """The first columns of each matrix (L, D), one letter per number.

    The number with the largest magnitude gets "a" if it is negative, and "y" if it is positive.
    """
    tables = stack[..., :SHOWN]
    scaled = tables / tables.abs().amax(dim=(-2, -1), keepdim=True)
    levels = (LEVELS * scaled).round().long() + LEVELS + ord("a")
    return ["".join(map(chr, table)) for table in levels.flatten(-2).tolist()]
