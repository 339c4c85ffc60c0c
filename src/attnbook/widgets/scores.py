"""From scores to weights: the effect of a temperature, of scaling, and of a mask."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from torch import Tensor

from attnbook.language import _
from attnbook.widgets.element import Numbers, check_shape, one_row, show_element

__all__ = ["explore_scaling", "explore_temperature", "paint_mask"]


def explore_temperature(
    scores: Numbers, labels: Sequence[str], multipliers: Sequence[float]
) -> None:
    """Let the reader multiply a row of scores before the softmax, and see weights and derivatives.

    multipliers: the factors to choose from, in increasing order; 1 is selected initially
    Shapes:  scores (Lk,), labels Lk
    Raises:  ValueError if labels and scores differ in number, or 1 is not a multiplier
    """
    row = one_row(scores, labels)
    if 1 not in multipliers:
        raise ValueError(f"1 is not one of the multipliers {list(multipliers)}")
    factors = [{"name": f"× {times:.3g}", "times": times} for times in multipliers]
    words = {
        "name": _("The same scores, multiplied by a number"),
        "try": _("Multiply the scores by a larger number, and watch the weights."),
        "factors": _("scores times"),
    }
    _softmax([(_("scores"), 1, row)], labels, factors, list(multipliers).index(1), words)


def explore_scaling(scores: Mapping[int, Numbers], labels: Sequence[str]) -> None:
    """Let the reader choose a width, and divide its scores by 1, by √d_k or by d_k.

    Shapes:  scores: for each width d_k a row (Lk,), undivided; labels Lk
    Raises:  ValueError if there are more or fewer labels than scores
    """
    sets = [(str(d_k), d_k, one_row(row, labels)) for d_k, row in scores.items()]
    factors = [
        {"name": name, "power": power}
        for name, power in ((_("undivided"), 0), ("÷ √d_k", 0.5), ("÷ d_k", 1))
    ]
    words = {
        "name": _("A row of scores, divided"),
        "try": _("Make the heads wider, first without dividing the scores, then with division."),
        "factors": _("scores"),
        "sets": _("width d_k"),
    }
    _softmax(sets, labels, factors, 0, words)


def paint_mask(scores: Tensor, words: Sequence[str], masks: Mapping[str, Tensor]) -> None:
    """Let the reader paint a mask, and see the weights and the cells that leak future information.

    Shapes:  scores (L, L), words L, each mask (L, L), boolean, True = may attend; the first mask
             is shown initially
    Raises:  ValueError if a shape does not fit
    """
    length = len(words)
    for name, matrix in {"scores": scores, **masks}.items():
        check_shape(name, matrix, (length, length))
    data = {
        "labels": list(words),
        "scores": [one_row(row, words) for row in scores],
        "masks": [
            {"name": name, "rows": ["".join("01"[cell] for cell in row) for row in mask.tolist()]}
            for name, mask in masks.items()
        ],
        "words": {
            "name": _("A mask to paint: rows are queries, columns are keys"),
            "try": _("Click a cell to open or close it. A red frame marks a leak."),
            "start": _("start from"),
            "polarity": _("convention"),
            "may": _("True = may look"),
            "may_not": _("True = may not look"),
            "look": _("{query} attends to {key} with weight {weight}."),
            "leak": _("{query} attends to {key}, which comes later, with weight {weight}."),
            "closed": _("{query} may not look at {key}."),
            "nothing": _("{query} may look at nothing: its weights are 0."),
            "leaks": _("Cells that leak the future: {leaks}."),
            "no_leak": _("Nothing leaks the future."),
        },
    }
    first = next(iter(masks.values()))
    rows = [
        [word, *(_("may look") if cell else "–" for cell in row)]
        for word, row in zip(words, first.tolist(), strict=True)
    ]
    show_element("attn-mask", data, ["", *words], rows)


def _softmax(
    sets: list[tuple[str, int, list[float]]],
    labels: Sequence[str],
    factors: list[dict[str, Any]],
    factor: int,
    words: dict[str, str],
) -> None:
    """Print an attn-softmax element; its table shows the weights of the first set and factor."""
    width, row = sets[0][1:]
    times = factors[factor].get("times", width ** -factors[factor].get("power", 0))
    scaled = np.array(row) * times
    weights = np.exp(scaled - scaled.max())
    weights /= weights.sum()
    words |= {
        "score": _("score"),
        "weight": _("weight"),
        "rows": _("rows"),
        "said": _(
            "{label}: weight {weight}. If its score rises a little, its weight rises {slope} times "
            "as much. The weights are as spread out as {as_many} equal weights."
        ),
    }
    data = {
        "labels": list(labels),
        "sets": [{"name": name, "width": width, "scores": row} for name, width, row in sets],
        "factors": factors,
        "set": 0,
        "factor": factor,
        "words": words,
    }
    rows = [
        [label, f"{score:.2f}", f"{weight:.3f}"]
        for label, score, weight in zip(labels, scaled, weights, strict=True)
    ]
    show_element("attn-softmax", data, ["", _("score"), _("weight")], rows)
