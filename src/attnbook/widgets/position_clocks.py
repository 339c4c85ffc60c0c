"""Sinusoidal positions as clock hands: two positions, compared hand by hand."""

from attnbook.language import _
from attnbook.positions.absolute import sinusoidal_encoding
from attnbook.widgets.element import show_element

__all__ = ["turn_clocks"]


def turn_clocks(length: int, d_model: int, start: int, step: int) -> None:
    """Let the reader move a position and a second one, `step` away from it, and compare the two.

    length: the number of positions; d_model: the width of an encoding, two numbers for each clock
    start: the first position
    """
    data = {
        "length": length,
        "width": d_model,
        "t": start,
        "step": step,
        "reach": 20,  # the largest step
        "words": {
            "name": _("Two positions as clock hands"),
            "try": _("Move each slider by itself: which of them changes the dot product?"),
            "position": _("position t"),
            "step": _("step φ"),
            "hand": _("hand {k}"),
            "axis": _("dot product by step φ"),
            "said": _(
                "From {t} to {to}: hand 0 turns by {degrees}°. p({t}) · p({to}) = {product}."
            ),
        },
    }
    first, second = sinusoidal_encoding(max(start, start + step) + 1, d_model)[
        [start, start + step]
    ]
    rows = [
        [_("hand {k}").format(k=k), *(f"({s:.2f}, {c:.2f})" for s, c in pair)]
        for k, pair in enumerate(zip(first.view(-1, 2), second.view(-1, 2), strict=True))
    ]
    rows += [[_("dot product"), f"{first @ second:.4f}", ""]]
    show_element("attn-dial", data, ["", f"t = {start}", f"t = {start + step}"], rows)
